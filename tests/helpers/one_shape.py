"""Brings tables of numbers into one shape, whichever version made them.

Until version 0.2.0 numbers stood in `measures`, their intervals over each factor in `statistics`; now `measures` has
every number with the interval of its claim, `intervals` those over other factors. What `variances` and another table of
each cluster had is in `design`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

import polars as pl

from biasgrid.tables.measures import FIRST_FACTORS, ROW

PARTS = {
    "measures": ("measures", "statistics", "intervals"),
    "design": ("variances", "frames", "template_clusters", "design"),
}
"""Folders whose tables are brought into one, by what that is called."""
FOLDER_OF = {part: name for name, parts in PARTS.items() for part in parts}
KEYS = ("model", "dataset", *ROW)
INTERVAL = ("low", "high", "selected_low", "selected_high", "se", "df", "p", "q", "holm", "null_mean")
OF_CLUSTER = ("mu_without", "correlation", "likeness")
OVER_FIRST = "templates"
"""What intervals are over that take names as given: clusters of templates, items or prompts."""


def in_one_shape(name: str, parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Returns the tables of a cell as one.

    Args:
        name: one of `PARTS`.
        parts: its tables, by the folders that they are from.
    """
    return design_of(parts) if name == "design" else numbers_of_cell(parts)


def numbers_of_cell(parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Returns every number once, with `value`, `n` and `left_out`, and again over each factor, with what is known."""
    tables = [parts[part] for part in PARTS["measures"] if part in parts]
    values = [with_columns(table, ("value", "n", "left_out")).drop_nulls("value") for table in tables]
    known = [
        with_columns(table, ("value", *INTERVAL, "clusters"), over(table)).filter(
            pl.any_horizontal(pl.col("low", "p", "null_mean").is_not_null()), pl.col("value").is_not_null()
        )
        for table in tables
    ]
    # Of how many clusters there are, tests over names alone have said another number.
    counted = pl.when(pl.col("over") != "subjects").then("clusters")
    return pl.concat(
        [first_known(values, KEYS), first_known(known, (*KEYS, "over")).with_columns(clusters=counted)],
        how="diagonal_relaxed",
    )


def over(table: pl.DataFrame) -> pl.Expr:
    """Says over what the intervals of a table are, as versions before 0.2.0 called it."""
    if "generalises_to" not in table.columns:
        return pl.lit(OVER_FIRST)
    told = pl.col("generalises_to")
    first = told.is_null() | told.is_in(FIRST_FACTORS) | (told == OVER_FIRST)
    every = (told == "all") | told.str.contains(" x ", literal=True)
    return pl.when(first).then(pl.lit(OVER_FIRST)).when(every).then(pl.lit("all")).otherwise(pl.lit("subjects"))


def with_columns(table: pl.DataFrame, names: Sequence[str], factor: pl.Expr | None = None) -> pl.DataFrame:
    """Returns the keys of a table as texts, and some columns as fractions; null where it lacks them."""
    keys = [pl.col(key).cast(pl.String) if key in table.columns else pl.lit(None, pl.String).alias(key) for key in KEYS]
    numbers = [
        pl.col(name).cast(pl.Float64) if name in table.columns else pl.lit(None, pl.Float64).alias(name)
        for name in names
    ]
    return table.select(*keys, *([] if factor is None else [factor.alias("over")]), *numbers)


def first_known(tables: Sequence[pl.DataFrame], keys: Sequence[str]) -> pl.DataFrame:
    """Joins tables one below the other: of what several have, each column has the first that is known."""
    together = reduce(lambda one, other: pl.concat([one, other]), tables)
    return together.group_by(keys, maintain_order=True).agg(pl.all().drop_nulls().first())


def design_of(parts: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Returns sources of variance and what hangs on clusters, a number a row."""
    about = ["model", "dataset", "cluster", "templates", "like"]
    tables = []
    for table in parts.values():
        is_wide = OF_CLUSTER[0] in table.columns
        own = [table.select(*about, value=name, name=pl.lit(name)) for name in OF_CLUSTER] if is_wide else [table]
        tables += own
    columns = {**dict.fromkeys((*about, "name", "block"), pl.String), "value": pl.Float64, "share": pl.Float64}
    whole = pl.concat([pl.DataFrame(schema=columns), *tables], how="diagonal_relaxed")
    return whole.cast(columns).drop_nulls("value")
