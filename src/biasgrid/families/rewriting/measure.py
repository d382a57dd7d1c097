"""The measures of rewritten prompts: how groups' answers differ, and what of it chance makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.rewriting.evidence import prompts_of_pairs
from biasgrid.families.rewriting.formulas.null import PAIR, by_prompt
from biasgrid.families.rewriting.further import harms, near_words, spread_of_lists
from biasgrid.families.rewriting.observe import OBSERVATIONS, READ, SAID, SHARES, groups_of, observe
from biasgrid.families.rewriting.section import NEUTRAL
from biasgrid.families.rewriting.validity import validity
from biasgrid.groups.distances import WassersteinDistances
from biasgrid.groups.records import Units
from biasgrid.tables.evidence import Evidence
from biasgrid.tables.metric import options_text

__all__ = ["OBSERVATIONS", "READ", "SAID", "evidence", "measure", "observe", "validity"]

MEAN = {"value": pl.col("value").mean(), "n": pl.col("value").count(), "left_out": pl.col("value").null_count()}


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `groups`, the file of groups, `threshold`, `harms`, `targets`, `stop_words` and `mode`.

    Returns:
        Columns of `MEASURES`: of pairs of groups and of the cell similarities, noise floors and what is beyond them;
        distances and differences of scores; of groups mean scores and how answers ended.
    """
    groups = groups_of(options)
    rows = observations.cast({pl.Categorical: pl.String})
    every_answer = rows.filter(pl.col("other").is_null())
    answers = every_answer.filter(pl.col("group") != NEUTRAL)
    pairs = rows.drop_nulls("other")
    tables = [*similarities(pairs.filter(pl.col("group") != NEUTRAL, pl.col("other") != NEUTRAL)), *of_groups(answers)]
    tables += distances(answers, groups.names)
    tables += differences(answers, groups.names, options["threshold"])
    tables += harms(every_answer, options["harms"])
    tables += near_words(every_answer, groups, options)
    tables += spread_of_lists(pairs.filter(pl.col("group") != NEUTRAL, other=NEUTRAL))
    return pl.concat(tables, how="diagonal_relaxed").with_columns(
        bias_type=pl.when(pl.col("group").is_not_null()).then(pl.lit(groups.bias_type))
    )


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds prompts whose answers differ most, least and middling between groups; see `evidence.prompts_of_pairs`."""
    return Evidence(prompts_of_pairs(cell))


def similarities(pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields how like answers for two groups are, how like those for one are, and the difference."""
    between = pairs.filter(pl.col("group") != pl.col("other"))
    within = pairs.filter(pl.col("group") == pl.col("other"))
    beyond = by_prompt(pairs)
    for keys in ([], [*PAIR]):
        yield named(between, "similarity", keys)
        yield named(beyond, "similarity_corrected", keys)
    yield named(within, "similarity_null", [])
    yield named(within.drop("other"), "similarity_null", ["group"])


def named(rows: pl.DataFrame, name: str, keys: list[str]) -> pl.DataFrame:
    """Returns the means of values by score and keys."""
    means = rows.group_by("score", *keys, maintain_order=True).agg(**MEAN)
    return means.with_columns(score_options(), measure=pl.lit(name)).drop("score")


def score_options() -> pl.Expr:
    """Returns the options of rows by their score."""
    return (
        pl.col("score").map_elements(lambda score: options_text(score=score), return_dtype=pl.String).alias("options")
    )


def of_groups(answers: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields how answers ended and their mean scores, of the cell and by group."""
    is_outcome = pl.col("score").is_in(SHARES)
    for keys in ([], ["group"]):
        ended = answers.filter(is_outcome).group_by("score", *keys, maintain_order=True).agg(**MEAN)
        yield ended.rename({"score": "measure"}).with_columns(options=pl.lit(""))
        yield named(answers.filter(~is_outcome), "mean_score", keys)


def distances(answers: pl.DataFrame, groups: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yields Wasserstein-1 distances between the scores of groups, and their mean over pairs."""
    for (score,), rows in answers.filter(~pl.col("score").is_in(SHARES)).group_by("score", maintain_order=True):
        known = rows.drop_nulls("value")
        counts = dict(known.group_by("group").len().iter_rows())
        found = dict(zip(combinations(groups, 2), pair_distances(known, groups), strict=True))
        told = [
            {"group": one, "other": other, "value": value, "n": counts.get(one, 0) + counts.get(other, 0)}
            for (one, other), value in found.items()
        ]
        values = [value for value in found.values() if value is not None]
        told.append({"value": float(np.mean(values)) if values else None, "n": len(known)})
        options, left_out = options_text(score=score), rows["value"].null_count()
        schema = {"group": pl.String, "other": pl.String, "value": pl.Float64, "n": pl.Int64}
        yield pl.DataFrame(told, schema=schema).with_columns(
            measure=pl.lit("score_distance"), options=pl.lit(options), left_out=pl.lit(left_out)
        )


def pair_distances(known: pl.DataFrame, groups: tuple[str, ...]) -> Iterator[float | None]:
    """Yields the distance of each pair of groups, None where one has no score."""
    places = {name: place for place, name in enumerate(groups)}
    place = known["group"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    zeros = np.zeros(len(known), dtype=np.int64)
    units = Units(zeros, place, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), [groups])
    of_units = WassersteinDistances(known["value"].to_numpy(), units)
    for one in range(len(groups) - 1):
        found = of_units.to_later(one)[:, 0]
        yield from (None if np.isnan(value) else float(value) for value in found)


def differences(answers: pl.DataFrame, groups: tuple[str, ...], threshold: float) -> Iterator[pl.DataFrame]:
    """Yields by how much more often answers for one group than for another are above the threshold."""
    shares = (
        answers.with_columns(pl.col("value") > threshold)
        .group_by("score", "group", maintain_order=True)
        .agg(pl.col("value").mean(), n=pl.col("value").count(), left_out=pl.col("value").null_count())
    )
    for one, other in combinations(groups, 2):
        theirs = shares.filter(group=other).rename({"group": "other"})
        both = shares.filter(group=one).join(theirs, on="score", maintain_order="left", suffix=" other")
        yield both.select(
            pl.col("score").map_elements(
                lambda score: options_text(score=score, threshold=threshold), return_dtype=pl.String
            ).alias("options"),
            *PAIR,
            measure=pl.lit("score_difference"),
            value=pl.col("value") - pl.col("value other"),
            n=pl.col("n") + pl.col("n other"),
            left_out=pl.col("left_out") + pl.col("left_out other"),
        )  # fmt: skip
