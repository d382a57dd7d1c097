"""How sure the measures of rewritten prompts are: prompts are the sample, their repetitions stay within them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, ratio
from biasgrid.families.rewriting.formulas.extremes import HARM_NUMBERS, extremes_of_prompts
from biasgrid.families.rewriting.formulas.null import PAIR_OF_GROUPS, corrected_similarity_by_prompt
from biasgrid.families.rewriting.observe import SHARE_SCORES, read_groups_of_cell
from biasgrid.families.rewriting.section import NEUTRAL_GROUP
from biasgrid.stats.estimate import column_numbers, jackknife, statistics_rows
from biasgrid.stats.intervals import VarianceSource, p_values
from biasgrid.stats.multiplicity import false_discovery_rates
from biasgrid.stats.permutation import TOLERANCE, VALUES_AT_ONCE
from biasgrid.stats.settings import CellStatistics, StatisticsSettings
from biasgrid.tables.metric import options_of, options_text
from biasgrid.tables.statistics import NO_METHOD, ROW

MEASURES_OF_SCORES = ["measure", "options", *PAIR_OF_GROUPS]
"""What tells numbers apart that are jackknifed."""
TESTED_MEASURES = ("similarity_corrected", "score_difference")
"""Measures that are 0 where groups are treated alike."""


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> CellStatistics:
    """Leaves out each prompt in turn; of distances of scores, deals answers anew between two groups.

    Args:
        observations: from `observe`.
        measures: the cell's measures.
        options: see `measure.measure`.
        settings: level, seed and the like.

    Returns:
        Rows over templates, which are prompts here. Distances of scores have a noise floor and p, see
        `permutation_nulls`, and corrected ones rows of their own; others have intervals, those of
        `TESTED_MEASURES` also p and q.
    """
    prompts = observations.select("prompt").unique().sort("prompt").with_row_index("place")
    rows = observations.cast({pl.Categorical: pl.String}).join(prompts, on="prompt", maintain_order="left")
    measured = measures.select(*ROW, "value", "n")
    lists = rows.filter(pl.col("group") != NEUTRAL_GROUP, other=NEUTRAL_GROUP)
    further = [
        *harms_without_prompts(rows, len(prompts), options["harms"]),
        means_without_prompts(lists, ["score", "group"], len(prompts), measure_columns("list_similarity")),
    ]
    rows = rows.filter(pl.col("group") != NEUTRAL_GROUP, pl.col("other").fill_null("") != NEUTRAL_GROUP)
    found = [*jackknife_means(rows, prompts, options), *further]
    table = pl.concat([each.rows for each in found], how="diagonal_relaxed")
    without, has = (np.concatenate([each[place] for each in found]) for place in (1, 2))
    # What is nothing without one of its prompts hangs on that one: nobody knows how sure it is.
    undefined = (has & np.isnan(without)).any(axis=1, keepdims=True)
    variance, _ = jackknife(np.where(has & ~undefined, without, np.nan))
    whole = table.join(measured, on=MEASURES_OF_SCORES, how="left", nulls_equal=True, maintain_order="left").select(
        measured.columns
    )
    clusters = has.sum(axis=1)
    intervals = with_tests(statistics_rows(whole, column_numbers(whole, "n"), variance, clusters, settings), settings)
    return CellStatistics(
        pl.concat([intervals, distance_statistics(rows, measured, options, settings)], how="diagonal_relaxed")
    )


def with_tests(rows: pl.DataFrame, settings: StatisticsSettings) -> pl.DataFrame:
    """Adds p of what is 0 where groups are treated alike, and q over the pairs of groups of one measure and score."""
    tested = rows["measure"].is_in(TESTED_MEASURES).to_numpy()
    source = VarianceSource(column_numbers(rows, "se") ** 2, column_numbers(rows, "df"))
    p = np.where(tested, p_values(column_numbers(rows, "value"), [source]), np.nan)
    q = np.full(len(rows), np.nan)
    of_pairs = rows.with_row_index("row").filter(pl.col("other").is_not_null())
    for _, part in of_pairs.group_by("measure", "options", maintain_order=True):
        places = part["row"].to_numpy()
        q[places] = false_discovery_rates(p[places], settings.fdr)
    return rows.with_columns(p=p, q=q)


class PromptMeans(NamedTuple):
    """Means of values by keys, and by prompts.

    Attributes:
        keys: a row for each mean.
        sums: shape (means, prompts), the sums of values.
        counts: how many there are.
    """

    keys: pl.DataFrame
    sums: FloatArray
    counts: FloatArray

    @classmethod
    def of(cls, rows: pl.DataFrame, keys: list[str], prompts: int) -> PromptMeans:
        """Sums values up.

        Args:
            rows: `value`, `place` of the prompt, and keys.
            keys: which tell means apart.
            prompts: how many prompts there are.
        """
        known = rows.drop_nulls("value")
        names = known.select(keys).unique(maintain_order=True).with_row_index("row")
        placed = known.join(names, on=keys, nulls_equal=True, maintain_order="left")
        cell = placed["row"].to_numpy().astype(np.int64) * prompts + placed["place"].to_numpy().astype(np.int64)
        shape = len(names), prompts
        sums = np.bincount(cell, placed["value"].to_numpy(), shape[0] * prompts).reshape(shape).astype(np.float64)
        counts = np.bincount(cell, minlength=shape[0] * prompts).reshape(shape).astype(np.float64)
        return cls(names.drop("row"), sums, counts)

    @property
    def without(self) -> FloatArray:
        """The means without each prompt, shape (means, prompts)."""
        sums, counts = (each.sum(axis=1, keepdims=True) - each for each in (self.sums, self.counts))
        return ratio(sums, counts)


class JackknifeNumbers(NamedTuple):
    """Numbers without each prompt.

    Attributes:
        rows: `measure`, `options`, `group` and `other` of each.
        without: shape (numbers, prompts).
        has: which prompts a number is made of.
    """

    rows: pl.DataFrame
    without: FloatArray
    has: BoolArray


def measure_columns(measure: str, **options: object) -> dict[str, pl.Expr]:
    """Returns the columns that name a measure of the scores in `score`."""

    def name_options(score: str) -> str:
        return options_text(score=score, **options)

    return {"measure": pl.lit(measure), "options": pl.col("score").map_elements(name_options, return_dtype=pl.String)}


def pad_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows with all columns that tell numbers apart."""
    missing = [pl.lit(None, pl.String).alias(name) for name in PAIR_OF_GROUPS if name not in rows.columns]
    return rows.with_columns(missing).select(MEASURES_OF_SCORES)


def jackknife_means(
    rows: pl.DataFrame, prompts: pl.DataFrame, options: Mapping[str, Any]
) -> Iterator[JackknifeNumbers]:
    """Yields all that is a mean, or a difference of means, without each prompt."""
    answers, pairs = rows.filter(pl.col("other").is_null()), rows.drop_nulls("other")
    is_within = pl.col("group") == pl.col("other")
    corrected = corrected_similarity_by_prompt(pairs).join(prompts, on="prompt", maintain_order="left")
    is_outcome = pl.col("score").is_in(SHARE_SCORES)
    means = [
        ("similarity", pairs.filter(~is_within), [*PAIR_OF_GROUPS]),
        ("similarity_corrected", corrected, [*PAIR_OF_GROUPS]),
        ("similarity_null", pairs.filter(is_within), ["group"]),
        ("mean_score", answers.filter(~is_outcome), ["group"]),
        (None, answers.filter(is_outcome), ["group"]),
    ]
    for name, values, keys in means:
        for chosen in ([], keys):
            parts = PromptMeans.of(values, ["score", *chosen], len(prompts))
            columns = {"measure": pl.col("score"), "options": pl.lit("")} if name is None else measure_columns(name)
            yield JackknifeNumbers(pad_rows(parts.keys.with_columns(**columns)), parts.without, parts.counts > 0)
    yield from differences_without_prompts(answers, len(prompts), options)


def differences_without_prompts(
    answers: pl.DataFrame, prompts: int, options: Mapping[str, Any]
) -> Iterator[JackknifeNumbers]:
    """Yields differences of the shares of answers above the threshold without each prompt."""
    threshold = options["threshold"]
    above = answers.with_columns((pl.col("value") > threshold).cast(pl.Float64))
    for one, other in combinations(read_groups_of_cell(options).names, 2):
        mine, theirs = (PromptMeans.of(above.filter(group=name), ["score"], prompts) for name in (one, other))
        place = {score: number for number, score in enumerate(theirs.keys["score"])}
        both = [(number, place[score]) for number, score in enumerate(mine.keys["score"]) if score in place]
        if not both:
            continue
        left, right = (np.array(each) for each in zip(*both, strict=True))
        columns = measure_columns("score_difference", threshold=threshold)
        rows = mine.keys[left].with_columns(**columns, group=pl.lit(one), other=pl.lit(other))
        has = (mine.counts[left] > 0) | (theirs.counts[right] > 0)
        yield JackknifeNumbers(pad_rows(rows), mine.without[left] - theirs.without[right], has)


def harms_without_prompts(
    rows: pl.DataFrame, prompts: int, thresholds: Mapping[str, float]
) -> Iterator[JackknifeNumbers]:
    """Yields how much of something bad there is in answers, those to neutral words among them.

    A prompt that is asked about several groups counts for each of them, and is left out with all.

    Args:
        rows: observations, with the `place` of the prompt.
        prompts: how many prompts there are.
        thresholds: from what score on an answer counts, by scorer.
    """
    answers = rows.filter(pl.col("other").is_null())
    for score, threshold in thresholds.items():
        scores = answers.filter(score=score).select("group", "place", "prompt", score="value")
        numbers = extremes_of_prompts(scores, threshold, ["group", "place"]).filter(pl.col("scores") > 0)
        for name in HARM_NUMBERS:
            values = numbers.select("group", "place", value=name, score=pl.lit(score))
            for keys in ([], ["group"]):
                yield means_without_prompts(
                    values, ["score", *keys], prompts, measure_columns(f"harm_{name}", threshold=threshold)
                )


def means_without_prompts(
    values: pl.DataFrame, keys: list[str], prompts: int, named: Mapping[str, pl.Expr]
) -> JackknifeNumbers:
    """Returns the means of values without each prompt, under their names."""
    parts = PromptMeans.of(values, keys, prompts)
    return JackknifeNumbers(pad_rows(parts.keys.with_columns(**named)), parts.without, parts.counts > 0)


def distance_statistics(
    rows: pl.DataFrame, measured: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> pl.DataFrame:
    """Returns noise floor and p of the distances of scores, and the corrected distances; of the cell their means.

    Args:
        rows: observations, with the `place` of the prompt.
        measured: the cell's measures.
        options: see `measure.measure`.
        settings: how many permutations are drawn, and their seed.
    """
    found: list[dict[str, Any]] = []
    for row in measured.filter(measure="score_distance").drop_nulls("group").to_dicts():
        score = options_of(row["options"])["score"]
        chosen = rows.filter(
            pl.col("other").is_null(), pl.col("group").is_in([row["group"], row["other"]]), score=score
        )
        null_mean, p = permutation_nulls(chosen.drop_nulls("value"), row["group"], settings)
        found.append(row | {"null_mean": null_mean, "p": p, "method": f"dealing ({settings.permutations})"})
    if not found:
        return pl.DataFrame()
    table = pl.DataFrame(found, infer_schema_length=None)
    means = table.group_by("measure", "options", maintain_order=True).agg(pl.col("value", "null_mean").mean())
    means = means.join(
        measured.filter(pl.col("group").is_null()).select("measure", "options", "n"), on=["measure", "options"]
    )
    both = pl.concat([table, means], how="diagonal_relaxed").with_columns(method=pl.col("method").fill_null(NO_METHOD))
    corrected = both.with_columns(
        measure=pl.lit("score_distance_corrected"),
        value=pl.col("value") - pl.col("null_mean"),
        method=pl.lit(NO_METHOD),
    ).drop("null_mean", "p")
    clusters = rows["place"].n_unique()
    return pl.concat([both, corrected], how="diagonal_relaxed").with_columns(
        generalises_to=pl.lit("templates"), clusters=clusters
    )


def permutation_nulls(known: pl.DataFrame, group: str, settings: StatisticsSettings) -> tuple[float, float]:
    """Deals the scores of two groups anew within each prompt: so far apart are groups that make no difference.

    Args:
        known: the scores of both groups, with `group` and `place`.
        group: one of them.
        settings: how many permutations are drawn, and their seed.

    Returns:
        The mean of the Wasserstein-1 distance over permutations, and their share in which it is at least as large.
    """
    ordered = known.sort("value", "place", "group")
    values, prompt = ordered["value"].to_numpy(), ordered["place"].to_numpy()
    is_first = (ordered["group"] == group).to_numpy()
    first, second = int(is_first.sum()), int((~is_first).sum())
    if not first or not second:
        return np.nan, np.nan
    widths, order = np.diff(values), np.argsort(prompt, kind="stable")
    labels, of_prompt = is_first[order], prompt[order]

    def distance(firsts: BoolArray) -> FloatArray:
        weights = np.where(firsts, 1 / first, -1 / second)
        return np.asarray(np.abs(weights.cumsum(axis=1)[:, :-1]) @ widths)

    random, observed = np.random.default_rng(settings.seed), float(distance(is_first[None])[0])
    total, at_least, left = 0.0, 0, settings.permutations
    while left:
        count = min(left, max(1, VALUES_AT_ONCE // len(values)))
        # Within each prompt the rows come in a random order, and take the labels one after another.
        keys = np.argsort(of_prompt + random.random((count, len(values))), axis=1)
        firsts = np.empty((count, len(values)), dtype=np.bool_)
        np.put_along_axis(firsts, order[keys], np.broadcast_to(labels, firsts.shape), axis=1)
        some = distance(firsts)
        total, at_least, left = total + some.sum(), at_least + int((some >= observed - TOLERANCE).sum()), left - count
    return total / settings.permutations, (at_least + 1) / (settings.permutations + 1)


__all__ = ["statistics"]
