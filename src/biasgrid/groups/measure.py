"""All measures of the groups of a cell as one table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.groups.combinations import possible_combinations
from biasgrid.groups.distances import RATIO
from biasgrid.groups.failure_rate import case_differences, failure_rates
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.modes import ALL_CASES, EACH_CASE, Mode
from biasgrid.groups.order_effect import position_changes
from biasgrid.groups.records import Records, Sort
from biasgrid.groups.scores import SCORES, Argument, Score, Scored, score_records, takes
from biasgrid.groups.tables import compare, compare_pairs, score_groups, spread_of_scores

MODES: tuple[Mode, ...] = (ALL_CASES, EACH_CASE)
CURVE = [step / 20 for step in range(21)]
"""Thresholds of the failure rate's curve."""


class Asked(NamedTuple):
    """A comparison that is asked for; see `combinations.check_combination`."""

    score: str
    argument: Argument
    distance: str
    comparison: str


def all_asked(sort: Sort) -> list[Asked]:
    """Returns all comparisons that records of a sort allow; averages over classes are macro ones.

    Rates of a class are not among them, as nobody has said which class matters, nor ratios, which show of other scores
    what their differences show.
    """
    return [
        Asked(score, argument, distance, comparison)
        for score, distance, comparison in possible_combinations(sort)
        if takes(SCORES[score], argument := usual_argument(SCORES[score])) and distance != RATIO
    ]


def usual_argument(score: Score) -> Argument:
    """Returns what a score is given where nobody says what."""
    return "macro" if score.parameter and score.parameter.choices else None


def measure_groups(
    records: Records, asked: Sequence[Mapping[str, Any]] | None, threshold: float, swapped: pl.DataFrame | None = None
) -> pl.DataFrame:
    """Measures the groups of a cell.

    Args:
        records: what was said of every group.
        asked: which comparisons to make, each with the fields of `Asked`; None for all that are possible.
        threshold: a threshold of the failure rate to look at besides those of `CURVE`.
        swapped: `case` and `swapped_case`, for the cases that have one; None where no cases have.

    Returns:
        The columns of the schema `MEASURES` that are of groups: their scores with quartiles, the comparisons in both
        modes, of pairwise ones each pair too, of the main score (`MAIN_SCORES`) what templates and the order of
        fillings change, and the failure rates.
    """
    sort = records.outputs.sort
    main = Asked(MAIN_SCORES[sort], None, "absolute", "pairwise")
    chosen = all_asked(sort) if asked is None else [Asked(**each) for each in asked]
    wanted = list(dict.fromkeys([*chosen, main]))
    scored = {key: score_records(records, *key) for key in dict.fromkeys(each[:2] for each in wanted)}
    tables = list(scores_of_groups(scored.values()))
    for each in wanted:
        tables += list(compared(scored[each[:2]], each))
    tables += list(by_template(records, main))
    if swapped is not None:
        tables.append(position_changes(scored[main[:2]], swapped))
    tables.append(failure_rates(case_differences(records), sorted({*CURVE, threshold})))
    return pl.concat(tables, how="diagonal")


def scores_of_groups(scores: Iterable[Scored]) -> Iterator[pl.DataFrame]:
    """Yields the scores of groups, with the quartiles of their scores in the cases."""
    for scored in scores:
        if SCORES[scored.score].reduce is not None:
            yield score_groups(scored)
            yield spread_of_scores(scored)


def compared(scored: Scored, asked: Asked) -> Iterator[pl.DataFrame]:
    """Yields a comparison in both modes, and if it is pairwise that of each pair."""
    for mode in MODES:
        if asked.comparison == "pairwise":
            yield from compare_pairs(scored, asked.distance, mode)
        else:
            yield compare(scored, asked.distance, asked.comparison, mode)


def by_template(records: Records, main: Asked) -> Iterator[pl.DataFrame]:
    """Yields the scores of groups, and how far they are apart in the cases, for each template."""
    for template in np.unique(records.template):
        scored = score_records(records.only(np.flatnonzero(records.template == template)), *main[:2])
        distances = compare(scored, main.distance, main.comparison, EACH_CASE)
        for table in (score_groups(scored), distances):
            yield table.with_columns(pl.lit(int(template), pl.UInt16).alias("template"))
