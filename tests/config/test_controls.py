"""Negative controls of a config, and the placebo lists that are shipped for them."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from documents import read_document
from project import ROOT
from small_config import GENERAL, faults_of
from small_tables import whole

from biasgrid.base.references import load, stage_module
from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.runs.layout import controls_of_config
from biasgrid.tables.metric import Controls

DOCUMENT = read_document("docs/controls.md")
PLACEBO_SUBJECTS = {
    "gender": ["one", "other"],
    "nationality": ["countries"],
    "ethnicity": ["peoples"],
    "religion": ["faiths"],
}


def with_controls(content: dict[str, Any], **controls: dict[str, Any]) -> dict[str, Any]:
    """A config with further datasets, all of which are run."""
    changed = deepcopy(content)
    changed["datasets"] |= controls
    changed["run"]["datasets"] = list(changed["datasets"])
    return changed


def control(**changes: Any) -> dict[str, Any]:
    return GENERAL["datasets"]["religion"] | {"control_of": "religion"} | changes


@pytest.mark.usefixtures("general")
@pytest.mark.parametrize(
    ("controls", "fault"),
    [
        (
            {"a": control(control_of="religon")},
            "unknown name 'religon' (did you mean 'religion'?); expected one of",
        ),
        (
            {"a": control(control_of="a")},
            "'a' is the dataset itself; expected a different dataset, one that is not a control",
        ),
        (
            {"a": control(), "b": control(control_of="a")},
            (
                "'a' is itself a control, of 'religion'; expected a different dataset, one that "
                "is not a control"
            ),
        ),
    ],
)
def test_a_control_is_of_another_dataset_of_its_family(
    controls: dict[str, Any], fault: str
) -> None:
    name = list(controls)[-1]
    told = [line for line in faults_of(with_controls(GENERAL, **controls)) if "control_of" in line]
    assert told == [
        line for line in told if line.startswith(f"c.yaml, datasets.{name}.control_of: ")
    ]
    assert fault in told[0]


def test_a_control_of_another_family_is_refused(general: Path) -> None:
    other = (
        Path("plugins/greetings.py").read_text().replace('name = "greetings"', 'name = "partings"')
    )
    (general / "plugins/partings.py").write_text(other)
    content = with_controls(GENERAL, a=control(family="partings"))
    content["plugins"] = [*GENERAL["plugins"], "plugins/partings.py"]
    (fault,) = faults_of(content)
    assert "'religion' is of the family 'greetings'; expected a dataset of the same family" in fault


@pytest.mark.usefixtures("general")
def test_the_controls_of_a_grid_run_with_their_datasets() -> None:
    content = with_controls(GENERAL, a=control(), b=control())
    content["models"]["chance"] = {
        "task": "text-generation",
        "kind": "LLM",
        "label": "chance",
        "random": {},
    }
    content["run"] = {"models": ["answers", "chance"], "datasets": ["religion", "a"]}
    assert controls_of_config(parse_config(content, "c.yaml")) == Controls(
        {"a": "religion"}, ["chance"]
    )
    content["run"]["datasets"] = ["a"]
    assert controls_of_config(parse_config(content, "c.yaml")).datasets == {}


@pytest.mark.family("our grids ask all five")
def test_placebo_lists_fit_the_templates_of_the_four_datasets() -> None:
    content = read_config(ROOT / "config/config.yaml") | {"word_lists": str(ROOT / "word_lists")}
    controls = {}
    for name, subjects in PLACEBO_SUBJECTS.items():
        dataset = content["datasets"][name] | {"control_of": name}
        of_subject_groups = (
            {"pronouns": {"one": "she", "other": "he"}} if len(subjects) == 2 else {}
        )
        lists = [f"subjects/placebo-{each}.txt" for each in subjects]
        controls[f"{name}-acts"] = dataset | {"attributes": "attributes/placebo.txt"}
        controls[f"{name}-names"] = dataset | {"subjects": lists} | of_subject_groups
    content["run"]["models"] = ["bertbase-lm", "bertbase-squad"]
    content = with_controls(content, **controls)
    content["run"]["datasets"] = list(controls)
    config = parse_config(content, "c.yaml")
    lists = load_word_lists(config)
    expand = load(stage_module(config.family_reference("gender"), "expand")).expand
    for name in PLACEBO_SUBJECTS:
        attributes = lists[f"{name}-acts", "qa"].attributes
        assert min(len(rows) for rows in attributes.values()) >= 20, name
        assert min(len(each.groups) for each in lists[f"{name}-names", "qa"].subjects) >= 10, name
    one = whole(expand(lists["religion-names", "qa"]))
    assert one["text_pair"].cast(pl.String)[0].count("Avrenic") == 1


@pytest.mark.family("our grids ask all five")
@pytest.mark.parametrize(
    ("file", "count"), [("config", 4), ("llm", 8), ("fairness", 6), ("assess", 1)]
)
def test_every_shipped_dataset_has_a_control_that_the_same_models_answer(
    file: str, count: int
) -> None:
    content = read_config(ROOT / f"config/{file}.yaml") | {"word_lists": str(ROOT / "word_lists")}
    content["run"]["datasets"] = list(content["datasets"])
    config = parse_config(content, file)
    controls = controls_of_config(config).datasets
    measured = [name for name in config.datasets if name not in controls]
    assert sorted(controls.values()) == sorted(measured)
    assert len(measured) == count
    for name, of in controls.items():
        assert [model for model, dataset in config.cells() if dataset == name] == [
            model for model, dataset in config.cells() if dataset == of
        ]
    assert {dataset for dataset, _ in load_word_lists(config)} == set(config.datasets)


@pytest.mark.family("our grids ask all five")
@pytest.mark.parametrize(
    ("name", "of", "model"),
    [
        ("sentiment-placebo", "fairness", "distilbert-sst2"),
        ("race-statements-placebo", "llm", "gpt2"),
    ],
)
def test_the_placebo_terms_that_are_shown_fit_the_packs(name: str, of: str, model: str) -> None:
    content = read_config(ROOT / f"config/{of}.yaml") | {"word_lists": str(ROOT / "word_lists")}
    blocks = [
        yaml.safe_load(block)
        for block in re.findall(r"```yaml\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    ]
    (shown,) = (block["datasets"][name] for block in blocks if name in block.get("datasets", {}))
    content["datasets"][name] = shown | {"sample": "all"}
    content["run"] = {"models": [model], "datasets": [shown["control_of"], name]}
    config = parse_config(content, "c.yaml")
    assert controls_of_config(config).datasets == {name: shown["control_of"]}
    assert {dataset for dataset, _ in load_word_lists(config)} == {name, shown["control_of"]}
