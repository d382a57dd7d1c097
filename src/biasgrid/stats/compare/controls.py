"""The size of associations in a dataset compared with its negative controls, and numbers without
the uncertainty of controls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot, isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.stats.shares import ShareWithInterval, share_ratio_interval
from biasgrid.tables.claims.numbers import is_size
from biasgrid.tables.measures import ROW, rows_about_wholes
from biasgrid.tables.metric import Controls, options_text

ROWS = {
    **dict.fromkeys(("model", "dataset", "measure", "options"), pl.String),
    **dict.fromkeys(("value", "low", "high"), pl.Float64),
    **dict.fromkeys(("n", "left_out"), pl.Int64),
}


OF_GROUPS = ("group_strength", "question_group_strength")
"""The measures for the size of associations of groups."""
SilencedMeasures = Mapping[str, Mapping[str, Sequence[str]]]
"""By dataset and flag, the measures that say nothing about a cell in which the flag is raised."""


class SizeWithInterval(NamedTuple):
    """A size, or a comparison of two sizes, with both ends of its interval; None if unknown."""

    value: Any
    low: Any
    high: Any

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> SizeWithInterval:
        """Takes `value`, `low` and `high` from a row of measures."""
        return cls(row["value"], row["low"], row["high"])


def sizes_against_controls(
    measures: pl.DataFrame,
    headlines: Mapping[str, Mapping[str, str]],
    controls: Controls,
    silenced_measures: SilencedMeasures = MappingProxyType({}),
) -> pl.DataFrame:
    """Compares the size of associations in each dataset with the size in its controls.

    One size is compared per pair of cells: the first headline measure that is a size, is not
    silenced in either cell and has an interval in both; measures of `OF_GROUPS` come first.

    Args:
        measures: schema `MEASURES`.
        headlines: the headline measures of each dataset, in their order, with their options.
        controls: which cells are controls. Models that answer at random have no size here.
        silenced_measures: the measures that flags silence.

    Returns:
        Columns `ROWS`: `control_difference` and `control_ratio` of each pair of cells.
    """
    cells = measures.select("model", "dataset").unique(maintain_order=True).rows()
    wholes = rows_about_wholes(measures).filter(pl.col("bias_type").is_null(), options="")
    sizes = {}
    for row in wholes.drop_nulls(["low", "high"]).to_dicts():
        sizes[row["model"], row["dataset"], row["measure"]] = row
    silent = silent_in_cells(measures, silenced_measures)
    lines = []
    for cell in controls.control_cells(cells):
        model, control, dataset = cell.model, cell.dataset, cell.about
        if dataset == control:
            continue
        silent_in_either = silent.get((model, dataset), set()) | silent.get((model, control), set())
        candidates = [
            size
            for size in headlines.get(dataset, {})
            if is_size(size) and size not in silent_in_either
        ]
        # If a dataset has groups of names, claims are about these.
        for size in sorted(candidates, key=lambda size: size not in OF_GROUPS):
            own_row = sizes.get((model, dataset, size))
            control_row = sizes.get((model, control, size))
            if own_row and control_row:
                lines += size_lines(own_row, control_row, cell.name)
                break
    return pl.DataFrame(lines, schema=ROWS, orient="row")


def silent_in_cells(
    measures: pl.DataFrame, silenced_measures: SilencedMeasures
) -> dict[tuple[str, str], set[str]]:
    """Returns the measures that say nothing about a cell, because a flag is raised in it.

    Args:
        measures: schema `MEASURES`.
        silenced_measures: the measures that flags silence.

    Returns:
        The measures by (model, dataset); cells without flags are left out.
    """
    silent: dict[tuple[str, str], set[str]] = {}
    flags = measures.drop_nulls("flag").select("model", "dataset", "measure").unique()
    for model, dataset, flag in flags.rows():
        names = silenced_measures.get(dataset, {}).get(flag, ())
        silent.setdefault((model, dataset), set()).update(names)
    return silent


def size_lines(
    row: Mapping[str, Any], control_row: Mapping[str, Any], control: str
) -> list[tuple[Any, ...]]:
    """Compares a size of a dataset with the same size of its control: lines in columns `ROWS`.

    Args:
        row: the dataset's row of measures, with an interval.
        control_row: the control's row of the same measure, likewise.
        control: the name of the control.
    """
    sides = SizeWithInterval.from_row(row), SizeWithInterval.from_row(control_row)
    options = options_text(control=control, size=row["measure"])
    lines: list[tuple[Any, ...]] = []
    for compare in (control_difference, control_ratio):
        # The measure is called like its function.
        names = row["model"], row["dataset"], compare.__name__, options
        lines.append((*names, *compare(*sides), row["n"], 0))
    return lines


def control_difference(size: SizeWithInterval, control: SizeWithInterval) -> SizeWithInterval:
    """Returns the size of the associations of a dataset - the size of those of its control.

    Its interval is made from the intervals of both (MOVER; Zou and Donner, Statistics in Medicine
    2008), which must be known.
    """
    below = hypot(size.value - size.low, control.high - control.value)
    above = hypot(size.high - size.value, control.value - control.low)
    value = size.value - control.value
    return SizeWithInterval(value, value - below, value + above)


def control_ratio(size: SizeWithInterval, control: SizeWithInterval) -> SizeWithInterval:
    """Returns the size of the associations of a dataset / the size of those of its control.

    Its interval is made from the intervals of both (MOVER-R), which must be known. All is None if
    the control has no size at all; the upper end is None if the control's interval contains 0.
    """
    if control.value <= 0:
        return SizeWithInterval(None, None, None)
    # A size below 0, which noise may make, means the same as 0.
    sides = [np.maximum(np.array(side), 0.0)[:, None] for side in (size, control)]
    lows, highs = share_ratio_interval(*(ShareWithInterval(*side) for side in sides))
    low, high = float(lows[0]), float(highs[0])
    ratio = max(size.value, 0.0) / control.value
    return SizeWithInterval(ratio, low, high if isfinite(high) else None)


def against_zero(measures: pl.DataFrame, intervals: pl.DataFrame | None) -> pl.DataFrame:
    """Returns numbers with intervals and tests against 0, not against the size of a control.

    Args:
        measures: schema `MEASURES`.
        intervals: the intervals of the same cells (schema `INTERVALS`), which has numbers against 0
            for those with a `control`; without it these are unknown.

    Returns:
        The same rows in the same order. For numbers with a `control`, `low`, `high`, `p` and `se`
        are replaced by those against 0, null if unknown.
    """
    columns = ("low", "high", "p", "se")
    with_control = pl.col("control").is_not_null()
    own = measures.with_columns(pl.when(~with_control).then(name).alias(name) for name in columns)
    if intervals is None or own.filter(with_control).is_empty():
        return own
    keys = ["model", "dataset", *ROW, "generalises_to"]
    columns_against_0 = (pl.col(name).name.suffix("_0") for name in columns)
    against_0 = (
        intervals.filter(pl.col("control").is_null()).select(*keys, *columns_against_0).unique(keys)
    )
    both = own.join(against_0, on=keys, how="left", nulls_equal=True, maintain_order="left")
    replacements = [
        pl.when(with_control).then(f"{name}_0").otherwise(name).alias(name) for name in columns
    ]
    return both.with_columns(replacements).drop(f"{name}_0" for name in columns)
