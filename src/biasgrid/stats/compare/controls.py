"""The size of what is associated in a dataset beside that of its negative controls, and numbers
without these.
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
"""The sizes of associations of groups."""
Silenced = Mapping[str, Mapping[str, Sequence[str]]]
"""Of each dataset, by flag, the measures that say nothing where it speaks against a cell."""


class SizeWithInterval(NamedTuple):
    """A size, or a comparison of two, and both ends of its interval; None where they are not
    known.
    """

    value: Any
    low: Any
    high: Any

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> SizeWithInterval:
        """Takes it from a row of measures."""
        return cls(row["value"], row["low"], row["high"])


def sizes_against_controls(
    measures: pl.DataFrame,
    headlines: Mapping[str, Mapping[str, str]],
    controls: Controls,
    silenced: Silenced = MappingProxyType({}),
) -> pl.DataFrame:
    """Compares the size of associations in each dataset with the size in its controls.

    Args:
        measures: schema `MEASURES`.
        headlines: for each dataset its headline measures; compared is the first of them that is a
            size, that of groups where there are some.
        controls: which cells are controls.
        silenced: which of them say nothing of a cell, and so of none that it is compared with.

    Returns:
        Columns `ROWS`: `control_difference` and `control_ratio` of each pair of cells.
    """
    cells = measures.select("model", "dataset").unique(maintain_order=True).rows()
    wholes = rows_about_wholes(measures).filter(pl.col("bias_type").is_null(), options="")
    sizes = {}
    for row in wholes.drop_nulls(["low", "high"]).to_dicts():
        sizes[row["model"], row["dataset"], row["measure"]] = row
    silent = silent_in_cells(measures, silenced)
    lines = []
    for cell in controls.control_cells(cells):
        model, control, dataset = cell.model, cell.dataset, cell.about
        if dataset == control:
            continue
        silent_in_both = silent.get((model, dataset), set()) | silent.get((model, control), set())
        candidates = [
            size
            for size in headlines.get(dataset, {})
            if is_size(size) and size not in silent_in_both
        ]
        # Where a dataset has groups, these are what is claimed.
        for size in sorted(candidates, key=lambda size: size not in OF_GROUPS):
            one, other = sizes.get((model, dataset, size)), sizes.get((model, control, size))
            if one and other:
                lines += size_lines(one, other, cell.name)
                break
    return pl.DataFrame(lines, schema=ROWS, orient="row")


def silent_in_cells(measures: pl.DataFrame, silenced: Silenced) -> dict[tuple[str, str], set[str]]:
    """Returns the measures that say nothing of a cell, as a flag speaks against it.

    Args:
        measures: schema `MEASURES`.
        silenced: see `Silenced`.

    Returns:
        By model and dataset; cells without flags are left out.
    """
    silent: dict[tuple[str, str], set[str]] = {}
    flags = measures.drop_nulls("flag").select("model", "dataset", "measure").unique()
    for model, dataset, flag in flags.rows():
        names = silenced.get(dataset, {}).get(flag, ())
        silent.setdefault((model, dataset), set()).update(names)
    return silent


def size_lines(
    one: Mapping[str, Any], other: Mapping[str, Any], control: str
) -> list[tuple[Any, ...]]:
    """Compares a size of a dataset with the same size of its control: lines in columns `ROWS`.

    Args:
        one: the row of the dataset.
        other: the row of the same measure of its control.
        control: the name of the control.
    """
    sides = SizeWithInterval.from_row(one), SizeWithInterval.of(other)
    options = options_text(control=control, size=one["measure"])
    lines: list[tuple[Any, ...]] = []
    for compare in (control_difference, control_ratio):
        names = one["model"], one["dataset"], compare.__name__, options
        lines.append((*names, *compare(*sides), one["n"], 0))
    return lines


def control_difference(one: SizeWithInterval, other: SizeWithInterval) -> SizeWithInterval:
    """Size of the associations of a dataset - size of those of its control, with its interval.

    The interval is made of those of both (MOVER; Zou and Donner, Statistics in Medicine 2008).
    """
    below = hypot(one.value - one.low, other.high - other.value)
    above = hypot(one.high - one.value, other.value - other.low)
    value = one.value - other.value
    return SizeWithInterval(value, value - below, value + above)


def control_ratio(one: SizeWithInterval, other: SizeWithInterval) -> SizeWithInterval:
    """Size of the associations of a dataset / size of those of its control, with its interval
    (MOVER-R).

    It is not known where the control has no size at all; where its interval holds 0, the ratio has
    no upper end.
    """
    if other.value <= 0:
        return SizeWithInterval(None, None, None)
    # Below 0 a size says no more than 0.
    sides = [np.maximum(np.array(size), 0.0)[:, None] for size in (one, other)]
    lows, highs = share_ratio_interval(*(ShareWithInterval(*side) for side in sides))
    low, high = float(lows[0]), float(highs[0])
    ratio = max(one.value, 0.0) / other.value
    return SizeWithInterval(ratio, low, high if isfinite(high) else None)


def against_zero(measures: pl.DataFrame, intervals: pl.DataFrame | None) -> pl.DataFrame:
    """Returns numbers with their own uncertainty alone, without the size of a control.

    Args:
        measures: schema `MEASURES`.
        intervals: of the same cells (schema `INTERVALS`), where numbers beyond a control are
            against 0; without it nobody knows their own uncertainty.

    Returns:
        The same rows; of numbers beyond a control interval, p and standard error are those against
        0, null where they are not known.
    """
    columns = ("low", "high", "p", "se")
    with_control = pl.col("control").is_not_null()
    own = measures.with_columns(pl.when(~with_control).then(name).alias(name) for name in columns)
    if intervals is None or own.filter(with_control).is_empty():
        return own
    keys = ["model", "dataset", *ROW, "generalises_to"]
    renamed = (pl.col(name).name.suffix("_0") for name in columns)
    against_0 = intervals.filter(pl.col("control").is_null()).select(*keys, *renamed).unique(keys)
    joined = own.join(against_0, on=keys, how="left", nulls_equal=True, maintain_order="left")
    replaced = [
        pl.when(with_control).then(f"{name}_0").otherwise(name).alias(name) for name in columns
    ]
    return joined.with_columns(replaced).drop(f"{name}_0" for name in columns)
