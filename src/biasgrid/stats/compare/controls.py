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

from biasgrid.stats.shares import ShareWithInterval, ratio_of_shares
from biasgrid.tables.claims.numbers import is_size
from biasgrid.tables.measures import ROW, of_wholes
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
    def of(cls, row: Mapping[str, Any]) -> SizeWithInterval:
        """Takes it from a row of measures."""
        return cls(row["value"], row["low"], row["high"])


def sizes_beside_controls(
    measures: pl.DataFrame,
    headlines: Mapping[str, Mapping[str, str]],
    controls: Controls,
    silenced: Silenced = MappingProxyType({}),
) -> pl.DataFrame:
    """Sets the size of what is associated in each dataset beside that of its controls.

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
    wholes = (
        of_wholes(measures)
        .filter(pl.col("bias_type").is_null(), options="")
        .drop_nulls(["low", "high"])
    )
    sizes = {(row["model"], row["dataset"], row["measure"]): row for row in wholes.to_dicts()}
    fired = measures.drop_nulls("flag").select("model", "dataset", "measure").unique().rows()
    silent: dict[tuple[str, str], set[str]] = {}
    for model, dataset, flag in fired:
        silent.setdefault((model, dataset), set()).update(silenced.get(dataset, {}).get(flag, ()))
    lines = []
    for model, dataset, about, name in controls.pairs(cells):
        if about == dataset:
            continue
        of_both = silent.get((model, about), set()) | silent.get((model, dataset), set())
        known = [size for size in headlines.get(about, {}) if is_size(size) and size not in of_both]
        # Where a dataset has groups, these are what is claimed.
        chosen = sorted(known, key=lambda size: size not in OF_GROUPS)
        both = [
            (sizes.get((model, about, size)), sizes.get((model, dataset, size))) for size in chosen
        ]
        for one, other in [(one, other) for one, other in both if one and other][:1]:
            options = options_text(control=name, size=one["measure"])
            for compared in (control_difference, control_ratio):
                found = compared(SizeWithInterval.of(one), SizeWithInterval.of(other))
                lines.append((model, about, compared.__name__, options, *found, one["n"], 0))
    return pl.DataFrame(lines, schema=ROWS, orient="row")


def control_difference(one: SizeWithInterval, other: SizeWithInterval) -> SizeWithInterval:
    """Size of the associations of a dataset - size of those of its control, with its interval.

    The interval is made of those of both (MOVER; Zou and Donner, Statistics in Medicine 2008).
    """
    below, above = (
        hypot(one.value - one.low, other.high - other.value),
        hypot(one.high - one.value, other.value - other.low),
    )
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
    sides = (
        ShareWithInterval(*(np.array([max(end, 0.0)]) for end in side)) for side in (one, other)
    )
    low, high = (float(end[0]) for end in ratio_of_shares(*sides))
    return SizeWithInterval(
        max(one.value, 0.0) / other.value, low, high if isfinite(high) else None
    )


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
    ends = ("low", "high", "p", "se")
    keys = ["model", "dataset", *ROW, "generalises_to"]
    with_control = pl.col("control").is_not_null()
    own = measures.with_columns(pl.when(~with_control).then(name).alias(name) for name in ends)
    if intervals is None or own.filter(with_control).is_empty():
        return own
    renamed = (pl.col(name).name.suffix("_0") for name in ends)
    alone = intervals.filter(pl.col("control").is_null()).select(*keys, *renamed)
    joined = own.join(
        alone.unique(keys), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    return joined.with_columns(
        pl.when(with_control).then(f"{name}_0").otherwise(name).alias(name) for name in ends
    ).drop(f"{name}_0" for name in ends)
