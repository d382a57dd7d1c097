"""What the report's tables say: numbers and sentences picked out of the tables of the run."""

from __future__ import annotations

from typing import Any

import polars as pl

from biasgrid.plots.selection import select_rows

Row = dict[str, Any]

STRONGEST = 3
CELL = ["dataset", "kind", "label"]


def grid_rows(summary: pl.DataFrame, dataset: str) -> list[Row]:
    """Returns a dataset's rows of the summary, in its order.

    Args:
        summary: schema `SUMMARY`.
        dataset: the dataset's name.

    Returns:
        A row per model with the summary's columns, and `mu_share` and `eta_share`: the value in percent of the
        largest one of the whole grid.
    """
    shares = [
        (100 * pl.col(measure) / pl.max_horizontal(pl.col(measure).max(), 1e-12)).alias(f"{measure}_share")
        for measure in ("mu", "eta")
    ]
    return summary.with_columns(shares).filter(pl.col("dataset") == dataset).to_dicts()


def association_examples(examples: pl.DataFrame, dataset: str, count: int = STRONGEST) -> list[Row]:
    """Picks the strongest associations of a dataset over all models, with the sentences behind them.

    Args:
        examples: schema `EXAMPLES`.
        dataset: the dataset's name.
        count: how many pairs of subject and attribute to pick; each is shown for the model that has it strongest.

    Returns:
        Dictionaries with `model`, `subject`, `attribute`, `gamma` and `swap_groups`: each of these with `other`,
        `comparison` and `instances` (rows of the table).
    """
    keys = ["model", "subject", "attribute"]
    rows = examples.filter(pl.col("dataset") == dataset)
    pairs = (
        rows.unique(keys, maintain_order=True)
        .sort(-pl.col("gamma"), *keys)
        .unique(["subject", "attribute"], keep="first", maintain_order=True)
        .head(count)
        .select(*keys, "gamma")
    )
    return [
        {**pair, "swap_groups": swap_groups(rows.filter(*(pl.col(key) == pair[key] for key in keys)))}
        for pair in pairs.to_dicts()
    ]


def swap_groups(rows: pl.DataFrame) -> list[Row]:
    """Groups rows of the examples by swap group, largest comparison first."""
    ordered = rows.sort(-pl.col("comparison"), "swap_group", "instance")
    groups = ordered.partition_by("swap_group", maintain_order=True)
    return [
        {
            "other": group["other"].item(0),
            "comparison": group["comparison"].item(0),
            "instances": group.to_dicts(),
        }
        for group in groups
    ]


def published_rows(summary: pl.DataFrame, measures: pl.DataFrame, published: pl.DataFrame) -> list[Row]:
    """Puts our figures beside published ones, for the cells whose dataset, kind and label are the same.

    Args:
        summary: schema `SUMMARY`.
        measures: schema `MEASURES`.
        published: schema `biasgrid.reference.PUBLISHED`.

    Returns:
        A row per cell, in the order of the summary: `dataset`, `kind`, `label`, `mu`, `published_mu`, `eta`,
        `published_eta` (null where not published), `gamma_correlation` (of gamma(subject) over the `subjects`
        that both have; null for fewer than three).
    """
    of_cells = (
        published.filter(pl.col("subject").is_null(), pl.col("measure").is_in(["mu", "eta"]))
        .group_by(CELL)
        .agg(pl.col("value").filter(measure=measure).first().alias(f"published_{measure}") for measure in ("mu", "eta"))
    )
    rows = summary.join(of_cells, on=CELL, maintain_order="left").select(
        "model", *CELL, "mu", "published_mu", "eta", "published_eta"
    )
    return [{**row, **agreement(row, measures, published)} for row in rows.to_dicts()]


def agreement(cell: Row, measures: pl.DataFrame, published: pl.DataFrame) -> Row:
    """Correlates our gamma(subject) of a cell with the published ones."""
    # Published names are in lower case, some with a hyphen where ours have a space.
    name = pl.col("subject").str.to_lowercase().str.replace_all("-", " ")
    same_cell = [pl.col(key) == cell[key] for key in CELL]
    theirs = published.filter(pl.col("measure") == "gamma", *same_cell).select(name=name, theirs="value")
    ours = select_rows(measures, cell["dataset"], "gamma", ["subject"]).filter(model=cell["model"])
    both = ours.select(name=name, ours="value").join(theirs, on="name")
    correlation = both.select(pl.corr("ours", "theirs").fill_nan(None)).item() if both.height >= 3 else None
    return {"gamma_correlation": correlation, "subjects": both.height}
