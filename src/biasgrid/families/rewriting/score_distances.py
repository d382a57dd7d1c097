"""Distances of scores between groups, and the noise floor of these distances.

A distance is no function of sums over prompts. Its noise floor is the distance after answers were
permuted between both groups, within each prompt; the scores that permutations need are kept as sums
that are no numbers themselves (`Sums.is_input`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from biasgrid.families.formulas import ONE, Formula, sum_formulas
from biasgrid.groups.distances import WassersteinDistances
from biasgrid.groups.records import ALL_CASES, ComparisonUnits
from biasgrid.stats.permutation import permuted_distance
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Along, Sums

PROMPTS_FACTOR = "prompts"
"""The factor whose units are prompts, by their numbers."""
DISTANCE = "score_distance"
DISTANCE_CORRECTED = "score_distance_corrected"
NO_PROMPT_LEFT_OUT = "compared with permutations, no prompt is left out"
"""The reason why distances corrected for noise have no interval."""
FOLDED_REASON = "folded at 0"
"""The reason why numbers that noise makes larger have no interval."""
ANSWER_SCORES = Formula(DISTANCE, [pl.col("value"), ONE], compares_models=False, is_input=True)
DISTANCE_SCHEMA = {"group": pl.String, "other": pl.String, "value": pl.Float64, "n": pl.Int64}


def rows_by_options(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields the rows of each value of `options`; tests within one are corrected together."""
    for _, kind in rows.group_by("options", maintain_order=True):
        yield kind


def distance_rows(scores: pl.DataFrame, groups: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Yields the distance of scores of each pair of groups, and of the cell the mean over pairs.

    Wasserstein-1 distance: integral of |F_g - F_h|, F the distribution of the scores of answers for
    a group; see Vallender (1974) and LangFair.

    Args:
        scores: observations of single answers by scorers, with `options`.
        groups: the groups, in the order of pairs.
    """
    for rows in rows_by_options(scores):
        rows_with_score = rows.drop_nulls("value")
        counts = dict(rows_with_score.group_by("group").len().iter_rows())
        distances = pair_distances(rows_with_score, groups)
        numbers: list[tuple[str | None, str | None, float | None, int]] = []
        for (group, other), distance in distances.items():
            n = counts.get(group, 0) + counts.get(other, 0)
            numbers.append((group, other, distance, n))
        values = [distance for distance in distances.values() if distance is not None]
        mean = float(np.mean(values)) if values else None
        numbers.append((None, None, mean, len(rows_with_score)))
        yield pl.DataFrame(numbers, schema=DISTANCE_SCHEMA, orient="row").with_columns(
            measure=pl.lit(DISTANCE),
            options=pl.lit(rows["options"][0]),
            left_out=pl.lit(rows["value"].null_count(), pl.Int64),
            reason=pl.lit(FOLDED_REASON),
        )


def pair_distances(
    scores: pl.DataFrame, groups: Sequence[str]
) -> dict[tuple[str, str], float | None]:
    """Returns the distance of each pair of groups, None if one of them has no score.

    Args:
        scores: the scores of answers, `group` and `value`, none of them null.
        groups: the groups, in the order of pairs.
    """
    places = {name: place for place, name in enumerate(groups)}
    place = scores["group"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    # All answers together are one unit.
    unit = np.zeros(len(scores), dtype=np.int64)
    one_unit = np.zeros(1, dtype=np.int64)
    units = ComparisonUnits(ALL_CASES, unit, place, one_unit, one_unit, [groups])
    distances = WassersteinDistances(scores["value"].to_numpy(), units)
    values: list[float] = []
    for first in range(len(groups) - 1):
        values += distances.to_later(first)[:, 0].tolist()
    pairs = {}
    for pair, value in zip(combinations(groups, 2), values, strict=True):
        pairs[pair] = None if np.isnan(value) else value
    return pairs


def scores_by_answer(scores: pl.DataFrame) -> Iterator[Sums]:
    """Yields the scores of answers by group, which permutations need.

    A unit is one answer to a prompt for each group, and has the number of the prompt as its name. A
    group that has no such answer, or whose answer has no score, has nothing of it.

    Args:
        scores: observations of single answers by scorers, with `options`, `n` and `left_out`.
    """
    answer = ["prompt", "answer"]
    numbered_answers = scores.with_columns(answer=pl.int_range(pl.len()).over("prompt", "group"))
    for rows in rows_by_options(numbered_answers):
        units = rows.select(answer).unique().sort(answer).with_row_index("unit")
        answers_with_units = rows.join(units, on=answer, maintain_order="left")
        names = units["prompt"].cast(pl.String).to_list()
        keys, factors = ["options", "group"], {PROMPTS_FACTOR: "unit"}
        for sums in sum_formulas(answers_with_units, keys, factors, [ANSWER_SCORES]):
            along = Along(names, sums.along[PROMPTS_FACTOR].sums)
            yield replace(sums, along={PROMPTS_FACTOR: along})


def with_noise_floors(
    estimates: pl.DataFrame, sums: Sequence[Sums], settings: StatisticsSettings
) -> pl.DataFrame:
    """Adds noise floors and p-values to distances, and the distances corrected for noise.

    A corrected distance is the Wasserstein-1 distance less its mean over permutations: biasgrid's
    own measure.

    Args:
        estimates: those of a cell.
        sums: its sums, with those of `scores_by_answer`.
        settings: the number of permutations and their seed.
    """
    scores = {str(part.keys["options"][0]): part for part in sums if part.is_input}
    if not scores:
        return estimates
    is_distance = pl.col("measure") == DISTANCE
    tables = [estimates.filter(~is_distance)]
    for rows in rows_by_options(estimates.filter(is_distance)):
        distances = with_noise_floor(rows, scores[str(rows["options"][0])], settings)
        corrected_rows = distances.with_columns(
            value=pl.col("value") - pl.col("null_mean"),
            measure=pl.lit(DISTANCE_CORRECTED),
            reason=pl.lit(NO_PROMPT_LEFT_OUT),
        )
        tables += [distances, corrected_rows.drop("null_mean", "p", "method")]
    return pl.concat(tables, how="diagonal_relaxed")


def with_noise_floor(
    distances: pl.DataFrame, scores: Sums, settings: StatisticsSettings
) -> pl.DataFrame:
    """Adds noise floor and p to the distances of pairs; the cell has the mean of the noise floors.

    Args:
        distances: rows of one score; that without `other` is of the cell.
        scores: the scores of answers, from `scores_by_answer`.
        settings: the number of permutations and their seed.
    """
    answers = scored_answers(scores)
    is_pair = distances["other"].is_not_null().to_numpy()
    null_mean, p = np.full((2, len(distances)), np.nan)
    for row in np.flatnonzero(is_pair).tolist():
        group, other = distances["group"][row], distances["other"][row]
        pair_answers = answers.filter(pl.col("group").is_in([group, other]))
        # Permutations are drawn by a seed, so the order of answers decides their numbers.
        pair_answers = pair_answers.sort("value", "prompt", "group")
        null_mean[row], p[row] = permuted_distance(
            pair_answers["value"].to_numpy(),
            pair_answers["prompt"].to_numpy(),
            (pair_answers["group"] == group).to_numpy(),
            settings.permutations,
            settings.seed,
        )
    if is_pair.any():
        null_mean[~is_pair] = null_mean[is_pair].mean()
    prompts = len(set(scores.along[PROMPTS_FACTOR].units))
    rows = distances.with_columns(
        null_mean=pl.Series(null_mean).fill_nan(None),
        p=pl.Series(p).fill_nan(None),
        clusters=pl.lit(prompts, pl.Int64),
        generalises_to=pl.lit(PROMPTS_FACTOR),
        is_claim=pl.lit(value=True),
    )
    method = pl.lit(f"permutation ({settings.permutations})")
    is_tested = pl.col("p").is_not_null()
    return rows.with_columns(method=pl.when(is_tested).then(method))


def scored_answers(scores: Sums) -> pl.DataFrame:
    """Returns the answers that have a score: `group`, `prompt` and `value`."""
    prompts, sums = scores.along[PROMPTS_FACTOR]
    number, unit = np.nonzero(sums[..., 1])
    return pl.DataFrame(
        {
            "group": scores.keys["group"].gather(number),
            "prompt": np.array(prompts, dtype=np.int64)[unit],
            "value": sums[number, unit, 0],
        }
    )
