"""Public benchmarks through Snakemake, with our own items: models of each kind, and biases that are
known.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from parsed_page import Page
from project import ROOT, Project
from shared import made_once
from small_items import item_files
from transformers import (
    AutoModelForMultipleChoice,
    AutoModelForQuestionAnswering,
    AutoTokenizer,
    set_seed,
)

import biasgrid
from biasgrid.families.multiple_choice.items import AMBIGUOUS, Item
from biasgrid.families.multiple_choice.read import read
from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.training.tiny import make_base_checkpoint

ITEMS = ROOT / "word_lists/benchmarks"
TEMPLATES = 6
CATEGORIES = ["Age", "Gender_identity (names)"]
STRENGTH = 0.6
HEADS = {"qa": AutoModelForQuestionAnswering, "head": AutoModelForMultipleChoice}
"""Models with random weights."""
TRAINING = {"epochs": 24, "batch_size": 16, "learning_rate": 0.004, "max_length": 96}
CONFIG: dict[str, Any] = {
    "title": "Public benchmarks",
    "inference": {"device": "cpu"},
    # Spans of random weights name nobody for the most part.
    "validity": {"no_option": 1},
    "synthetic": {"strengths": {"strong": STRENGTH}, "repeats": 20, "seed": 3},
    "models": {
        "strong": {
            "task": "text-generation",
            "kind": "LLM",
            "label": "strong",
            "train": {"synthetic": "strong", "hyperparameters": TRAINING},
        },
        "qa": {"task": "question-answering", "kind": "QA", "label": "spans", "folder": "models/qa"},
        "squad": {
            "task": "question-answering",
            "kind": "QA",
            "label": "or none",
            "folder": "models/qa",
            "no_answer": True,
        },
        "head": {
            "task": "multiple-choice",
            "kind": "Head",
            "label": "head",
            "folder": "models/head",
        },
        "published": {
            "task": "text-generation",
            "kind": "Answers",
            "label": "published",
            "answers": "answers.jsonl",
        },
    },
    "datasets": {
        "items": {
            "family": "multiple_choice",
            "title": "Own items",
            "layout": "bbq",
            "files": ["benchmarks"],
            "orders": "file",
            "sample": "all",
        },
        "decisions": {
            "family": "decision",
            "title": "Decisions",
            "file": "decisions/own.jsonl",
            "sample": "all",
        },
    },
}
CONFIG["run"] = {name: [*CONFIG[name]] for name in ("models", "datasets")}


def chosen_option(item: Item) -> int:
    """Which option the published answers name, by template: 3 of 6 lean to the stereotype, 1 to the
    other person.
    """
    template, target = (int(item.template) - 1) % TEMPLATES, item.target
    assert target is not None
    other = 3 - target - item.unknown
    if item.condition == AMBIGUOUS:
        return [target, target, target, item.unknown, item.unknown, other][template]
    return {0: target, TEMPLATES - 1: item.unknown}.get(template, item.label)


PUBLISHED = {
    "bias_ambiguous": (3 - 1) / 6,
    "accuracy_ambiguous": 2 / 6,
    "unknown_ambiguous": 2 / 6,
    "error_alignment": 3 / 4,
    "bias_disambiguated": 1 / 5,
    "accuracy_disambiguated": 4.5 / 6,
    "unknown_disambiguated": 1 / 6,
    "nonalignment_cost": -1 / 6,
    "coverage": 1,
}
"""The numbers of these answers."""


def make_grid(folder: Path) -> None:
    project = Project.create(folder, CONFIG)
    make_base_checkpoint(
        [file.read_text() for file in ITEMS.glob("*.jsonl")], folder / "models/base", seed=1
    )
    for name, head in HEADS.items():
        set_seed(3)
        head.from_pretrained(folder / "models/base").save_pretrained(folder / "models" / name)
        AutoTokenizer.from_pretrained(folder / "models/base").save_pretrained(
            folder / "models" / name
        )
    items = {item.name: item for item in read(item_files([ITEMS]))[0].items}
    answered = []
    for file in sorted(ITEMS.glob("*.jsonl")):
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        named = [items[f"{row['category']} {row['example_id']}"] for row in rows]
        answers = [
            {**row, "said": f"{item.options[chosen_option(item)]}."}
            for row, item in zip(rows, named, strict=True)
        ]
        answered.append(f"preds_{file.name}")
        (folder / answered[-1]).write_text("".join(f"{json.dumps(row)}\n" for row in answers))
    imported = project.told(
        "import", "bbq", *answered, "--column", "said", "--out", "answers.jsonl"
    )
    assert imported.output == "answers.jsonl: 192 answers\n"
    (folder / "printed").write_text(project.run())


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(made_once(tmp_path_factory, "public-benchmarks", make_grid))


@pytest.fixture(scope="module")
def page(grid: Project) -> Page:
    return Page((grid.results / "report/index.html").read_text())


def numbers_of(grid: Project, dataset: str, model: str) -> pl.DataFrame:
    """The numbers of a cell as a whole, by category and by pairs of groups, and why they have no
    value.
    """
    measures = pl.read_parquet(grid.results / f"measures/{dataset}/{model}.parquet").cast(
        {pl.Categorical: pl.String}
    )
    others = [name for name in MEASURE_KEYS if name not in ("bias_type", "group", "other")]
    return measures.filter(*(pl.col(name).is_null() for name in others), options="")


def values_of(grid: Project, model: str, category: str) -> dict[str, float | None]:
    rows = numbers_of(grid, "items", model).filter(pl.col("group").is_null(), bias_type=category)
    return dict(rows.select("measure", "value").iter_rows())


def test_each_kind_of_model_is_asked_what_it_can_answer(grid: Project) -> None:
    cells = {(path.parent.name, path.stem) for path in grid.results.glob("measures/*/*.parquet")}
    assert cells == {*(("items", model) for model in CONFIG["models"]), ("decisions", "strong")}
    tables = {path.stem for path in grid.results.glob("instances/*/*.parquet")}
    assert tables == {"scored", "spans", "options", "precomputed", "decisions"}
    assert (
        "published: not asked decisions, because there is no probability of Yes in written texts"
        in (grid.folder / "printed").read_text()
    )


@pytest.mark.parametrize("category", CATEGORIES)
def test_the_numbers_of_published_answers_are_found(grid: Project, category: str) -> None:
    found = values_of(grid, "published", category)
    assert {name: found[name] for name in PUBLISHED} == pytest.approx(PUBLISHED)


def test_what_is_synthetic_is_found(grid: Project) -> None:
    synthetic = pl.read_parquet(grid.results / "synthetic/items/synthetic.parquet").cast(
        {pl.Categorical: pl.String}
    )
    assert {*synthetic["bias_type"]} == {*CATEGORIES}
    for measure, category, value in synthetic.select("measure", "bias_type", "value").iter_rows():
        assert values_of(grid, "strong", category)[measure] == pytest.approx(value, abs=0.1), (
            measure,
            category,
        )
    for category in CATEGORIES:
        found = values_of(grid, "strong", category)
        assert found["bias_ambiguous"] == pytest.approx(STRENGTH, abs=0.1)
        assert (
            found["accuracy_ambiguous"]
            == found["unknown_ambiguous"]
            == pytest.approx(1 - STRENGTH, abs=0.1)
        )
        # It always names somebody where the context says whom, half of the time the other one than
        # the stereotype.
        assert found["unknown_disambiguated"] == pytest.approx(0, abs=0.05)
        assert found["accuracy_disambiguated"] == pytest.approx(1 - STRENGTH / 2, abs=0.1)
    tested = numbers_of(grid, "items", "strong").filter(
        pl.col("group").is_null(), measure="bias_ambiguous"
    )
    assert tested["q"].max() < 0.05


def test_differences_of_decisions_are_found(grid: Project) -> None:
    keys = ["measure", "bias_type", "group", "other"]
    synthetic = pl.read_parquet(grid.results / "synthetic/decisions/synthetic.parquet").cast(
        {pl.Categorical: pl.String}
    )
    found = numbers_of(grid, "decisions", "strong").join(
        synthetic.select(*keys, known="value"), on=keys, nulls_equal=True
    )
    assert len(found) == len(synthetic) == 3 + 2 + 3 + 2
    for row in found.to_dicts():
        assert row["value"] == pytest.approx(row["known"], abs=0.2), row
    differences = found.filter(measure="decision_difference")
    assert differences["known"].abs().min() > 0.3
    assert differences["q"].max() < 0.01
    assert found.filter(measure="age_slope")["q"].item() > 0.05


def test_a_difference_of_decisions_is_next_to_both_shares_of_yes(grid: Project, page: Page) -> None:
    (row,) = biasgrid.open(grid.results).verdicts().filter(dataset="decisions").to_dicts()
    assert row["measure"] == "decision_difference"
    shares = numbers_of(grid, "decisions", "strong").filter(
        measure="yes_share", bias_type=row["bias_type"]
    )
    yes = dict(shares.select("group", "value").iter_rows())
    assert (row["rate"], row["other_rate"]) == (yes[row["group"]], yes[row["other"]])
    said = " ".join(
        tile.get("said", "") for tile in page.blocks["core"]["screen"]["tiles"]["strong/decisions"]
    )
    assert (
        f"That is, {100 * row['rate']:.1f} % against {100 * row['other_rate']:.1f} % Yes." in said
    )


def test_what_a_model_cannot_say_has_a_reason_in_place_of_a_value(grid: Project) -> None:
    rows = numbers_of(grid, "items", "qa").filter(bias_type="Age", measure="accuracy_ambiguous")
    assert rows.select("value", "reason").row(0) == (
        None,
        "the model has no answer `unknown`: it finds its answers in the context",
    )
    assert values_of(grid, "head", "Age")["accuracy_ambiguous"] is not None
    assert values_of(grid, "squad", "Age")["accuracy_ambiguous"] is not None
    preferences = numbers_of(grid, "items", "qa").filter(
        bias_type="Age", measure="preference_ambiguous"
    )
    assert preferences["value"].to_list() == [None]
    assert (
        preferences["reason"]
        .item()
        .startswith("not measurable: right answers in disambiguated contexts are not more")
    )


def test_the_page_has_boxes_tables_and_sentences(grid: Project, page: Page) -> None:
    for cell in ("strong/items", "published/items", "head/items", "strong/decisions"):
        assert page.blocks[f"evidence/{cell}"], cell
    for heading in (
        "Questions with options",
        "Decisions about people",
        "gender",
        "race",
        *CATEGORIES,
    ):
        assert heading in page.text
    assert "nothing could be measured" not in page.text
    assert (grid.results / "plots/items/bias_and_accuracy.svg").exists()


def test_commands_show_numbers_and_what_is_behind_them(grid: Project) -> None:
    lines = {
        "explain results --dataset items --model strong --bias-type Age": "bias_ambiguous over all 48 is",
        "explain results --dataset items --model qa --bias-type Age": "which has no value in the table (not measurable",
        (
            "explain results --dataset decisions --model strong --bias-type race --group Black "
            "--other white"
        ): "8 of 8",
        (
            "explain results --dataset decisions --model strong --bias-type race --group white "
            "--other Black"
        ): "as in the",
        "preview config/small.yaml --dataset items --model published": "grandfather",
        "preview config/small.yaml --dataset decisions --model strong": "Should the",
        "status config/small.yaml": "6/6 done",
        "summary results": "decisions  strong",
    }
    for line, expected in lines.items():
        shown = grid.told(*shlex.split(line))
        assert (shown.exit_code, expected in shown.output) == (0, True), (line, shown.output)


def test_other_answers_ask_no_model_again(grid: Project, tmp_path: Path) -> None:
    project = grid.clone(tmp_path / "clone")
    answers = project.folder / "answers.jsonl"
    answers.write_text(answers.read_text().replace("The grandfather.", "The grandson.", 1))
    planned = project.planned()
    assert (planned["predict"], planned["measure"]) == (1, 1)
    assert "train" not in planned
