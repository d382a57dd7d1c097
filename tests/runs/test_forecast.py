"""How sure numbers will be, from what finished cells tell or from what is assumed."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from small_grid import read_grid, write_grid
from small_measures import measures_of, table_of

from biasgrid.config import Config, load_word_lists
from biasgrid.runs.forecast import ASSUMED, Forecast, forecast_intervals
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import MachineRate, make_plan
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import DESIGN, MEASURES

pytestmark = pytest.mark.family("associations have the variances that a forecast reads")


@pytest.fixture
def grid(tmp_path: Path) -> Config:
    return read_grid(write_grid(tmp_path))


def looked(grid: Config, width: float | None = None) -> Forecast:
    """What is told of the dataset of people, as the model `one` is asked."""
    lists = load_word_lists(grid)
    found = forecast_intervals(
        grid, lists, make_plan(grid, lists, MachineRate(rows_per_second=12)), width
    )
    return next(each for each in found if (each.dataset, each.variant) == ("people", "qa"))


def finish(grid: Config, measures: list[dict[str, object]], variances: dict[str, float]) -> None:
    """Writes what the measures of a cell of people tell."""
    shared = {"model": "one", "dataset": "people"}
    rows = measures_of(measures, **shared, generalises_to="clusters", method="t")
    named = [{"name": name, "value": value} for name, value in variances.items()]
    tables = {"measures": rows, "design": table_of(DESIGN, named, **shared)}
    for name, table in tables.items():
        path: Path = getattr(Layout(grid), name)("people", "one")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_table(table, path, {"measures": MEASURES, "design": DESIGN}[name], {})


def test_of_a_grid_that_was_never_run_it_says_what_it_assumes(grid: Config) -> None:
    told = looked(grid)
    assert (told.cells, told.clusters) == (0, 2)
    whole, third = told.steps[:2]
    # Two clusters that differ by ASSUMED, with one degree of freedom.
    assert whole.width.value == pytest.approx(2 * 12.706 * ASSUMED / math.sqrt(2), rel=1e-4)
    assert whole.width.exact is False
    assert third.width.value == pytest.approx(whole.width.value / math.sqrt(0.3), rel=1e-9)
    assert third.instances.value == pytest.approx(0.3 * 144)
    models = sum(
        cell.dataset == "people" and cell.variant == "qa"
        for cell in make_plan(grid, load_word_lists(grid), MachineRate()).cells
    )
    assert whole.seconds.value == pytest.approx(models * 144 / 12)


def test_finished_cells_improve_the_forecast(grid: Config) -> None:
    association = {
        "measure": "gamma",
        "subject": "Ann",
        "attribute": "cook",
        "value": 0.1,
        "se": 0.02,
        "df": 9.0,
    }
    sources = {
        "subject": 0.02,
        "association": -0.01,
        "pair": 0.01,
        "noise_sd": 0.1,
        "prior_df": 8.0,
    }
    finish(grid, [association | {"clusters": 2, "n": 40}], sources)
    told = looked(grid, 0.4)
    assert (told.number, told.cells, told.clusters) == ("an association", 1, 2)
    assert told.steps[0].width.value == pytest.approx(2 * 2.2622 * 0.1 / math.sqrt(2), rel=1e-4)
    tenth = 2 * 2.2622 * math.sqrt(0.1**2 / 2 + 0.02 * (1 / 4 - 1 / 40))
    assert told.steps[2].width.value == pytest.approx(tenth, rel=1e-4)
    # Of 1 % there is less than one swap group in each cluster.
    assert told.steps[-1].width.value is None
    assert told.wanted is not None
    assert 0.1 < told.wanted < 1


def test_a_width_that_clusters_forbid_is_reported_with_how_many_would_do(grid: Config) -> None:
    row = {"measure": "delta", "value": 0.1, "se": 0.05, "df": 1.0, "clusters": 2, "n": 40}
    finish(grid, [row], {"pair": 0.1})
    told = looked(grid, 0.1)
    assert (told.number, told.wanted) == ("delta", None)
    assert told.clusters_wanted is not None
    assert told.clusters_wanted > 2


def test_cells_without_intervals_say_nothing(grid: Config) -> None:
    row = {"measure": "delta", "value": 0.1, "clusters": 1, "n": 40, "se": None, "df": None}
    finish(grid, [row], {"pair": 0.1})
    assert looked(grid).cells == 0
