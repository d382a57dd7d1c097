"""The comparison of models against the numbers of an independent implementation."""

from __future__ import annotations

from functools import cache
from typing import Any

import polars as pl
import pytest
from golden_statistics import FOLDER, assert_golden, frames_of_golden, numbers_of, observations_of
from small_estimates import sums_of_cell

from biasgrid.stats.compare.all_pairs import ComparisonTables, compare_models
from biasgrid.stats.compare.cells import ComparedCell, compared_numbers
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import read_cell_sums

FAMILY = "biasgrid.families.underspecified"
pytestmark = [
    pytest.mark.family("the golden numbers are of associations"),
    pytest.mark.skipif(
        not (FOLDER / "comparison.json").is_file(), reason="no golden file comparison.json beside the repository"
    ),
]
MODELS = ["within", "within-other-model", "within-third-model"]


@cache
def cell(name: str) -> ComparedCell:
    options: dict[str, Any] = {"measures": []}
    settings = StatisticsSettings(clusters=frames_of_golden(numbers_of("within"), 3))
    sums = sums_of_cell("underspecified", observations_of(name), options)
    numbers, units = compared_numbers(FAMILY, read_cell_sums(FAMILY, sums, options)[0], options, settings)
    return ComparedCell(name, numbers, templates="the same", units=units)


@cache
def compared(count: int) -> ComparisonTables:
    return compare_models("golden", [cell(name) for name in MODELS[:count]], StatisticsSettings())


@pytest.fixture(autouse=True)
def with_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the golden implementation; see `statistics/test_golden.py`."""
    monkeypatch.setattr("biasgrid.stats.noise.variance.ROUNDING", 0.0)
    monkeypatch.setattr("biasgrid.stats.noise.variance.ROUNDING_OF_VALUE", 0.0)


def golden() -> dict[str, Any]:
    return numbers_of("comparison")


def test_differences_of_whole_cells() -> None:
    rows, numbers = compared(2).comparisons, golden()["within, within-other-model"]
    for measure in ("mu corrected", "eta corrected"):
        row = rows.filter(measure=measure.replace(" ", "_")).row(0, named=True)
        for column, number in numbers[measure].items():
            assert_golden(row[column], number, f"{measure}_{column}")
        assert (row["paired"], row["clusters"], row["tests"], row["reason"]) == (True, 3, 1, None)


def test_differences_of_associations() -> None:
    numbers = golden()["within, within-other-model"]["gamma"]
    keys = numbers_of("within")["associations"]["keys"]
    rows = compared(2).comparisons.filter(measure="gamma").drop_nulls("attribute")
    rows = (
        pl.DataFrame(keys).select("subject", "attribute").join(rows, on=["subject", "attribute"], maintain_order="left")
    )
    assert rows["tests"].unique().to_list() == [len(rows)] == [30]
    for column, name in {"difference": "difference", "low": "templates_low", "high": "templates_high"}.items():
        assert_golden(rows[column], numbers[name], name)
    for column in ("p", "q"):
        assert_golden(rows[column], numbers[f"templates_{column}"], f"templates_{column}")


def test_agreement_of_subjects() -> None:
    row = compared(2).agreement.row(0, named=True)
    numbers = golden()["within, within-other-model"]["agreement of gamma(x)"]
    for column, name in {"value": "spearman", "low": "low", "high": "high"}.items():
        assert_golden(row[column], numbers[name], name)
    assert row["n"] == 6


def test_ranks_of_models() -> None:
    numbers, found = golden()["ranks"], compared(3)
    rows = found.ranks.filter(measure="mu_corrected")
    assert rows["model"].to_list() == numbers["models"]
    assert_golden(rows["value"], numbers["corrected"], "corrected")
    for column in ("rank", "rank_low", "rank_high"):
        assert rows[column].to_list() == numbers[column]
    pairs = found.comparisons.filter(measure="mu_corrected")
    assert pairs.select("model", "other_model").rows() == [tuple(pair) for pair in numbers["pairs"]]
    for column in ("p", "q", "holm"):
        assert_golden(pairs[column], numbers[column], f"ranks_{column}")
