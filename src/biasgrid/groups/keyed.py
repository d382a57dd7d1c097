"""Makes records of tables (apart from `records`, which configs are read with, because polars loads slowly)."""

from __future__ import annotations

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.groups.records import Outputs, Records


def records_of(keys: pl.DataFrame, outputs: Outputs) -> Records:
    """Makes records of a table.

    Args:
        keys: of each record `case` and `template` (integers), and `bias_type`, `group` and `term` (names).
        outputs: what the model said, in the order of the table.
    """
    named = [coded(keys[name]) for name in ("bias_type", "group", "term")]
    (bias_type, bias_types), (group, groups), (term, terms) = named
    case, template = (keys[name].to_numpy().astype(np.int64) for name in ("case", "template"))
    return Records(case, template, bias_type, group, term, bias_types, groups, terms, outputs)


def coded(names: pl.Series) -> tuple[IntArray, list[str]]:
    """Returns names as indices into their distinct values, in the order of their first appearance."""
    distinct = names.cast(pl.String).unique(maintain_order=True)
    codes = names.cast(pl.Enum(distinct)).to_physical()
    return codes.to_numpy().astype(np.int64), distinct.to_list()
