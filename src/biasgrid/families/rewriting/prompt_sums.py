"""Sums over prompts, which are the sample: their groups and repetitions stay within them.

The noise floor of distances of scores is no sum: answers are permuted between two groups, within each prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray
from biasgrid.stats.permutation import TOLERANCE, VALUES_AT_ONCE
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import DIFFERENCE, Along, IntervalMethod, Sums, Tested, sum_units

PROMPTS = "prompts"
"""The factor whose units are prompts, by their numbers."""
MISSING_VALUES = pl.col("value").null_count()
PAIR_OF_GROUPS = ("group", "other")
DISTANCE = "score_distance"
NO_PROMPT_LEFT_OUT = "compared with permutations, no prompt is left out"
"""Why distances corrected for noise have no interval."""


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


def scores_by_prompt(answers: pl.DataFrame) -> Iterator[Sums]:
    """Yields what permutations are made of: for each score the scores of answers, by group.

    Units have the number of a prompt, which is there as often as the group with the most answers to it has some. A
    unit has the score and 1, or 0 and 0 where a group has no such answer or the answer no score.

    Args:
        answers: observations of single answers, with `options`.
    """
    numbered = answers.with_columns(answer=pl.int_range(pl.len()).over("prompt", "group"))
    for rows in kinds_of_options(numbered):
        for sums in means_over_prompts(rows, DISTANCE, ["group"], unit=("prompt", "answer")):
            yield replace(sums, compared=False, is_input=True)


def derive(
    estimates: pl.DataFrame, sums: Sequence[Sums], options: Mapping[str, Any], settings: StatisticsSettings
) -> CellNumbers:
    """Adds to distances of scores noise floor and p, and what they are without the noise; of the cell their means.

    Args:
        estimates: those of the cell, with rows of `score_distance`.
        sums: those of the cell, `scores_by_prompt` among them.
        options: see `measures.measure`.
        settings: how many permutations are drawn, and their seed.
    """
    scores = {str(part.keys["options"][0]): part for part in sums if part.is_input}
    if not scores:
        return CellNumbers(estimates)
    is_distance = pl.col("measure") == DISTANCE
    tables = [estimates.filter(~is_distance)]
    for rows in kinds_of_options(estimates.filter(is_distance)):
        found = with_null_means(rows, scores[str(rows["options"][0])], settings)
        tables += [found, score_distance_corrected(found)]
    return CellNumbers(pl.concat(tables, how="diagonal_relaxed"))


def score_distance_corrected(distances: pl.DataFrame) -> pl.DataFrame:
    """Wasserstein-1 distance - its mean over permutations of each prompt's answers between both groups (biasgrid).

    Args:
        distances: estimates of `score_distance`, with `null_mean`.
    """
    value = pl.col("value") - pl.col("null_mean")
    named = distances.with_columns(value=value, measure=pl.lit("score_distance_corrected"))
    return named.drop("null_mean", "p", "method").with_columns(reason=pl.lit(NO_PROMPT_LEFT_OUT))


def with_null_means(distances: pl.DataFrame, scores: Sums, settings: StatisticsSettings) -> pl.DataFrame:
    """Adds noise floor and p to the distances of pairs of groups, and the mean noise floor to that of the cell.

    Args:
        distances: estimates of one score.
        scores: from `scores_by_prompt`, of the same score.
        settings: how many permutations are drawn, and their seed.
    """
    known = known_scores(scores)
    of_pairs = distances["other"].is_not_null().to_numpy()
    null_mean, p = np.full((2, len(distances)), np.nan)
    for row in np.flatnonzero(of_pairs):
        pair = distances.row(int(row), named=True)
        chosen = known.filter(pl.col("group").is_in([pair["group"], pair["other"]]))
        null_mean[row], p[row] = permutation_nulls(chosen, pair["group"], settings)
    if of_pairs.any():
        null_mean[~of_pairs] = null_mean[of_pairs].mean()
    method = pl.when(pl.col("p").is_not_null()).then(pl.lit(f"permutation ({settings.permutations})"))
    return distances.with_columns(
        null_mean=pl.Series(null_mean).fill_nan(None),
        p=pl.Series(p).fill_nan(None),
        clusters=pl.lit(len({*scores.along[PROMPTS].units}), pl.Int64),
        generalises_to=pl.lit(PROMPTS),
        is_claim=pl.lit(value=True),
    ).with_columns(method=method)


def known_scores(scores: Sums) -> pl.DataFrame:
    """Returns the scores of answers that have one, with `group`, `prompt` and `value`."""
    units, sums = scores.along[PROMPTS]
    number, place = np.nonzero(sums[..., 1])
    return pl.DataFrame(
        {
            "group": scores.keys["group"].gather(number),
            "prompt": np.array(units, dtype=np.int64)[place],
            "value": sums[number, place, 0],
        }
    )


def permutation_nulls(known: pl.DataFrame, group: str, settings: StatisticsSettings) -> tuple[float, float]:
    """Deals the scores of two groups anew within each prompt: so far apart are groups that make no difference.

    Args:
        known: the scores of both groups, with `group` and `prompt`.
        group: one of them.
        settings: how many permutations are drawn, and their seed.

    Returns:
        The mean of the Wasserstein-1 distance over permutations, and their share in which it is at least as large.
    """
    ordered = known.sort("value", "prompt", "group")
    values, prompt = ordered["value"].to_numpy(), ordered["prompt"].to_numpy()
    is_first = (ordered["group"] == group).to_numpy()
    first, second = int(is_first.sum()), int((~is_first).sum())
    if not first or not second:
        return np.nan, np.nan
    widths, order = np.diff(values), np.argsort(prompt, kind="stable")
    labels, of_prompt = is_first[order], prompt[order]

    def wasserstein(firsts: BoolArray) -> FloatArray:
        weights = np.where(firsts, 1 / first, -1 / second)
        return np.asarray(np.abs(weights.cumsum(axis=1)[:, :-1]) @ widths)

    random, observed = np.random.default_rng(settings.seed), float(wasserstein(is_first[None])[0])
    total, at_least, left = 0.0, 0, settings.permutations
    while left:
        count = min(left, max(1, VALUES_AT_ONCE // len(values)))
        # Within each prompt the rows come in a random order, and take the labels one after another.
        keys = np.argsort(of_prompt + random.random((count, len(values))), axis=1)
        firsts = np.empty((count, len(values)), dtype=np.bool_)
        np.put_along_axis(firsts, order[keys], np.broadcast_to(labels, firsts.shape), axis=1)
        some = wasserstein(firsts)
        total, at_least, left = total + some.sum(), at_least + int((some >= observed - TOLERANCE).sum()), left - count
    return total / settings.permutations, (at_least + 1) / (settings.permutations + 1)
