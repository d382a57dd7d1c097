"""docs/guide/own-language.md: a dataset in Spanish from files to measures, and what is English
refused elsewhere.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from documents import read_document, shown_files, write_files
from project import ROOT, Project
from shared import made_once
from tiny_checkpoints import save_models_of_lists

from biasgrid.base.faults import InputError
from biasgrid.config import parse_config

FILES, CONFIG = shown_files(read_document("docs/guide/own-language.md")), "trabajos/trabajos.yaml"
TABLES = "results/trabajos/measures/trabajos/beto.parquet"


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project with the page's files in a folder of their own, and a tiny model beside them."""

    def make(folder: Path) -> None:
        project = Project.create(folder, {})
        write_files(folder, FILES)
        save_models_of_lists(
            [*sorted((folder / "trabajos/listas").iterdir()), folder / CONFIG], folder / "made"
        )
        shutil.move(folder / "made/lm", folder / "trabajos/modelo")
        project.run("--configfile", CONFIG, "--", TABLES)

    return Project(made_once(tmp_path_factory, "spanish", make))


def test_the_page_s_dataset_is_measured(measured: Project) -> None:
    assert measured.told("validate", CONFIG).exit_code == 0
    assert pl.read_parquet(measured.folder / TABLES).height
    asked = pl.read_parquet(measured.folder / "results/trabajos/instances/trabajos/lm-beto.parquet")
    texts = asked.select(pl.col("text_pair").cast(pl.String)).to_series()
    assert len(asked) == 2 * 4 * 4 * 3 * 3 * 2
    assert texts.str.contains("vio a Antonio", literal=True).any()
    assert not texts.str.contains(r"\b[Aa]n ").any()


def test_the_page_s_dataset_would_be_damaged_as_an_english_one(measured: Project) -> None:
    changed = FILES[CONFIG].replace("language: es", "language: en-GB")
    (measured.folder / "trabajos/english.yaml").write_text(changed)
    told = measured.told(
        "preview", "trabajos/english.yaml", "--dataset", "trabajos", "--rows", "300"
    )
    assert told.exit_code == 0, told.output
    assert "vio an Antonio" in told.output
    assert (
        "vio an Antonio"
        not in measured.told("preview", CONFIG, "--dataset", "trabajos", "--rows", "300").output
    )


def english_faults(dataset: dict[str, Any], language: str = "fr") -> list[str]:
    model = {
        "task": "text-generation",
        "kind": "LLM",
        "label": "x",
        "checkpoint": "org/x",
        "revision": "main",
    }
    content = {
        "word_lists": str(ROOT / "word_lists"),
        "models": {"x": model},
        "datasets": {"d": {"title": "D", "language": language, **dataset}},
        "run": {"models": ["x"], "datasets": ["d"]},
    }
    try:
        parse_config(content, "c.yaml")
    except InputError as refused:
        return [fault.problem for fault in refused.faults if fault.where == "datasets.d.language"]
    return []


def test_what_is_english_is_refused(tmp_path: Path) -> None:
    lists = {"domains": "statements/domains", "templates": "statements/gender.csv", "sample": "all"}
    assert "the English words Yes and No" in english_faults({"family": "statement", **lists})[0]
    files = {"prompts": "rewriting/prompts.txt", "groups": "rewriting/groups.yaml"}
    assert (
        "English articles, pronouns and verbs"
        in english_faults({"family": "rewriting", **files})[0]
    )
    for evaluator in ("yes-no", "pronouns", "refusal", "sentiment"):
        probe = {
            "title": "P",
            "bias_type": "g",
            "question": "¿{x}?",
            "items": [{"x": "Sí", "group": "a"}],
        }
        metric = (
            {"m": {"kind": "mean"}}
            if evaluator == "sentiment"
            else {"m": {"kind": "rate", "label": "yes"}}
        )
        labels = {"pronouns": "male", "refusal": "refused"}
        if evaluator in labels:
            metric["m"]["label"] = labels[evaluator]
        file = tmp_path / "probe.yaml"
        file.write_text(yaml.safe_dump(probe | {"evaluator": evaluator, "metric": metric}))
        section = {"family": "probe", "probe": str(file), "answers": "written"}
        (problem,) = english_faults(section)
        assert re.match(f"'fr', but the evaluator `{evaluator}` looks for English words: ", problem)
        # Of German and Spanish there are the words for yes, no and refusals.
        for language in ("de", "es"):
            assert len(english_faults(section, language)) == (
                evaluator in ("pronouns", "sentiment")
            )


def test_statements_need_yes_and_no_and_a_prompt_of_their_language() -> None:
    lists = {
        "family": "statement",
        "domains": "statements/domains",
        "templates": "statements/gender.csv",
        "sample": "all",
    }
    for language in ("de", "es-MX"):
        (problem,) = english_faults(lists, language)
        assert problem == f"{language!r}, but the prompt for statements is English"
    assert english_faults(lists | {"prompt": "F: {statement} Ja oder Nein?\nA:"}, "de") == []
