"""Parts of a table of answers, such as the statements about a class, and sums of their values over templates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.groups.records import number_templates
from biasgrid.stats.shares import are_shares
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Finish, Sums, sum_units


@dataclass(frozen=True)
class TableParts:
    """The parts of a table.

    Attributes:
        keys: what each part is about, in the order in which they are met.
        number: shape (rows,), the part of each row of the table.
        template: shape (rows,), the place of each row's template.
        templates: the numbers of the templates, as text.
        repetitions: how often each statement was asked, which counts as one case.
    """

    keys: pl.DataFrame
    number: IntArray
    template: IntArray
    templates: Sequence[str]
    repetitions: int

    @classmethod
    def of(cls, table: pl.DataFrame, names: Sequence[str]) -> TableParts:
        """Divides a table by some of its columns; without any it is one part."""
        template, templates = number_templates(table["template"].to_numpy().astype(np.int64))
        repetitions = table["repetition"].n_unique()
        if not names:
            zeros = np.zeros(len(table), dtype=np.int64)
            return cls(pl.DataFrame({"options": [""]}), zeros, template, templates, repetitions)
        keys = table.select(names).unique(maintain_order=True)
        numbered = table.select(names).join(keys.with_row_index("number"), on=names, maintain_order="left")
        number = numbered["number"].to_numpy().astype(np.int64)
        return cls(keys.cast({pl.Categorical: pl.String}), number, template, templates, repetitions)

    def sums(self, values: FloatArray, concerned: BoolArray | None = None) -> tuple[FloatArray, IntArray]:
        """Returns sums and counts by part and template, and how many values each part lacks.

        Args:
            values: shape (rows,), NaN where there is none.
            concerned: shape (rows,), which rows are looked at; None for all.
        """
        looked_at = np.ones(len(values), dtype=np.bool_) if concerned is None else concerned
        along = sum_units(
            np.where(looked_at, values, np.nan), self.template, len(self.templates), self.number, len(self.keys)
        )
        missing = np.bincount(self.number[looked_at & np.isnan(values)], minlength=len(self.keys))
        return along.sums, missing

    def numbers(self, sums: FloatArray, missing: IntArray, finish: Finish = MEAN) -> Sums:
        """Returns the numbers of sums; parts that they are not about have none."""
        n = sums[..., 1::2].sum(axis=(1, 2)).astype(np.int64)
        keys = self.keys.with_columns(
            n=pl.Series(n), left_out=pl.Series(missing), cases=pl.Series(n / max(self.repetitions, 1))
        )
        there = n + missing > 0 if "bias_type" in keys.columns else np.ones(len(n), dtype=np.bool_)
        return Sums(keys.filter(pl.Series(there)), {TEMPLATES: Along(self.templates, sums[there])}, finish)

    def means(self, values: FloatArray, concerned: BoolArray | None = None) -> Sums:
        """Returns means of values, which are shares where all of these are 0 or 1; see `sums`."""
        numbers = self.numbers(*self.sums(values, concerned))
        looked_at = values if concerned is None else values[concerned]
        return replace(numbers, interval="effective Wilson") if are_shares(looked_at) else numbers
