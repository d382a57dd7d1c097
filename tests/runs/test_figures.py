"""Which figures a grid has, and what each of them is about."""

import pytest
from project import ROOT

from biasgrid.config import Config, load_config
from biasgrid.report.figures.registry import GRID
from biasgrid.runs.layout import CONTROLS_FIGURE, SYNTHETIC_FIGURE, datasets_of_figure, figures_of


@pytest.fixture(scope="module")
def demo() -> Config:
    return load_config(ROOT / "config/demo.yaml")


def test_figures_of_the_grid_are_about_the_datasets_of_their_families(demo: Config) -> None:
    underspecified = ["gender", "nationality", "ethnicity", "religion", "placebo"]
    assert sorted(datasets_of_figure(demo, "intensity_mu")) == sorted(underspecified)
    assert datasets_of_figure(demo, "mark_table") == ["choices"]


@pytest.mark.parametrize("figure", [SYNTHETIC_FIGURE, CONTROLS_FIGURE])
def test_what_no_family_has_by_itself_is_about_all_datasets(demo: Config, figure: str) -> None:
    assert figure in figures_of(demo)[GRID]
    assert datasets_of_figure(demo, figure) == demo.run.datasets
