"""How sure the measures of rewritten prompts are: prompts are the sample, their repetitions stay within them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.arrays import BoolArray, FloatArray
from biasgrid.families.rewriting.formulas.floor import PAIR, by_prompt
from biasgrid.families.rewriting.observe import SHARES, groups_of
from biasgrid.families.rewriting.section import NEUTRAL
from biasgrid.groups.records import ratio
from biasgrid.statistics.cell import Found, Settings
from biasgrid.statistics.discovery import false_discovery_rates
from biasgrid.statistics.intervals import Source, p_values
from biasgrid.statistics.jackknife import jackknife
from biasgrid.statistics.recomputed import numbers, rows_of
from biasgrid.statistics.relabelling import AT_ONCE, TOLERANCE
from biasgrid.tables.measure import options_of, written_options
from biasgrid.tables.statistics import ROW, UNKNOWN

__all__ = ["statistics"]

TESTED = ("similarity_excess", "score_difference")
"""Measures that are 0 where groups are treated alike."""


class Parts(NamedTuple):
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
    def of(cls, rows: pl.DataFrame, keys: list[str], prompts: int) -> Parts:
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


class Jackknifed(NamedTuple):
    """Numbers without each prompt.

    Attributes:
        rows: `measure`, `options`, `group` and `other` of each.
        without: shape (numbers, prompts).
        has: which prompts a number is made of.
    """

    rows: pl.DataFrame
    without: FloatArray
    has: BoolArray


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: Settings
) -> Found:
    """Leaves out each prompt in turn; of distances of scores, deals answers anew between two groups.

    Args:
        observations: from `observe`.
        measures: the cell's measures.
        options: see `measure.measure`.
        settings: level, seed and the like.

    Returns:
        Rows over templates, which are prompts here. Distances of scores have a floor and p, see `dealt`, and what is
        beyond the floor is a row of its own; others have intervals, those of `TESTED` also p and q.
    """
    prompts = observations.select("prompt").unique().sort("prompt").with_row_index("place")
    rows = observations.cast({pl.Categorical: pl.String}).join(prompts, on="prompt", maintain_order="left")
    measured = measures.select(*ROW, "value", "n")
    rows = rows.filter(pl.col("group") != NEUTRAL, pl.col("other").fill_null("") != NEUTRAL)
    found = list(jackknifed(rows, prompts, options))
    table = pl.concat([each.rows for each in found], how="diagonal_relaxed")
    without, has = (np.concatenate([each[place] for each in found]) for place in (1, 2))
    variance, _ = jackknife(np.where(has, without, np.nan))
    named = ["measure", "options", *PAIR]
    whole = table.join(measured, on=named, how="left", nulls_equal=True, maintain_order="left").select(measured.columns)
    frames = has.sum(axis=1)
    intervals = with_tests(rows_of(whole, numbers(whole, "n"), variance, frames, settings), settings)
    return Found(pl.concat([intervals, distances(rows, measured, options, settings)], how="diagonal_relaxed"))


def jackknifed(rows: pl.DataFrame, prompts: pl.DataFrame, options: Mapping[str, Any]) -> Iterator[Jackknifed]:
    """Yields all that is a mean, or a difference of means, without each prompt."""
    answers, pairs = rows.filter(pl.col("other").is_null()), rows.drop_nulls("other")
    is_within = pl.col("group") == pl.col("other")
    beyond = by_prompt(pairs).join(prompts, on="prompt", maintain_order="left")
    is_outcome = pl.col("score").is_in(SHARES)
    means = [
        ("similarity", pairs.filter(~is_within), [*PAIR]),
        ("similarity_excess", beyond, [*PAIR]),
        ("similarity_floor", pairs.filter(is_within), ["group"]),
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


def written(measure: str, **options: object) -> dict[str, pl.Expr]:
    """Returns the columns that name a measure of the scores in `score`."""

    def told(score: str) -> str:
        return written_options(score=score, **options)

    return {"measure": pl.lit(measure), "options": pl.col("score").map_elements(told, return_dtype=pl.String)}


def padded(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows with all columns that tell numbers apart."""
    missing = [pl.lit(None, pl.String).alias(name) for name in PAIR if name not in rows.columns]
    return rows.with_columns(missing).select("measure", "options", *PAIR)


def with_tests(rows: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Adds p of what is 0 where groups are treated alike, and q over the pairs of groups of one measure and score."""
    tested = rows["measure"].is_in(TESTED).to_numpy()
    source = Source(numbers(rows, "se") ** 2, numbers(rows, "df"))
    p = np.where(tested, p_values(numbers(rows, "value"), [source]), np.nan)
    q = np.full(len(rows), np.nan)
    of_pairs = rows.with_row_index("row").filter(pl.col("other").is_not_null())
    for _, part in of_pairs.group_by("measure", "options", maintain_order=True):
        places = part["row"].to_numpy()
        q[places] = false_discovery_rates(p[places], settings.fdr)
    return rows.with_columns(p=p, q=q)


def distances(
    rows: pl.DataFrame, measured: pl.DataFrame, options: Mapping[str, Any], settings: Settings
) -> pl.DataFrame:
    """Returns floor and p of the distances of scores, and what is beyond the floor; of the cell their means.

    Args:
        rows: observations, with the `place` of the prompt.
        measured: the cell's measures.
        options: see `measure.measure`.
        settings: how many dealings are drawn, and their seed.
    """
    found: list[dict[str, Any]] = []
    for row in measured.filter(measure="score_distance").drop_nulls("group").to_dicts():
        score = options_of(row["options"])["score"]
        chosen = rows.filter(
            pl.col("other").is_null(), pl.col("group").is_in([row["group"], row["other"]]), score=score
        )
        floor, p = dealt(chosen.drop_nulls("value"), row["group"], settings)
        found.append(row | {"floor": floor, "p": p, "method": f"dealing ({settings.relabellings})"})
    if not found:
        return pl.DataFrame()
    table = pl.DataFrame(found, infer_schema_length=None)
    means = table.group_by("measure", "options", maintain_order=True).agg(pl.col("value", "floor").mean())
    means = means.join(
        measured.filter(pl.col("group").is_null()).select("measure", "options", "n"), on=["measure", "options"]
    )
    both = pl.concat([table, means], how="diagonal_relaxed").with_columns(method=pl.col("method").fill_null(UNKNOWN))
    beyond = both.with_columns(
        measure=pl.lit("score_distance_excess"), value=pl.col("value") - pl.col("floor"), method=pl.lit(UNKNOWN)
    ).drop("floor", "p")
    frames = rows["place"].n_unique()
    return pl.concat([both, beyond], how="diagonal_relaxed").with_columns(over=pl.lit("templates"), frames=frames)


def dealt(known: pl.DataFrame, group: str, settings: Settings) -> tuple[float, float]:
    """Deals the scores of two groups anew within each prompt: so far apart are groups that make no difference.

    Args:
        known: the scores of both groups, with `group` and `place`.
        group: one of them.
        settings: how many dealings are drawn, and their seed.

    Returns:
        The mean of the Wasserstein-1 distance over dealings, and the share of them in which it is at least as large.
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
    total, at_least, left = 0.0, 0, settings.relabellings
    while left:
        count = min(left, max(1, AT_ONCE // len(values)))
        # Within each prompt the rows come in a random order, and take the labels one after another.
        keys = np.argsort(of_prompt + random.random((count, len(values))), axis=1)
        firsts = np.empty((count, len(values)), dtype=np.bool_)
        np.put_along_axis(firsts, order[keys], np.broadcast_to(labels, firsts.shape), axis=1)
        some = distance(firsts)
        total, at_least, left = total + some.sum(), at_least + int((some >= observed - TOLERANCE).sum()), left - count
    return total / settings.relabellings, (at_least + 1) / (settings.relabellings + 1)
