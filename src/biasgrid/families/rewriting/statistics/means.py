"""Similarities, scores and shares of a cell, and differences of shares, without each prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.rewriting.formulas.null import PAIR, by_prompt
from biasgrid.families.rewriting.observe import SHARES, groups_of
from biasgrid.families.rewriting.statistics.parts import Jackknifed, Parts, padded, written


def jackknifed(rows: pl.DataFrame, prompts: pl.DataFrame, options: Mapping[str, Any]) -> Iterator[Jackknifed]:
    """Yields all that is a mean, or a difference of means, without each prompt."""
    answers, pairs = rows.filter(pl.col("other").is_null()), rows.drop_nulls("other")
    is_within = pl.col("group") == pl.col("other")
    beyond = by_prompt(pairs).join(prompts, on="prompt", maintain_order="left")
    is_outcome = pl.col("score").is_in(SHARES)
    means = [
        ("similarity", pairs.filter(~is_within), [*PAIR]),
        ("similarity_corrected", beyond, [*PAIR]),
        ("similarity_null", pairs.filter(is_within), ["group"]),
        ("mean_score", answers.filter(~is_outcome), ["group"]),
        (None, answers.filter(is_outcome), ["group"]),
    ]
    for name, values, keys in means:
        for chosen in ([], keys):
            parts = Parts.of(values, ["score", *chosen], len(prompts))
            told = {"measure": pl.col("score"), "options": pl.lit("")} if name is None else written(name)
            yield Jackknifed(padded(parts.keys.with_columns(**told)), parts.without, parts.counts > 0)
    yield from differences(answers, len(prompts), options)


def differences(answers: pl.DataFrame, prompts: int, options: Mapping[str, Any]) -> Iterator[Jackknifed]:
    """Yields differences of the shares of answers above the threshold without each prompt."""
    threshold = options["threshold"]
    above = answers.with_columns((pl.col("value") > threshold).cast(pl.Float64))
    for one, other in combinations(groups_of(options).names, 2):
        mine, theirs = (Parts.of(above.filter(group=name), ["score"], prompts) for name in (one, other))
        place = {score: number for number, score in enumerate(theirs.keys["score"])}
        both = [(number, place[score]) for number, score in enumerate(mine.keys["score"]) if score in place]
        if not both:
            continue
        left, right = (np.array(each) for each in zip(*both, strict=True))
        told = written("score_difference", threshold=threshold)
        rows = mine.keys[left].with_columns(**told, group=pl.lit(one), other=pl.lit(other))
        has = (mine.counts[left] > 0) | (theirs.counts[right] > 0)
        yield Jackknifed(padded(rows), mine.without[left] - theirs.without[right], has)
