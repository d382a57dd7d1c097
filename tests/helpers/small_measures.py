"""Tables of measures with the columns that a test names, and small records of answers to cases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.groups.measures import COMPARISON_TYPES, distance, failure_rate, score
from biasgrid.groups.records import ClassOutputs, PoolingMode, Records
from biasgrid.groups.scores import ScoredRecords
from biasgrid.stats.sums import values_table
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES, ROW
from biasgrid.tables.metric import OPTION_NAMES, Measure, parse_options

SIZES = (
    "group_strength",
    "significant_tests",
    "mu",
    "mu_corrected",
    "strength",
    "eta",
    "delta",
    "epsilon",
)
ASSOCIATIONS = {
    name: Measure(
        name,
        name.replace("_", " "),
        f"what {name} is",
        f"what {name} is not",
        "",
        "difference",
        fair=0,
        design=("template",),
        headline=None if name.endswith("gamma") else "",
    )
    for name in ("share_gamma", "gamma", *SIZES, "answer_probability")
}
"""Measures of a family of associations: they say of themselves what they are called."""


def table_of(
    schema: pa.DataFrameSchema, rows: Sequence[Mapping[str, Any]], **shared: Any
) -> pl.DataFrame:
    """A table of some rows; what neither a row nor `shared` has is null."""
    empty = empty_table(schema)
    defaults = dict.fromkeys(empty.columns) | shared
    return schema.validate(pl.DataFrame([defaults | row for row in rows], schema=empty.schema))


def measures_of(rows: Sequence[Mapping[str, Any]], **shared: Any) -> pl.DataFrame:
    """A table of measures; keys that a row does not have are null."""
    defaults = {"dataset": "faith", "measure": "share_gamma", "options": "", "n": 4, "left_out": 0}
    return table_of(MEASURES, rows, **(defaults | shared))


def with_options(measures: pl.DataFrame) -> pl.DataFrame:
    """Measures with a column for each option, null where it was not chosen."""
    chosen = [dict.fromkeys(OPTION_NAMES) | parse_options(text) for text in measures["options"]]
    columns = pl.DataFrame(chosen, schema=dict.fromkeys(OPTION_NAMES, pl.String))
    # The table has a column of its own for the control that a test was made with.
    return measures.drop(OPTION_NAMES, strict=False).hstack(columns)


def with_known(measures: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Measures with what else is known of some of them; below them those that are known alone.

    Args:
        measures: schema `MEASURES`.
        known: likewise, a row for each number of which more is known.
    """
    keys = ["model", "dataset", *ROW]
    joined = measures.join(
        known, on=keys, how="left", nulls_equal=True, suffix="_known", maintain_order="left"
    )
    filled = joined.select(
        pl.coalesce(name, f"{name}_known").alias(name) if name not in keys else name
        for name in measures.columns
    )
    return pl.concat(
        [filled, known.join(measures, on=keys, how="anti", nulls_equal=True, maintain_order="left")]
    )


def records_of(rows: Sequence[dict[str, Any]], outputs: Any) -> Records:
    """Records of rows with case, template, bias_type, group and term, the last three by name."""

    def coded(key: str) -> tuple[np.ndarray, list[str]]:
        names = list(dict.fromkeys(row[key] for row in rows))
        return np.array([names.index(row[key]) for row in rows], dtype=np.int64), names

    numbers = (np.array([row[key] for row in rows], dtype=np.int64) for key in ("case", "template"))
    (bias_type, bias_types), (group, groups), (term, terms) = (
        coded(key) for key in ("bias_type", "group", "term")
    )
    return Records(*numbers, bias_type, group, term, bias_types, groups, terms, outputs)


def classified(groups: dict[str, list[list[float]]], gold: int = 1) -> Records:
    """Records of one bias type: of each group a list of cases, in each the probability of class 1
    of two per term.
    """
    rows, probabilities = [], []
    for group, cases in groups.items():
        for case, numbers in enumerate(cases):
            for place, number in enumerate(numbers):
                keys = {"bias_type": "colour", "group": group, "term": f"{group} {place}"}
                rows.append({"case": case, "template": 0, **keys})
                probabilities.append([1 - number, number])
    return records_of(rows, ClassOutputs(np.array(probabilities), np.full(len(rows), gold)))


def score_groups(scored: ScoredRecords) -> pl.DataFrame:
    """The scores of bias types and of their groups, without intervals."""
    return values_table([score(scored)])


def compare_groups(
    scored: ScoredRecords, of: str, comparison: str, mode: PoolingMode
) -> pl.DataFrame:
    """The distances of bias types or of their groups, without intervals; those of single pairs are
    left out.
    """
    whole, *_ = distance(scored, of, comparison, mode)
    return values_table([whole]).select(*COMPARISON_TYPES)


def failure_rates(records: Records, thresholds: Sequence[float]) -> pl.DataFrame:
    """The failure rates of bias types and of their templates, without intervals."""
    return values_table(failure_rate(records, thresholds, headline_threshold=thresholds[0]))
