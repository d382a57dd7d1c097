"""How similar answers to a prompt for two groups are, corrected for the similarity of two answers to the same text."""

from __future__ import annotations

import polars as pl

PAIR_OF_GROUPS = ("group", "other")


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
