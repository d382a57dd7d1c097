"""Measures of rewritten prompts: how answers for groups differ, and how much of that is noise.

Prompts are the sample: their groups and repetitions stay within them. The noise floor of distances
of scores is no sum: answers are permuted between two groups, within each prompt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.measures import (
    NOT_READ,
    OUTCOME_DIFFERENCES,
    cut_by_scorer,
    cut_short,
    empty,
    refused,
)
from biasgrid.families.rewriting.group_words import GroupWords
from biasgrid.families.rewriting.observe import (
    OBSERVATIONS,
    PAIR_OF_GROUPS,
    READ,
    SAID,
    SHARE_SCORES,
    corrected_similarity_by_prompt,
    observe,
    read_groups_of_cell,
)
from biasgrid.families.rewriting.section import NEUTRAL_GROUP
from biasgrid.families.rewriting.silent_groups import withhold_silent_groups
from biasgrid.families.rewriting.similarity import list_deviation, list_range
from biasgrid.families.rewriting.words import word_measures
from biasgrid.families.validity import CheckedAnswers, checks_of_cell
from biasgrid.groups.distances import WassersteinDistances
from biasgrid.groups.records import Units
from biasgrid.readers.reading import CUT
from biasgrid.stats.permutation import permuted_distance
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import DIFFERENCE, Along, IntervalMethod, Sums, Tested, sum_units
from biasgrid.tables.completeness import Check
from biasgrid.tables.metric import options_text

__all__ = ["OBSERVATIONS", "READ", "SAID", "derive", "measure", "observe", "validity"]
PROMPTS = "prompts"
"""The factor whose units are prompts, by their numbers."""
MISSING_VALUES = pl.col("value").null_count()
DISTANCE = "score_distance"
NO_PROMPT_LEFT_OUT = "compared with permutations, no prompt is left out"
"""Why distances corrected for noise have no interval."""
FOLDED = "folded at 0"
OUTCOME_MEASURES = {CUT: "cut_short", "truncated": "cut_by_scorer", NOT_READ: "empty"}
"""How the observations of this family call outcomes."""
SCORE = pl.col("value")
IS_ABOVE = pl.col("value") > pl.col("threshold")
"""Whether an answer counts."""


def measure(
    observations: pl.DataFrame, options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `groups`, the file of groups, `threshold`, `harms`, `targets`, `stop_words` and
            `mode`.

    Yields:
        Of pairs of groups and of the cell similarities, noise floors and corrected similarities;
        distances and differences of scores; of groups mean scores and how answers ended; and what
        the dataset asks for.
    """
    groups = read_groups_of_cell(options)
    rows = with_options(observations.cast({pl.Categorical: pl.String}))
    for part in measures_of_cell(rows, groups, options):
        if isinstance(part, Sums):
            yield replace(part, keys=with_bias_type(part.keys, groups))
        else:
            yield with_bias_type(part, groups)


def with_bias_type(rows: pl.DataFrame, groups: GroupWords) -> pl.DataFrame:
    """Adds `bias_type` to numbers about groups; null in rows about the whole cell."""
    if "group" not in rows.columns:
        return rows
    is_of_group = pl.col("group").is_not_null()
    return rows.with_columns(bias_type=pl.when(is_of_group).then(pl.lit(groups.bias_type)))


def with_options(rows: pl.DataFrame, **chosen: object) -> pl.DataFrame:
    """Adds the options of rows: their score, and other options that were chosen."""
    texts = {score: options_text(score=score, **chosen) for score in rows["score"].unique()}
    return rows.with_columns(options=pl.col("score").replace_strict(texts, return_dtype=pl.String))


def measures_of_cell(
    rows: pl.DataFrame, groups: GroupWords, options: Mapping[str, Any]
) -> Iterator[Sums | pl.DataFrame]:
    """Yields all measures of observations.

    Only harm, words and lists are about answers in neutral words, too.
    """
    is_answer = pl.col("other").is_null()
    every_answer, every_pair = rows.filter(is_answer), rows.filter(~is_answer)
    is_of_group = pl.col("group") != NEUTRAL_GROUP
    answers = every_answer.filter(is_of_group)
    pairs = every_pair.filter(is_of_group, pl.col("other") != NEUTRAL_GROUP)
    scores = answers.filter(~pl.col("score").is_in(SHARE_SCORES))
    for of_pairs in (similarity, similarity_corrected, similarity_null):
        yield from of_pairs(pairs)
    for of_answers in (refused, empty, cut_short, cut_by_scorer):
        yield from of_answers(partial(outcome_shares, answers))
    for difference_of in OUTCOME_DIFFERENCES:
        for sums in difference_of(partial(outcome_differences, answers, groups.names)):
            yield sums.named(difference_of.__name__)
    yield from mean_score(scores)
    yield from score_distance(scores, groups.names)
    yield from scores_by_prompt(scores)
    yield from score_difference(scores, groups.names, options["threshold"])
    for of_harm in (harm_fraction, harm_expected_maximum, harm_probability):
        yield from of_harm(every_answer, options["harms"])
    yield from word_measures(every_answer, groups, options)
    yield from list_measures(every_pair.filter(is_of_group, other=NEUTRAL_GROUP))


def similarity(pairs: pl.DataFrame) -> Iterator[Sums]:
    """Mean over prompts of s(answer for one group, answer for the other), s a similarity of texts.

    As in LangFair.

    Args:
        pairs: observations of pairs of answers, with `options`.
    """
    between = pairs.filter(pl.col("group") != pl.col("other"))
    for keys in ([], [*PAIR_OF_GROUPS]):
        yield from means_over_prompts(between, "similarity", keys)


def similarity_null(pairs: pl.DataFrame) -> Iterator[Sums]:
    """Mean of s(answer, another answer to the same text), s a similarity of texts (biasgrid)."""
    within = pairs.filter(pl.col("group") == pl.col("other"))
    for keys in ([], ["group"]):
        yield from means_over_prompts(within, "similarity_null", keys)


def similarity_corrected(pairs: pl.DataFrame) -> Iterator[Sums]:
    """Mean over prompts of the similarity within answers to one text less that between groups.

    Biasgrid's own measure.
    """
    corrected = with_options(corrected_similarity_by_prompt(pairs))
    yield from means_over_prompts(corrected, "similarity_corrected", test="p")
    for rows in kinds_of_options(corrected):
        yield from means_over_prompts(rows, "similarity_corrected", PAIR_OF_GROUPS, test="q")


def mean_score(scores: pl.DataFrame) -> Iterator[Sums]:
    """Sum of the scores of answers / their number (LangFair).

    Args:
        scores: observations of single answers by scorers, with `options`.
    """
    for keys in ([], ["group"]):
        yield from means_over_prompts(scores, "mean_score", keys)


def outcome_shares(answers: pl.DataFrame, outcome: str) -> Iterator[Sums]:
    """Yields how many of the answers end in some way, of the cell and by group."""
    name = OUTCOME_MEASURES.get(outcome, outcome)
    ended = answers.filter(score=name).with_columns(options=pl.lit(""))
    for keys in ([], ["group"]):
        yield from means_over_prompts(ended, name, keys, "effective Wilson")


def outcome_differences(
    answers: pl.DataFrame, groups: Sequence[str], outcome: str
) -> Iterator[Sums]:
    """Yields by how much more of the answers end in some way for one group than for another."""
    for shares in outcome_shares(answers, outcome):
        # The first shares are of the whole cell, in which there is nothing to compare.
        if "group" in shares.keys.columns:
            yield from differences_of_groups(shares, groups)


def score_distance(scores: pl.DataFrame, groups: Sequence[str]) -> Iterator[pl.DataFrame]:
    """Integral of |F_g - F_h|, F the distribution of scores: Wasserstein-1 distance.

    See Vallender (1974) and LangFair.

    Of each pair of groups, and its mean over pairs.
    """
    schema = {"group": pl.String, "other": pl.String, "value": pl.Float64, "n": pl.Int64}
    for rows in kinds_of_options(scores):
        scored = rows.drop_nulls("value")
        counts = dict(scored.group_by("group").len().iter_rows())
        distances = list(pair_distances(scored, groups))
        numbers: list[tuple[str | None, str | None, float | None, int]] = []
        for (one, other), distance in zip(combinations(groups, 2), distances, strict=True):
            n = counts.get(one, 0) + counts.get(other, 0)
            numbers.append((one, other, distance, n))
        values = [distance for distance in distances if distance is not None]
        numbers.append((None, None, float(np.mean(values)) if values else None, len(scored)))
        yield pl.DataFrame(numbers, schema=schema, orient="row").with_columns(
            measure=pl.lit("score_distance"),
            options=pl.lit(rows["options"][0]),
            left_out=pl.lit(rows["value"].null_count(), pl.Int64),
            reason=pl.lit(FOLDED),
        )


def pair_distances(known: pl.DataFrame, groups: Sequence[str]) -> Iterator[float | None]:
    """Yields the distance of each pair of groups, None where one has no score.

    Args:
        known: the scores of answers, without null.
        groups: the groups, in the order of pairs.
    """
    places = {name: place for place, name in enumerate(groups)}
    place = known["group"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    # All answers together are one unit.
    unit = np.zeros(len(known), dtype=np.int64)
    one_unit = np.zeros(1, dtype=np.int64)
    units = Units(unit, place, one_unit, one_unit, [groups])
    distances = WassersteinDistances(known["value"].to_numpy(), units)
    for one in range(len(groups) - 1):
        for value in distances.to_later(one)[:, 0]:
            yield None if np.isnan(value) else float(value)


def score_difference(
    scores: pl.DataFrame, groups: Sequence[str], threshold: float
) -> Iterator[Sums]:
    """Share of answers for one group with score > threshold - the other group's: weak parity.

    As in LangFair.
    """
    # An answer without a score stays null, neither above the threshold nor below it.
    above = scores.with_columns((pl.col("value") > threshold).cast(pl.Float64))
    for rows in kinds_of_options(with_options(above, threshold=threshold)):
        for shares in means_over_prompts(rows, "score_difference", ["group"]):
            yield from differences_of_groups(shares, groups)


def harm_fraction(answers: pl.DataFrame, thresholds: Mapping[str, float]) -> Iterator[Sums]:
    """Mean over prompts of (answers with score > threshold) / answers.

    See Gehman et al. (EMNLP Findings 2020) and LangFair.

    Args:
        answers: observations of single answers: `score`, `value`, null where an answer has none,
            `prompt` and `group`.
        thresholds: the score above which an answer counts, by scorer.
    """
    return harm_means(answers, thresholds, "harm_fraction", IS_ABOVE.mean(), "effective Wilson")


def harm_expected_maximum(answers: pl.DataFrame, thresholds: Mapping[str, float]) -> Iterator[Sums]:
    """Mean over prompts of max(score), which grows with the number of answers.

    See Gehman et al. (EMNLP Findings 2020) and LangFair.
    """
    return harm_means(answers, thresholds, "harm_expected_maximum", SCORE.max(), "t")


def harm_probability(answers: pl.DataFrame, thresholds: Mapping[str, float]) -> Iterator[Sums]:
    """Prompts with max(score) > threshold / prompts, which grows with the number of answers.

    See Gehman et al. (EMNLP Findings 2020) and LangFair.
    """
    has_any = IS_ABOVE.any().cast(pl.Float64)
    return harm_means(answers, thresholds, "harm_probability", has_any, "effective Wilson")


def harm_means(
    answers: pl.DataFrame,
    thresholds: Mapping[str, float],
    measure: str,
    of_prompt: pl.Expr,
    interval: IntervalMethod,
) -> Iterator[Sums]:
    """Yields the means of a number of prompts over those with a score, of the cell and by group.

    Args:
        answers: see `harm_fraction`.
        thresholds: see `harm_fraction`.
        measure: name of the measure.
        of_prompt: makes the number of the scores of a prompt.
        interval: how the intervals of the means are made.
    """
    left_out = pl.col("left_out").sum()
    for score, threshold in thresholds.items():
        scores = answers.filter(score=score).with_columns(threshold=threshold)
        prompts = scores.group_by("prompt", "group", maintain_order=True).agg(
            value=pl.when(SCORE.count() > 0).then(of_prompt),
            left_out=SCORE.null_count(),
        )
        options = options_text(score=score, threshold=threshold)
        prompts = prompts.with_columns(options=pl.lit(options))
        for keys in ([], ["group"]):
            yield from means_over_prompts(prompts, measure, keys, interval, left_out=left_out)


def list_measures(pairs: pl.DataFrame) -> Iterator[Sums | pl.DataFrame]:
    """Yields the similarity of lists for each group to lists for neutral words, and its spread.

    Args:
        pairs: observations of answers for a group with those for neutral words, with `options`.
    """
    for rows in kinds_of_options(pairs):
        for similarities in list_similarity(rows):
            yield similarities
            known = similarities.values[~np.isnan(similarities.values)].tolist()
            names = ["list_range", "list_deviation"]
            values = pl.Series([list_range(known), list_deviation(known)], dtype=pl.Float64)
            counts = similarities.keys.select(pl.col("n", "left_out").sum())
            yield pl.DataFrame({"measure": names, "value": values}).with_columns(
                n=pl.lit(counts["n"].item(), pl.Int64),
                left_out=pl.lit(counts["left_out"].item(), pl.Int64),
                options=pl.lit(rows["options"][0]),
                reason=pl.lit(FOLDED),
            )


def list_similarity(pairs: pl.DataFrame) -> Iterator[Sums]:
    """Mean over prompts of s(list for a group, list for neutral words), as in FaiRLLM.

    The similarity s is Jaccard, SERP or PRAG.
    """
    return means_over_prompts(pairs, "list_similarity", ["group"])


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields the checks of whether a cell can be measured at all; see `measures.yaml`."""
    is_of_group = pl.col("group").cast(pl.String) != NEUTRAL_GROUP
    answers = cell.observations.filter(pl.col("other").is_null(), is_of_group)
    answers = answers.cast({"score": pl.String})
    yield silent(answers)
    # All answers to one prompt may well be the same.
    are_several = answers["prompt"].n_unique() > 1
    for check in checks_of_cell(cell, CheckedAnswers()):
        if are_several or check.measure != "same_text":
            yield check
    yield few_prompts(answers)


def silent(answers: pl.DataFrame) -> Check:
    """Share of answers that are refusals or empty."""
    ended = answers.filter(pl.col("score").is_in(["refused", "empty"]))
    of_answers = ended.group_by("instance").agg(pl.col("value").max())["value"]
    return Check("silent", float(of_answers.mean()), len(of_answers))  # type: ignore[arg-type]


def few_prompts(answers: pl.DataFrame) -> Check:
    """How many prompts there are."""
    prompts = answers["prompt"].n_unique()
    return Check("few_prompts", prompts, prompts)


def means_over_prompts(
    rows: pl.DataFrame,
    measure: str,
    keys: Sequence[str] = (),
    interval: IntervalMethod = "t",
    test: Tested = "",
    left_out: pl.Expr = MISSING_VALUES,
    unit: Sequence[str] = ("prompt",),
) -> Iterator[Sums]:
    """Yields the means of values by options and keys, all as one kind; nothing without rows.

    Args:
        rows: `value`, null where there is none, `prompt`, `options` and keys.
        measure: name of the measure.
        keys: which tell means apart.
        interval: how their intervals are made.
        test: whether they are tested.
        left_out: how many units have no value, of the rows of a mean.
        unit: the columns that identify a unit; its name is in the first one.
    """
    if rows.is_empty():
        return
    names = ["options", *keys]
    numbers = rows.group_by(names, maintain_order=True).agg(
        n=pl.col("value").count().cast(pl.Int64),
        left_out=left_out.cast(pl.Int64),
    )
    units = rows.select(unit).unique().sort(unit)
    number_places = numbers.select(names).with_row_index("number")
    placed = rows.join(number_places, on=names, nulls_equal=True, maintain_order="left")
    placed = placed.join(units.with_row_index("place"), on=unit, maintain_order="left")
    added = sum_units(
        placed["value"].cast(pl.Float64).to_numpy(),
        placed["place"].to_numpy().astype(np.int64),
        len(units),
        placed["number"].to_numpy().astype(np.int64),
        len(numbers),
    )
    along = {PROMPTS: Along(units[unit[0]].cast(pl.String).to_list(), added.sums)}
    table = numbers.with_columns(measure=pl.lit(measure))
    yield Sums(table, along, interval=interval, test=test, compared=False)


def kinds_of_options(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields the rows of each of the `options`: those whose tests are corrected together."""
    for _, kind in rows.group_by("options", maintain_order=True):
        yield kind


def differences_of_groups(means: Sums, groups: Sequence[str]) -> Iterator[Sums]:
    """Yields the tested differences of the shares of groups; nothing of fewer than two groups.

    Args:
        means: shares of groups, of one kind.
        groups: their names, in the order in which one is compared with another; not all need be
            there.
    """
    places = {group: place for place, group in enumerate(means.keys["group"])}
    present = [places[group] for group in groups if group in places]
    pairs = list(combinations(present, 2))
    if not pairs:
        return
    one, other = [place for place, _ in pairs], [place for _, place in pairs]
    keys, other_keys = means.keys[one], means.keys[other]
    keys = keys.with_columns(
        other_keys["group"].alias("other"),
        n=keys["n"] + other_keys["n"],
        left_out=keys["left_out"] + other_keys["left_out"],
    )
    prompts, sums = means.along[PROMPTS]
    along = {PROMPTS: Along(prompts, np.concatenate([sums[one], sums[other]], axis=2))}
    yield Sums(keys, along, DIFFERENCE, "difference of shares", test="q", compared=False)


def scores_by_prompt(answers: pl.DataFrame) -> Iterator[Sums]:
    """Yields the sums that permutations need: for each score the scores of answers, by group.

    Units have the number of a prompt, which is there as often as the group with the most answers to
    it has some. A unit has the score and 1, or 0 and 0 where a group has no such answer or the
    answer no score.

    Args:
        answers: observations of single answers, with `options`.
    """
    numbered = answers.with_columns(answer=pl.int_range(pl.len()).over("prompt", "group"))
    for rows in kinds_of_options(numbered):
        for sums in means_over_prompts(rows, DISTANCE, ["group"], unit=("prompt", "answer")):
            yield replace(sums, compared=False, is_input=True)


def derive(
    estimates: pl.DataFrame,
    sums: Sequence[Sums],
    options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> CellNumbers:
    """Adds noise floors and p to distances of scores, and the distances corrected for noise.

    Numbers that need answers to a group that gets none are withheld.

    Args:
        estimates: those of a cell.
        sums: its sums, those of `scores_by_prompt` among them.
        options: see `measure`.
        settings: permutations and their seed.
    """
    scores = {str(part.keys["options"][0]): part for part in sums if part.is_input}
    if not scores:
        return CellNumbers(withhold_silent_groups(estimates))
    is_distance = pl.col("measure") == DISTANCE
    tables = [estimates.filter(~is_distance)]
    for rows in kinds_of_options(estimates.filter(is_distance)):
        distances = with_null_means(rows, scores[str(rows["options"][0])], settings)
        tables += [distances, score_distance_corrected(distances)]
    return CellNumbers(withhold_silent_groups(pl.concat(tables, how="diagonal_relaxed")))


def score_distance_corrected(distances: pl.DataFrame) -> pl.DataFrame:
    """Wasserstein-1 distance - its mean over permutations of answers between both groups.

    Answers are permuted within each prompt. Biasgrid's own measure.
    """
    value = pl.col("value") - pl.col("null_mean")
    rows = distances.with_columns(value=value, measure=pl.lit("score_distance_corrected"))
    return rows.drop("null_mean", "p", "method").with_columns(reason=pl.lit(NO_PROMPT_LEFT_OUT))


def with_null_means(
    distances: pl.DataFrame, scores: Sums, settings: StatisticsSettings
) -> pl.DataFrame:
    """Adds noise floor and p to the distances of pairs; the cell gets the mean of the noise floors.

    Args:
        distances: rows of one score; those without `other` are of the cell.
        scores: the scores of answers, from `scores_by_prompt`.
        settings: permutations and their seed.
    """
    answer_scores = known_scores(scores)
    of_pairs = distances["other"].is_not_null().to_numpy()
    null_mean, p = np.full((2, len(distances)), np.nan)
    for row in np.flatnonzero(of_pairs):
        pair = distances.row(int(row), named=True)
        answers = answer_scores.filter(pl.col("group").is_in([pair["group"], pair["other"]]))
        # Permutations are drawn by a seed, so the order of answers decides their numbers.
        answers = answers.sort("value", "prompt", "group")
        is_first = answers["group"] == pair["group"]
        null_mean[row], p[row] = permuted_distance(
            answers["value"].to_numpy(),
            answers["prompt"].to_numpy(),
            is_first.to_numpy(),
            settings.permutations,
            settings.seed,
        )
    if of_pairs.any():
        null_mean[~of_pairs] = null_mean[of_pairs].mean()
    rows = distances.with_columns(
        null_mean=pl.Series(null_mean).fill_nan(None),
        p=pl.Series(p).fill_nan(None),
        clusters=pl.lit(len({*scores.along[PROMPTS].units}), pl.Int64),
        generalises_to=pl.lit(PROMPTS),
        is_claim=pl.lit(value=True),
    )
    method = pl.lit(f"permutation ({settings.permutations})")
    is_tested = pl.col("p").is_not_null()
    return rows.with_columns(method=pl.when(is_tested).then(method))


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
