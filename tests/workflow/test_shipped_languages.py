"""The datasets in German and Spanish through Snakemake, with tiny models of each task in place of
those on the hub.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from project import ROOT, Project
from shared import made_once
from tiny_checkpoints import save_classifier, save_models_of_lists
from tiny_writers import CHAT_TEMPLATE, save_writer

from biasgrid.config import parse_config, read_config

CONTENT = read_config(ROOT / "config/people.yaml")
LANGUAGES = ("de", "es")
DATASETS = [
    f"{name}-{language}"
    for language in LANGUAGES
    for name in ("gender", "sentiment", "hiring-gender")
]
LABELS = ["negative", "neutral", "positive"]
CELLS = [
    (model, f"{name}-{language}")
    for name, model in (("gender", "lm"), ("sentiment", "classifier"), ("hiring-gender", "writer"))
    for language in LANGUAGES
]
"""Model and dataset of the cells that are measured; how names are asked of other models has tests
of its own.
"""
UNITS = {"underspecified": 60, "counterfactual": 24, "probe": 4}
ANSWERS = {"de": ("Ja", "Nein"), "es": ("Sí", "No")}


def small_section(name: str) -> dict[str, Any]:
    section: dict[str, Any] = dict(CONTENT["datasets"][name])
    section["sample"] = {"units": UNITS[section.get("family", "underspecified")], "seed": 1}
    if "variants" in section:
        llm = dict(section["variants"]["llm"], sample={"units": 60, "seed": 1})
        section["variants"] = section["variants"] | {"llm": llm}
    return section


def make(folder: Path) -> None:
    texts = [
        file for language in LANGUAGES for file in (ROOT / "word_lists" / language).rglob("*.*")
    ]
    # The config has the pronouns.
    save_models_of_lists([*texts, ROOT / "config/people.yaml"], folder / "made")
    save_classifier(folder / "made/classifier", folder / "made/lm", LABELS)
    save_writer(folder / "made/writer", "llama", CHAT_TEMPLATE, positions=1024)
    models = {
        "lm": {"task": "fill-mask", "variant": "lm-mbert"},
        "qa": {"task": "question-answering", "variant": "qa"},
        "classifier": {"task": "text-classification", "labels": {label: label for label in LABELS}},
        "writer": {"task": "text-generation", "variant": "llm"},
    }
    config = {
        "title": "Languages",
        "results": "results/languages",
        "tokenizers": {"mbert": {"mask": "[MASK]", "folder": str(folder / "made/lm")}},
        "models": {
            name: {"kind": "Tiny", "label": name, "folder": str(folder / "made" / name)} | entry
            for name, entry in models.items()
        },
        "datasets": {name: small_section(name) for name in DATASETS},
        "run": {"models": [*models], "datasets": DATASETS},
    }
    project = Project.create(folder / "project", config)
    project.run(
        "--", *(f"results/languages/measures/{dataset}/{model}.parquet" for model, dataset in CELLS)
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(made_once(tmp_path_factory, "shipped-languages", make) / "project")


def test_each_cell_has_numbers_of_its_own(run: Project) -> None:
    assert {*CELLS} < {*parse_config(run.read_config(), "c.yaml").cells()}
    for model, dataset in CELLS:
        measures = pl.read_parquet(run.results / f"measures/{dataset}/{model}.parquet")
        assert measures.filter(pl.col("value").is_not_null()).height, (model, dataset)


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_name_is_lost_to_the_tokenizer(run: Project, language: str) -> None:
    asked = pl.read_parquet(run.results / f"instances/gender-{language}/lm-mbert.parquet")
    assert set(asked["group1"].cast(pl.String)) == {"female", "male"}
    assert asked["template"].n_unique() == 12


@pytest.mark.parametrize("language", LANGUAGES)
def test_applicants_get_yes_or_no_in_their_language(run: Project, language: str) -> None:
    asked = pl.read_parquet(run.results / f"instances/hiring-gender-{language}/scored.parquet")
    options = asked.select(pl.col("candidate1", "candidate2").cast(pl.String)).unique().rows()
    assert options == [ANSWERS[language]]
    said = pl.read_parquet(
        run.results / f"predictions/hiring-gender-{language}/writer/1-of-1.parquet"
    )
    assert said["probabilities"].list.sum().min() > 0


def test_the_config_is_valid_and_planned(run: Project) -> None:
    assert run.told("validate", "config/people.yaml").exit_code == 0
    plan = run.told("plan", run.file)
    assert plan.exit_code == 0, plan.output
