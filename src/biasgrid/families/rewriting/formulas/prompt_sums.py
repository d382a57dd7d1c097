"""Sums over prompts: they are the sample, and their groups and repetitions stay within them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
import polars as pl

from biasgrid.stats.sums import DIFFERENCE, Along, IntervalMethod, Sums, Tested, sum_units

PROMPTS = "prompts"
"""The factor whose units are prompts, by their numbers."""
MISSING_VALUES = pl.col("value").null_count()
PAIR_OF_GROUPS = ("group", "other")


def means_over_prompts(
    rows: pl.DataFrame,
    measure: str,
    keys: Sequence[str] = (),
    interval: IntervalMethod = "t",
    test: Tested = "",
    left_out: pl.Expr = MISSING_VALUES,
    unit: Sequence[str] = ("prompt",),
) -> Iterator[Sums]:
    """Yields the means of values by options and keys, all as one kind; nothing where there are no rows.

    Args:
        rows: `value`, null where there is none, `prompt`, `options` and keys.
        measure: what the means are.
        keys: which tell means apart.
        interval: how their intervals are made.
        test: whether they are tested.
        left_out: how many units have no value, of the rows of a mean.
        unit: what is left out together, by columns; its name is in the first one.
    """
    if rows.is_empty():
        return
    names = ["options", *keys]
    numbers = rows.group_by(names, maintain_order=True).agg(
        n=pl.col("value").count().cast(pl.Int64), left_out=left_out.cast(pl.Int64)
    )
    units = rows.select(unit).unique().sort(unit)
    placed = rows.join(
        numbers.select(names).with_row_index("number"), on=names, nulls_equal=True, maintain_order="left"
    ).join(units.with_row_index("place"), on=unit, maintain_order="left")
    place, number = (placed[name].to_numpy().astype(np.int64) for name in ("place", "number"))
    added = sum_units(placed["value"].cast(pl.Float64).to_numpy(), place, len(units), number, len(numbers))
    along = Along(units[unit[0]].cast(pl.String).to_list(), added.sums)
    yield Sums(
        numbers.with_columns(measure=pl.lit(measure)), {PROMPTS: along}, interval=interval, test=test, compared=False
    )


def kinds_of_options(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields the rows of each of the `options`: those whose tests are corrected together."""
    for _, some in rows.group_by("options", maintain_order=True):
        yield some


def differences_of_groups(means: Sums, groups: Sequence[str]) -> Iterator[Sums]:
    """Yields the differences of the shares of groups, which are tested; nothing of fewer than two groups.

    Args:
        means: shares of groups, of one kind.
        groups: their names, in the order in which one is compared with another; not all need be there.
    """
    place = {group: number for number, group in enumerate(means.keys["group"])}
    pairs = [*combinations((place[group] for group in groups if group in place), 2)]
    if not pairs:
        return
    one, other = (list(side) for side in zip(*pairs, strict=True))
    mine, theirs = means.keys[one], means.keys[other]
    keys = mine.with_columns(
        theirs["group"].alias("other"), n=mine["n"] + theirs["n"], left_out=mine["left_out"] + theirs["left_out"]
    )
    prompts, sums = means.along[PROMPTS]
    both = Along(prompts, np.concatenate([sums[one], sums[other]], axis=2))
    yield Sums(keys, {PROMPTS: both}, DIFFERENCE, "difference of shares", test="q", compared=False)


def corrected_similarity_by_prompt(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns the similarity of groups, corrected for noise, prompt by prompt.

    Args:
        pairs: observations of pairs of answers.

    Returns:
        Columns `score`, `prompt`, `group`, `other`, `similarity` of answers for two groups, `null_mean` (the noise
        floor: the mean of those for either) and `value` (noise floor less similarity); null where there are none.
    """
    keys = ["score", "prompt", *PAIR_OF_GROUPS]
    means = pairs.group_by(keys, maintain_order=True).agg(pl.col("value").mean())
    same = means.filter(pl.col("group") == pl.col("other")).select("score", "prompt", "group", null_mean="value")
    found = means.filter(pl.col("group") != pl.col("other")).rename({"value": "similarity"})
    found = found.join(same, on=["score", "prompt", "group"], how="left", maintain_order="left")
    others = same.rename({"group": "other", "null_mean": "other_null_mean"})
    found = found.join(others, on=["score", "prompt", "other"], how="left", maintain_order="left")
    null_mean = (pl.col("null_mean") + pl.col("other_null_mean")) / 2
    return found.select(*keys, "similarity", null_mean=null_mean, value=null_mean - pl.col("similarity"))
