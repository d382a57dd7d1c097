"""What the rules of tables and pages are given."""

from __future__ import annotations

import pytest
from project import ROOT
from small_grid import inputs_of, job

from biasgrid.config import load_config
from biasgrid.report.figures.registry import GRID
from biasgrid.runs.inputs.pages import PageInputs
from biasgrid.tables.metric import NO_CONTROLS

pytestmark = pytest.mark.family("the demo asks all five")

OF_GRID, GENDER = job(of=GRID), job(of="gender")


@pytest.fixture(scope="module")
def pages() -> PageInputs:
    """The demo, which has a control, synthetic bias and datasets of all families."""
    return PageInputs(
        inputs_of(load_config(ROOT / "config/demo-full.yaml"), with_lists=True),
        "config/demo-full.yaml",
    )


def test_a_dataset_is_compared_over_the_models_that_fit(pages: PageInputs) -> None:
    models = pages.dataset_models(job(dataset="gender"))
    assert models == [model for model in pages.grid.run.models if pages.grid.fits(model, "gender")]
    assert models != pages.grid.run.models
    assert pages.dataset_marks(job(dataset="gender")) == pages.summary_marks(job()).get(
        "gender", {}
    )
    assert set(pages.headlines()) == set(pages.grid.run.datasets)


def test_figures_of_the_grid_are_about_all_datasets_and_others_about_one(pages: PageInputs) -> None:
    of_grid, of_gender = (
        pages.figure_files(pages.layout.measures)(OF_GRID),
        pages.inputs.of_cells(pages.layout.measures, "gender"),
    )
    assert of_grid == pages.inputs.of_cells(pages.layout.measures)
    assert pages.figure_files(pages.layout.measures)(GENDER) == of_gender
    assert set(pages.figure_titles(OF_GRID)) == set(pages.grid.run.datasets)
    assert pages.figure_titles(GENDER) == {"gender": pages.grid.datasets["gender"].title}
    assert set(pages.figure_models(GENDER)) == set(pages.dataset_models(job(dataset="gender")))
    assert set(pages.figure_models(OF_GRID)) == set(pages.grid.run.models)


def test_known_effects_ranks_and_controls_are_in_figures_of_the_grid_alone(
    pages: PageInputs,
) -> None:
    assert pages.figure_effects(OF_GRID) == pages.inputs.synthetic_tables()
    assert pages.figure_ranks(OF_GRID) == pages.inputs.of_datasets(pages.layout.ranks)
    assert pages.figure_controls(OF_GRID).datasets == {
        "placebo": pages.grid.datasets["placebo"].control_of
    }
    assert pages.figure_strengths(OF_GRID)["gender"]["weak-qa"] == "weak"
    assert (
        pages.figure_effects(GENDER),
        pages.figure_ranks(GENDER),
        pages.figure_strengths(GENDER),
    ) == ([], [], {})
    assert pages.figure_controls(GENDER) == NO_CONTROLS


def test_templates_and_their_associations_are_in_figures_of_one_dataset_alone(
    pages: PageInputs,
) -> None:
    assert pages.figure_templates(OF_GRID) == []
    assert pages.figure_parts(OF_GRID) == []
    assert pages.figure_templates(GENDER)
    assert pages.figure_parts(GENDER) == pages.inputs.of_cells(
        pages.layout.evidence_parts, "gender"
    )


def test_each_folder_has_the_digest_of_its_own_figures(pages: PageInputs) -> None:
    assert pages.figure_folders() == [pages.layout.figures(of) for of in pages.figures]
    assert GRID in pages.figures
    assert pages.figure_references(GENDER) == pages.figures["gender"]
    assert pages.figure_datasets(GENDER) == {name: ["gender"] for name in pages.figures["gender"]}
    assert pages.figure_datasets(OF_GRID)["mark_table"] == ["choices"]
    codes = {of: pages.figure_code(job(of=of)) for of in pages.figures}
    assert codes["gender"] != codes[GRID]
    assert pages.report_code(job()) not in codes.values()


def test_marks_and_sections_match_the_datasets_of_a_figure(pages: PageInputs) -> None:
    assert pages.figure_marks(job(of="choices")).keys() == {"choices"}
    assert pages.figure_marks(OF_GRID) == pages.summary_marks(job())
    assert "gender" not in pages.figure_sections(GENDER)
    assert pages.figure_threshold(OF_GRID) is None


def test_a_table_says_how_a_model_is_scored_where_one_can_choose(pages: PageInputs) -> None:
    models = pages.models(pages.grid.run.datasets)
    assert models["weak-qa"]["scoring"]["gender"] == "exact"
    assert models["weak-qa"]["label"] == "weak"


def test_the_report_has_facts_of_all_that_is_selected(pages: PageInputs) -> None:
    facts = pages.report_params(job())
    assert list(facts["datasets"]) == pages.grid.run.datasets
    assert list(facts["models"]) == pages.grid.run.models
    assert facts["models"]["weak-qa"] == {
        "kind": "QA",
        "label": "weak",
        "task": "question-answering",
    }
    assert facts["datasets"]["gender"]["templates"] == pages.figure_templates(GENDER)
    assert (facts["config"], facts["title"]) == ("config/demo-full.yaml", "The full demo grid")
    config = pages.config_params(job())
    assert config["name"] == "config/demo-full.yaml"
    assert (config["folders"], config["command_line_keys"]) == (["config"], [])
    assert pages.title(job()) == "The full demo grid"


def test_datasets_of_one_title_are_distinguished_by_their_names() -> None:
    grid = load_config(ROOT / "config/demo.yaml")
    for name in ("gender", "placebo"):
        grid.datasets[name] = grid.datasets[name].model_copy(update={"title": "People"})
    titles = PageInputs(inputs_of(grid), "config/demo.yaml").figure_titles(OF_GRID)
    assert (titles["gender"], titles["placebo"]) == ("People (gender)", "People (placebo)")
    assert titles["sentiment"] == grid.datasets["sentiment"].title
