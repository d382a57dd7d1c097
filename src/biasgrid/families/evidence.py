"""Which units are shown of a number: extremes alone would mislead."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl


def with_roles(
    units: pl.DataFrame, about: Sequence[str], strongest: int = 1, order: Sequence[str] = ("unit",)
) -> pl.DataFrame:
    """Picks of each number the strongest units that it is made of, a typical one and the most contrary one.

    Args:
        units: `unit_value`, the columns of `about` and of `order`.
        about: what tells numbers apart.
        strongest: how many of the strongest are picked at most.
        order: what tells units of one value apart.

    Returns:
        The units that were picked with `role`, the largest first: the last one of each number is `contrary`, the one in
        the middle `typical` (of an even number the larger one of the middle), and the first ones are `strongest`. Of
        two units none is typical, and one alone is the strongest.
    """
    ordered = units.sort(*about, -pl.col("unit_value"), *order, maintain_order=True)
    place, count = pl.int_range(pl.len()).over(about), pl.len().over(about)
    middle = (count - 1) // 2
    role = (
        pl.when((place == 0) | (place < pl.min_horizontal(middle, strongest)))
        .then(pl.lit("strongest"))
        .when(place == count - 1)
        .then(pl.lit("contrary"))
        .when(place == middle)
        .then(pl.lit("typical"))
    )
    return ordered.with_columns(role=role).drop_nulls("role")
