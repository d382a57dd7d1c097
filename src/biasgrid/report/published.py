"""Published figures of others, and ours beside them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.report.run import ReportModel
from biasgrid.stats.compare.references import read_references
from biasgrid.stats.ordering import select_rows

PUBLISHED_KEYS = ["dataset", "kind", "label"]
"""The columns that name a cell in published figures, which do not know our names of models."""
CELL_MEASURES = ["mu", "eta"]
"""Measures of whole cells that `published_rows` compares."""
UNQOVER_MEASURES = ["mu", "eta", "margin", "gamma"]
"""Measures of UnQover, which `published_measures` leaves to `published_rows`."""
FEWEST_SUBJECTS = 3
"""Minimum number of subjects for a correlation."""
PUBLISHED_SCHEMA = pl.Schema(
    {
        "dataset": pl.String,
        "kind": pl.String,
        "label": pl.String,
        "measure": pl.String,
        "subject": pl.String,
        "value": pl.Float64,
        "tolerance": pl.Float64,
        "mark": pl.String,
        "checkpoint": pl.String,
    }
)


def read_published(*paths: str | Path) -> pl.DataFrame:
    """Reads published figures of whole cells and of subjects.

    Figures of bias types and of measures with options are left out.

    Args:
        paths: JSON files with the fields of `Stored`.

    Returns:
        One row per figure, with its keys as columns (schema `PUBLISHED_SCHEMA`).

    Raises:
        InputError: a file cannot be read or is no such JSON. It names every faulty figure.
    """
    rows = []
    for path in paths:
        references = read_references(path)
        checkpoints = {}
        for model in references.checkpoints:
            checkpoints[model.kind, model.label] = model.checkpoint
        for figure in references.figures:
            if figure.options or figure.bias_type:
                continue
            row = figure.model_dump(include={*PUBLISHED_SCHEMA})
            row["checkpoint"] = checkpoints.get((figure.kind, figure.label))
            rows.append(row)
    return pl.DataFrame(rows, schema=PUBLISHED_SCHEMA)


def with_our_names(published_figures: pl.DataFrame, models: Iterable[ReportModel]) -> pl.DataFrame:
    """Renames models in published figures to kind and label of our models of the same checkpoint.

    Args:
        published_figures: schema `PUBLISHED_SCHEMA`. Figures of checkpoints that we do not have
            keep their names.
        models: our models. If several have the same checkpoint, each gets the figures.
    """
    names = [(model.source, model.kind, model.label) for model in models]
    schema = dict.fromkeys(("checkpoint", "our_kind", "our_label"), pl.String)
    ours = pl.DataFrame(names, schema=schema, orient="row")
    both = published_figures.join(ours, on="checkpoint", how="left", maintain_order="left_right")
    kind, label = pl.coalesce("our_kind", "kind"), pl.coalesce("our_label", "label")
    return both.with_columns(kind=kind, label=label).select(*PUBLISHED_SCHEMA)


def published_measures(
    summary: pl.DataFrame, published_figures: pl.DataFrame
) -> list[dict[str, Any]]:
    """Joins our measures and marks with published ones, by dataset, kind and label.

    Args:
        summary: schema `SUMMARY`.
        published_figures: schema `PUBLISHED_SCHEMA`; the measures of `published_rows`, and numbers
            of single subjects, are left out.

    Returns:
        A row per cell and measure, in the order of the summary: `model`, `dataset`, `kind`,
        `label`, `measure`, `value`, `mark`, `best_mark`, `published_value` and `published_mark`
        (null where not published).
    """
    is_other_measure = ~pl.col("measure").is_in(UNQOVER_MEASURES)
    whole_cells = published_figures.filter(pl.col("subject").is_null(), is_other_measure)
    theirs = whole_cells.select(
        *PUBLISHED_KEYS, "measure", published_value="value", published_mark="mark"
    )
    ours = summary.filter(pl.col("bias_type").is_null(), options="")
    ours = ours.with_columns(pl.col("mark").cast(pl.String))
    columns = ["value", "mark", "best_mark", "published_value", "published_mark"]
    both = ours.join(theirs, on=[*PUBLISHED_KEYS, "measure"], maintain_order="left")
    return both.select("model", *PUBLISHED_KEYS, "measure", *columns).to_dicts()


def published_rows(
    summary: pl.DataFrame, measures: pl.DataFrame, published_figures: pl.DataFrame
) -> list[dict[str, Any]]:
    """Joins our figures of cells with published ones, by dataset, kind and label.

    Args:
        summary: schema `SUMMARY`.
        measures: schema `MEASURES`.
        published_figures: schema `PUBLISHED_SCHEMA`.

    Returns:
        A row per cell, in the order of the summary: `model`, `dataset`, `kind`, `label`, `mu`,
        `published_mu`, `eta`, `published_eta` (null where not published), and the
        columns of `gamma_agreement`.
    """
    ours = values_by_cell(summary, ["model", *PUBLISHED_KEYS], "")
    whole_cells = published_figures.filter(pl.col("subject").is_null())
    theirs = values_by_cell(whole_cells, PUBLISHED_KEYS, "published_")
    rows = ours.join(theirs, on=PUBLISHED_KEYS, maintain_order="left").to_dicts()
    for row in rows:
        ours_of_cell = measures.filter(model=row["model"], dataset=row["dataset"])
        is_same_cell = [pl.col(key) == row[key] for key in PUBLISHED_KEYS]
        row |= gamma_agreement(ours_of_cell, published_figures.filter(*is_same_cell))
    return rows


def values_by_cell(rows: pl.DataFrame, keys: list[str], prefix: str) -> pl.DataFrame:
    """Returns a row per cell with its values of mu and eta.

    Args:
        rows: the rows of whole cells, with `measure` and `value`.
        keys: the columns that name a cell.
        prefix: the prefix of the two columns of values.
    """
    value = pl.col("value")
    columns = [
        value.filter(measure=measure).first().alias(f"{prefix}{measure}")
        for measure in CELL_MEASURES
    ]
    cell_rows = rows.filter(pl.col("measure").is_in(CELL_MEASURES))
    return cell_rows.group_by(keys, maintain_order=True).agg(columns)


def gamma_agreement(measures: pl.DataFrame, published_figures: pl.DataFrame) -> dict[str, Any]:
    """Correlates our gamma(subject) of a cell with the published ones.

    Args:
        measures: our numbers of the cell (schema `MEASURES`).
        published_figures: the published figures of the cell (schema `PUBLISHED_SCHEMA`).

    Returns:
        `subjects`, the number of subjects with a value in both, and `gamma_correlation`, None for
        fewer than three of them, or if either does not vary.
    """
    # Published names are in lower case, some with a hyphen where ours have a space.
    name = pl.col("subject").str.to_lowercase().str.replace_all("-", " ")
    ours = select_rows(measures, "gamma", ["subject"]).select(name=name, ours="value")
    theirs = published_figures.filter(measure="gamma").select(name=name, theirs="value")
    # A withheld number of ours, and a published mark without a number, are null.
    both = ours.join(theirs, on="name").drop_nulls(["ours", "theirs"])
    correlation = None
    if both.height >= FEWEST_SUBJECTS:
        correlation = both.select(pl.corr("ours", "theirs").fill_nan(None)).item()
    return {"gamma_correlation": correlation, "subjects": both.height}
