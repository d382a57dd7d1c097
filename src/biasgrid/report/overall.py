"""What is claimed of a cell and of a model as a whole: one p, and which cells say nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl

from biasgrid.stats.multiplicity import simes
from biasgrid.tables.claims.counts import OUTCOME_MEASURES
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.measures import SIGNIFICANT
from biasgrid.tables.metric import NOT_MEASURABLE


class Overall(NamedTuple):
    """What is claimed of a model as a whole.

    Attributes:
        p: of there being anything at all behind its cells (Simes).
        datasets: how many of its datasets were tested.
    """

    p: float
    datasets: int

    @property
    def claim(self) -> str:
        """Says whether it is more than noise."""
        return "more than noise" if self.p <= SIGNIFICANT else "no more than noise"


def overall_of(lines: pl.DataFrame, tests: pl.DataFrame, facts: GridFacts) -> Overall | None:
    """Returns whether a model as a whole shows more than noise, from one p of each of its cells; None without tests.

    Args:
        lines: its rows of the summary that are neither withheld nor of controls.
        tests: its rows from `counted_tests`, likewise.
        facts: which measures are counted.
    """
    found = [
        p_of_cell(rows, tests.filter(dataset=dataset), facts.counted.get(dataset, {}))
        for (dataset,), rows in lines.filter("headline").group_by("dataset", maintain_order=True)
    ]
    known = [p for p in found if p is not None]
    return Overall(simes(known), len(known)) if known else None


def p_of_cell(headlines: pl.DataFrame, tests: pl.DataFrame, counted: Mapping[str, str]) -> float | None:
    """Returns the p of what is claimed of a cell, None where nothing was tested.

    It is the p of the headline where single subjects are tested against 0. Elsewhere the smallest q of tests that are
    corrected together is their p together (Simes), and those of several kinds and bias types are joined in the same
    way; with the p of headlines where nothing is tested one by one but how answers ended, as in probes.

    Args:
        headlines: the cell's headlines.
        tests: its rows from `counted_tests`.
        counted: the measures that are counted in the dataset, with the flags that put them in place of others.
    """
    is_of_flag = any(counted.get(measure) for measure in tests["measure"].unique())
    whole: float | None = next(iter(headlines.filter(pl.col("bias_type").is_null())["p"].drop_nulls()), None)
    # The headline's p is against 0, which is no question where a control says what words alone do.
    is_against_zero = tests["control"].is_null().all()
    if whole is not None and not is_of_flag and is_against_zero and tests["subject"].is_not_null().all():
        return whole
    kinds = tests.drop_nulls("q").group_by("measure", "options", "bias_type", maintain_order=True)
    smallest = kinds.agg(pl.col("q").min())["q"].to_list()
    if tests["measure"].is_in(OUTCOME_MEASURES).all():
        smallest += headlines["p"].drop_nulls().to_list()
    return simes(smallest) if smallest else None


def withheld_cells(lines: pl.DataFrame) -> dict[str, str]:
    """Returns the datasets whose headlines are withheld of a model, with the reasons."""
    flagged = lines.filter("headline", pl.col("flag").str.starts_with(NOT_MEASURABLE))
    rows = flagged.unique("dataset", keep="first", maintain_order=True)
    return {
        dataset: flag.removeprefix(f"{NOT_MEASURABLE}: ") for dataset, flag in rows.select("dataset", "flag").rows()
    }
