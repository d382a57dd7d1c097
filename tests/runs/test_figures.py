"""Which figures a grid has, and what each of them is about."""

import pytest
from project import ROOT

from biasgrid.config import Config, load_config
from biasgrid.report.figures import GRID
from biasgrid.runs.figures import CONTROLS, PLANTED, drawn_in, figures_of


@pytest.fixture(scope="module")
def demo() -> Config:
    return load_config(ROOT / "config/demo.yaml")


def test_figures_of_the_grid_are_about_the_datasets_of_their_families(demo: Config) -> None:
    underspecified = ["gender", "nationality", "ethnicity", "religion", "placebo"]
    assert sorted(drawn_in(demo, "intensity_mu")) == sorted(underspecified)
    assert drawn_in(demo, "mark_table") == ["choices"]


@pytest.mark.parametrize("figure", [PLANTED, CONTROLS])
def test_what_no_family_has_by_itself_is_about_all_datasets(demo: Config, figure: str) -> None:
    assert figure in figures_of(demo)[GRID]
    assert drawn_in(demo, figure) == demo.run.datasets
