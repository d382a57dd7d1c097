"""All group measures of a cell as tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.arrays import FloatArray
from biasgrid.groups.combinations import possible_combinations
from biasgrid.groups.comparisons import group_scores
from biasgrid.groups.failures import FAILURE_SCORES, case_differences, failure_rates
from biasgrid.groups.measures import compare, compare_pairs, score_groups
from biasgrid.groups.positions import position_changes
from biasgrid.groups.records import Mode, Records, Sort, units_of
from biasgrid.groups.scores import SCORES, Argument, Scored, score_records
from biasgrid.table_files import empty_table
from biasgrid.tables.group_measures import FAILURES, GROUP_MEASURES

MODES: tuple[Mode, ...] = ("group", "counterfactual")
CURVE = [step / 20 for step in range(21)]
"""Thresholds of the failure rate's curve."""
QUARTILES = [0.25, 0.75]


class Asked(NamedTuple):
    """A comparison that is asked for; see `combinations.check_combination`."""

    score: str
    argument: Argument
    distance: str
    comparison: str


def all_asked(sort: Sort) -> list[Asked]:
    """Returns all comparisons that records of a sort allow; averages over classes are macro ones."""
    return [
        Asked(score, "macro" if (parameter := SCORES[score].parameter) and parameter.choices else None, *rest)
        for score, *rest in possible_combinations(sort)
    ]


def measure_groups(
    records: Records, asked: Sequence[Asked] | None, swapped: pl.DataFrame | None, model: str, dataset: str
) -> pl.DataFrame:
    """Measures the groups of a cell.

    Args:
        records: what was said of every group.
        asked: which comparisons to make; None for all that are possible.
        swapped: `case` and `swapped_case`, for the cases that have one; None where no cases have.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Returns:
        The measures (schema `GROUP_MEASURES`): the scores of groups, the comparisons in both modes, of pairwise ones
        each pair too, and of the main score (`FAILURE_SCORES`) what templates and the order of fillings change.
    """
    main = Asked(FAILURE_SCORES[records.outputs.sort], None, "absolute", "pairwise")
    wanted = list(dict.fromkeys([*(all_asked(records.outputs.sort) if asked is None else asked), main]))
    scored = {key: score_records(records, *key) for key in dict.fromkeys(each[:2] for each in wanted)}
    scalar = [each for each in scored.values() if SCORES[each.score].reduce is not None]
    tables = [with_spread(each) for each in scalar]
    for each in wanted:
        tables += list(compared(scored[each[:2]], each))
    tables += list(by_template(records, main))
    if swapped is not None:
        tables.append(position_changes(scored[main[:2]], swapped))
    empty = empty_table(GROUP_MEASURES)
    rows = pl.concat([empty, *tables], how="diagonal_relaxed")
    return rows.with_columns(model=pl.lit(model), dataset=pl.lit(dataset)).cast(empty.schema)


def with_spread(scored: Scored) -> pl.DataFrame:
    """Returns the scores of groups, with the quartiles of their scores in the cases."""
    units = units_of(scored.records, "counterfactual")
    in_cases = group_scores(scored, units.only(scored.defined))
    rows = []
    for code in np.unique(units.bias_type):
        of_groups = in_cases[units.bias_type == code].T
        for group, values in zip(units.group_names[code], of_groups, strict=False):
            lower, upper = quartiles(values)
            rows.append((scored.records.bias_types[code], group, lower, upper))
    schema = {"bias_type": pl.String, "group": pl.String, "lower": pl.Float64, "upper": pl.Float64}
    spreads = pl.DataFrame(rows, schema=schema, orient="row")
    return score_groups(scored).join(spreads, on=["bias_type", "group"], how="left", maintain_order="left")


def quartiles(values: FloatArray) -> tuple[float | None, float | None]:
    """Returns the lower and the upper quartile of the values that are not NaN, None where all are."""
    found = values[~np.isnan(values)]
    lower, upper = np.quantile(found, QUARTILES).tolist() if len(found) else (None, None)
    return lower, upper


def compared(scored: Scored, asked: Asked) -> Iterator[pl.DataFrame]:
    """Yields a comparison in both modes, and if it is pairwise that of each pair."""
    for mode in MODES:
        yield compare(scored, asked.distance, asked.comparison, mode)
        if asked.comparison == "pairwise":
            yield compare_pairs(scored, asked.distance, mode)


def by_template(records: Records, main: Asked) -> Iterator[pl.DataFrame]:
    """Yields the scores of groups, and how far they are apart in the cases, for each template."""
    for template in np.unique(records.template):
        scored = score_records(records.only(np.flatnonzero(records.template == template)), *main[:2])
        distances = compare(scored, main.distance, main.comparison, "counterfactual")
        for table in (score_groups(scored), distances):
            yield table.with_columns(pl.lit(int(template), pl.UInt16).alias("template"))


def measure_failures(records: Records, threshold: float, model: str, dataset: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Tells how often the groups of a case are treated unlike.

    Args:
        records: what was said of every group.
        threshold: a threshold to look at besides those of `CURVE`.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Returns:
        The failure rates (schema `FAILURES`), and the differences behind them, see `failures.case_differences`.
    """
    differences = case_differences(records)
    rates = failure_rates(differences, sorted({*CURVE, threshold}))
    named = rates.select(pl.lit(model).alias("model"), pl.lit(dataset).alias("dataset"), pl.all())
    return named.select(list(FAILURES.columns)), differences
