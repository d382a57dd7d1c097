"""Reads figures that others have published, and puts ours beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.report.run import ReportModel
from biasgrid.stats.compare.references import read_references
from biasgrid.stats.ordering import select_rows

PUBLISHED_KEYS = ["dataset", "kind", "label"]
COMPARED_MEASURES = ["mu", "eta"]
OF_UNQOVER = ["mu", "eta", "margin", "gamma"]
"""What `published_rows` knows of."""
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
    """Reads published figures of whole cells and of subjects, but for those of bias types and of
    options.

    Args:
        paths: JSON files, as `Stored` has them.

    Returns:
        One row per figure, with its keys as columns (schema `PUBLISHED_SCHEMA`).

    Raises:
        InputError: a file cannot be read or is no such JSON, with every faulty figure.
    """
    plain = []
    for path in paths:
        references = read_references(path)
        checkpoints = {(one.kind, one.label): one.checkpoint for one in references.checkpoints}
        plain += [
            figure.model_dump(include={*PUBLISHED_SCHEMA})
            | {"checkpoint": checkpoints.get((figure.kind, figure.label))}
            for figure in references.figures
            if not (figure.options or figure.bias_type)
        ]
    return pl.DataFrame(plain, schema=PUBLISHED_SCHEMA)


def with_our_names(published: pl.DataFrame, models: Iterable[ReportModel]) -> pl.DataFrame:
    """Gives published figures kind and label of our models of the same checkpoints; others keep
    what they are called.

    Args:
        published: schema `PUBLISHED_SCHEMA`.
        models: our models; of several with one checkpoint each has the figures.
    """
    names = [(model.source, model.kind, model.label) for model in models]
    ours = pl.DataFrame(
        names,
        schema=dict.fromkeys(("checkpoint", "our_kind", "our_label"), pl.String),
        orient="row",
    )
    named = published.join(ours, on="checkpoint", how="left", maintain_order="left_right")
    return named.with_columns(
        kind=pl.coalesce("our_kind", "kind"), label=pl.coalesce("our_label", "label")
    ).select(*PUBLISHED_SCHEMA)


def published_measures(summary: pl.DataFrame, published: pl.DataFrame) -> list[dict[str, Any]]:
    """Puts our measures and marks beside published ones, for the cells whose dataset, kind and
    label are the same.

    Args:
        summary: schema `SUMMARY`.
        published: schema `PUBLISHED_SCHEMA`; what `published_rows` shows, and numbers of single
            subjects, are left out.

    Returns:
        A row per cell and measure, in the order of the summary: `model`, `dataset`, `kind`,
        `label`, `measure`, `value`, `mark`, `best_mark`, `published_value` and `published_mark`
        (null where not published).
    """
    of_cells = published.filter(pl.col("subject").is_null(), ~pl.col("measure").is_in(OF_UNQOVER))
    theirs = of_cells.select(
        *PUBLISHED_KEYS, "measure", published_value="value", published_mark="mark"
    )
    ours = summary.filter(pl.col("bias_type").is_null(), options="").with_columns(
        pl.col("mark").cast(pl.String)
    )
    columns = ["value", "mark", "best_mark", "published_value", "published_mark"]
    both = ours.join(theirs, on=[*PUBLISHED_KEYS, "measure"], maintain_order="left")
    return both.select("model", *PUBLISHED_KEYS, "measure", *columns).to_dicts()


def published_rows(
    summary: pl.DataFrame, measures: pl.DataFrame, published: pl.DataFrame
) -> list[dict[str, Any]]:
    """Puts our figures beside published ones, for the cells whose dataset, kind and label are the
    same.

    Args:
        summary: schema `SUMMARY`.
        measures: schema `MEASURES`.
        published: schema `PUBLISHED_SCHEMA`.

    Returns:
        A row per cell, in the order of the summary: `model`, `dataset`, `kind`, `label`, `mu`,
        `published_mu`, `eta`, `published_eta` (null where not published), `gamma_correlation` (of
        gamma(subject) over the `subjects` that both have; null for fewer than three).
    """
    ours = values_by_cell(summary, ["model", *PUBLISHED_KEYS], "")
    theirs = values_by_cell(
        published.filter(pl.col("subject").is_null()), PUBLISHED_KEYS, "published_"
    )
    rows = ours.join(theirs, on=PUBLISHED_KEYS, maintain_order="left").to_dicts()
    return [{**row, **correlation_with_published(row, measures, published)} for row in rows]


def values_by_cell(rows: pl.DataFrame, keys: list[str], prefix: str) -> pl.DataFrame:
    """Returns the keys of cells and their values of mu and eta, in columns of their names with a
    prefix.
    """
    return (
        rows.filter(pl.col("measure").is_in(COMPARED_MEASURES))
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("value").filter(measure=measure).first().alias(f"{prefix}{measure}")
            for measure in COMPARED_MEASURES
        )
    )


def correlation_with_published(
    cell: Mapping[str, Any], measures: pl.DataFrame, published: pl.DataFrame
) -> dict[str, Any]:
    """Correlates our gamma(subject) of a cell with the published ones."""
    # Published names are in lower case, some with a hyphen where ours have a space.
    name = pl.col("subject").str.to_lowercase().str.replace_all("-", " ")
    same_cell = [pl.col(key) == cell[key] for key in PUBLISHED_KEYS]
    theirs = published.filter(pl.col("measure") == "gamma", *same_cell).select(
        name=name, theirs="value"
    )
    gammas = select_rows(measures, "gamma", ["subject"]).filter(
        model=cell["model"], dataset=cell["dataset"]
    )
    both = gammas.select(name=name, ours="value").join(theirs, on="name")
    correlation = (
        both.select(pl.corr("ours", "theirs").fill_nan(None)).item() if both.height >= 3 else None
    )
    return {"gamma_correlation": correlation, "subjects": both.height}
