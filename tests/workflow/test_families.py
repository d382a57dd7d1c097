"""What all families share, asked of the demo: reports and commands have each, and no model is asked
twice.
"""

import shlex
from pathlib import Path

import polars as pl
import pytest
from parsed_page import Page
from project import Project

from biasgrid.config import parse_config
from biasgrid.config.registry import BUILT_IN
from biasgrid.tables.measures import SUMMARY

CONFIG = "config/demo.yaml"
NUMBERS = {
    "gender": "--model strong-qa --subject Linda --attribute 'was an accountant'",
    "placebo": "--model none-lm --subject Brovel --attribute 'sat in the second row'",
    "sentiment": "--model strong-sentiment --bias-type religion --group muslim",
    "entailment": "--model strong-entailment --bias-type gender --group female",
    "statements": "--model strong-llm --bias-type gender --group female",
    "choices": "--model strong-llm --measure stereotype_rate",
    "talk": "--model strong-llm --bias-type gender --group female --other male",
}
"""A number of each dataset, as `explain` is asked for it."""
PROBE = "word_lists/demo/choices.yaml"
BENCHMARKS = {"multiple_choice", "decision", "pairs"}
"""Families of public sets, which are no part of the demo."""


def output(project: Project, line: str) -> str:
    run = project.told(*shlex.split(line))
    assert (run.exit_code, run.stderr) == (0, "")
    return run.stdout


@pytest.fixture(scope="session")
def page(demo: Project) -> Page:
    return Page((demo.results / "report/index.html").read_text())


def test_each_model_answers_the_datasets_that_fit(demo: Project) -> None:
    grid = parse_config(demo.read_config(), CONFIG)
    cells = {(path.stem, path.parent.name) for path in demo.results.glob("measures/*/*.parquet")}
    assert cells == {*grid.cells()}
    assert {grid.family(dataset).name for _, dataset in cells} == {*BUILT_IN.families} - BENCHMARKS


def test_each_cell_has_a_headline_with_an_interval(demo: Project) -> None:
    summary = pl.read_parquet(demo.results / "summary.parquet").cast(
        {"model": pl.String, "dataset": pl.String}
    )
    headlines = summary.filter("headline").drop_nulls(["value", "low", "high"])
    assert {*headlines.select("model", "dataset").iter_rows()} == {
        *parse_config(demo.read_config(), CONFIG).cells()
    }
    assert [*summary.columns] == [*SUMMARY.columns]


def test_the_report_has_the_sentences_behind_each_cell(demo: Project, page: Page) -> None:
    assert "Content warning" in page.text
    for model, dataset in parse_config(demo.read_config(), CONFIG).cells():
        assert page.blocks[f"evidence/{model}/{dataset}"], (model, dataset)


@pytest.mark.parametrize("dataset", NUMBERS)
def test_commands_show_each_dataset(demo: Project, dataset: str) -> None:
    model = shlex.split(NUMBERS[dataset])[1]
    assert "as in the table" in output(
        demo, f"explain results/demo --dataset {dataset} {NUMBERS[dataset]}"
    )
    assert output(demo, f"preview {CONFIG} --dataset {dataset} --model {model}")


@pytest.mark.parametrize("dataset", ["gender", "sentiment", "statements", "choices"])
def test_models_are_compared_on_each_dataset_of_a_family_that_compares(
    demo: Project, dataset: str
) -> None:
    kind = shlex.split(NUMBERS[dataset])[1].partition("-")[2]
    line = f"compare results/demo strong-{kind} none-{kind} --dataset {dataset}"
    assert f"{dataset}: strong-{kind} less none-{kind}" in output(demo, line)


def test_commands_show_the_grid(demo: Project) -> None:
    assert "22 cells" in output(demo, f"validate {CONFIG}")
    assert "22/22 done" in output(demo, f"status {CONFIG}")
    for line in (f"plan {CONFIG}", "summary results/demo"):
        shown = output(demo, line)
        assert [dataset for dataset in NUMBERS if dataset not in shown] == []


def test_other_thresholds_ask_no_model_again(demo: Project, tmp_path: Path) -> None:
    project = demo.clone(tmp_path / "clone")
    config = project.read_config()
    thresholds = {
        "sentiment": "failure_threshold",
        "statements": "failure_threshold",
        "talk": "threshold",
    }
    for dataset, key in thresholds.items():
        config["datasets"][dataset][key] = 0.33
    project.write_config(config)
    planned = project.planned()
    assert planned["measure"] == planned["statistics"] == 2 * len(thresholds)
    assert planned.keys() == {
        "measure",
        "statistics",
        "compare",
        "plot",
        "summary",
        "report",
        "manifest",
    }


def test_other_ranges_of_marks_measure_nothing_again(demo: Project, tmp_path: Path) -> None:
    project = demo.clone(tmp_path / "clone")
    file = project.folder / PROBE
    file.write_text(file.read_text().replace("0.65, 0.8", "0.7, 0.8"))
    assert project.planned().keys() == {"compare", "plot", "summary", "report", "manifest"}


def test_other_words_of_groups_are_asked_anew(demo: Project, tmp_path: Path) -> None:
    project = demo.clone(tmp_path / "clone")
    groups = project.folder / "word_lists/rewriting/gender.yaml"
    groups.write_text(groups.read_text().replace("brother", "stepbrother"))
    planned = project.planned("results/demo/measures/talk/none-llm.parquet")
    assert (planned["expand"], planned["predict"]) == (1, 1)
