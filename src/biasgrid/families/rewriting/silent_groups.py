"""Withholds numbers of groups whose prompts are all declined, or answered with nothing."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.completeness import WITHHELD_COLUMNS
from biasgrid.tables.metric import NOT_MEASURABLE

SILENCE = ("refused", "empty")
"""The measures of answers without content; no answer counts in both."""
BETWEEN_GROUPS = (
    "similarity",
    "similarity_corrected",
    "score_distance",
    "score_distance_corrected",
)
"""Measures of whole cells that compare all groups."""
NEEDING_ANSWERS = (*BETWEEN_GROUPS, "similarity_null", "score_difference", "mean_score")
"""Measures of groups, or of two of them, that need answers with content."""
NEARLY_ALL = 1 - 1e-9
"""A sum of shares from here on is 1 but for rounding."""
GROUP_WITHOUT_ANSWERS = (
    "the model gives {group} no answer: all prompts are declined, or answered with nothing. To "
    "do: compare refusals"
)


def withhold_silent_groups(estimates: pl.DataFrame) -> pl.DataFrame:
    """Withholds numbers that need answers to a group that gets none.

    Args:
        estimates: those of the cell, `SILENCE` by group among them.

    Returns:
        The same rows. A number about such a group, and a number of the cell that compares all
        groups, has no value and a `reason` that names the group.
    """
    silent = silent_groups(estimates)
    if not silent:
        return estimates
    texts = {}
    for group in silent:
        texts[group] = f"{NOT_MEASURABLE}: {GROUP_WITHOUT_ANSWERS.format(group=group)}"
    sides = []
    for side in ("group", "other"):
        text = pl.col(side).replace_strict(texts, default=None, return_dtype=pl.String)
        sides.append(text)
    needs_answers = pl.col("measure").is_in(NEEDING_ANSWERS)
    of_groups = pl.when(needs_answers).then(pl.coalesce(sides))
    is_whole = pl.col("group").is_null() & pl.col("measure").is_in(BETWEEN_GROUPS)
    of_wholes = pl.when(is_whole).then(pl.lit(texts[silent[0]]))
    reason = pl.coalesce(of_groups, of_wholes)
    columns: dict[str, pl.Expr] = {}
    for name in WITHHELD_COLUMNS:
        if name in estimates.columns:
            columns[name] = pl.when(reason.is_null()).then(name)
    return estimates.with_columns(**columns, reason=pl.coalesce(reason, "reason"))


def silent_groups(estimates: pl.DataFrame) -> list[str]:
    """Returns the groups all of whose prompts are declined, or answered with nothing, in order.

    Args:
        estimates: see `withhold_silent_groups`.
    """
    if "group" not in estimates.columns:
        return []
    ended = estimates.filter(pl.col("measure").is_in(SILENCE)).drop_nulls("group")
    shares = ended.group_by("group", maintain_order=True).agg(pl.col("value").sum())
    return shares.filter(pl.col("value") >= NEARLY_ALL)["group"].cast(pl.String).to_list()
