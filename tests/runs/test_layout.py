from pathlib import Path

import pytest
from project import ROOT
from small_grid import read_grid, write_general_grid

from biasgrid.config import Config, load_config
from biasgrid.report.figures.registry import GRID
from biasgrid.runs.layout import (
    SYNTHETIC_FIGURE,
    Layout,
    figure_datasets,
    figure_references,
)


def test_the_files_of_a_cell_lie_where_the_rules_put_them(tmp_path: Path) -> None:
    layout = Layout(read_grid(write_general_grid(tmp_path, results="out")))
    second = layout.shards("people", "one")[1]
    assert second.predictions == Path("out/predictions/people/one/2-of-2.parquet")
    assert second.timing == Path("out/timings/people/one/2-of-2.json")
    assert second.progress == Path("out/.answers/people/one/2-of-2.json")
    assert second.log == Path("out/logs/predict/people/one/2-of-2.log")
    assert layout.instances_of_cell("people", "one") == Path("out/instances/people/texts.parquet")


@pytest.fixture(scope="module")
def demo() -> Config:
    return load_config(ROOT / "config/demo-full.yaml")


@pytest.mark.family("the demo asks all five")
def test_figures_of_the_grid_are_about_the_datasets_of_their_families(demo: Config) -> None:
    underspecified = ["gender", "nationality", "ethnicity", "religion", "placebo"]
    assert sorted(figure_datasets(demo, "intensity_mu")) == sorted(underspecified)
    assert figure_datasets(demo, "mark_table") == ["choices"]


@pytest.mark.family("the demo asks all five")
def test_the_figure_of_known_effects_is_about_all_datasets(demo: Config) -> None:
    assert SYNTHETIC_FIGURE in figure_references(demo)[GRID]
    assert figure_datasets(demo, SYNTHETIC_FIGURE) == demo.run.datasets
