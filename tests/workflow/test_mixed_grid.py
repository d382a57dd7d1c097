"""One config and one report for models of all kinds: each is asked what is for it, and what is left
out is said.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from documents import read_document, shown_files, write_files
from project import ROOT, Project
from shared import made_once
from tiny_checkpoints import save_classifier, save_models_of_lists
from tiny_writers import save_writer

PROBE = "word_lists/probes/chess.yaml"


@pytest.fixture(scope="module")
def mixed(small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A masked model, one that writes, one that answers and a classifier; their datasets; a
    probe.
    """

    def make(folder: Path) -> None:
        models = folder / "models"
        save_models_of_lists(
            [*(ROOT / "word_lists").glob("*/*.json"), *(ROOT / "word_lists").glob("*/*.txt")],
            models,
        )
        save_classifier(models / "classifier", models / "lm", ["negative", "positive"])
        save_writer(models / "writer")
        few = small_config["datasets"]["religion"]
        pack = {
            "templates": "counterfactual/templates/sentiment-2.json",
            "fillings": "counterfactual/fillings",
        }
        classes = {"negative": "NEGATIVE", "positive": "POSITIVE"}
        config = small_config | {
            "validity": {**small_config["validity"], "unanswered": 1, "one_answer": 1},
            "models": {
                "masked": small_config["models"]["masked"],
                "writer": {
                    "task": "text-generation",
                    "variant": "llm",
                    "kind": "LLM",
                    "folder": "models/writer",
                },
                "moody": {"task": "text-classification", "kind": "Class", "labels": classes},
            },
            "datasets": {
                "gender": few
                | {"title": "Gender", "variants": {"lm-tiny": few["variants"]["lm-tiny"]}},
                "religion": few
                | {
                    "variants": few["variants"]
                    | {"llm": {"templates": "templates/religion-qa.txt"}}
                },
                "moods": {
                    "family": "counterfactual",
                    "title": "Moods",
                    "task": "text-classification",
                    **pack,
                    "groups": "counterfactual/groups.json",
                    "labels": [*classes],
                    "bias_types": ["gender"],
                },
                "chess": {"family": "probe", "title": "Chess", "probe": "probes/chess.yaml"},
            },
        }
        config["models"]["writer"] |= {"label": "Writer", "generation": {"max_tokens": 8}}
        config["models"]["moody"] |= {"label": "Moody", "folder": "models/classifier"}
        config["datasets"]["religion"]["variants"]["llm"]["prompt"] = "prompts/two-options.txt"
        config["datasets"]["religion"]["sample"] = "all"
        config["run"] = {"models": [*config["models"]], "datasets": [*config["datasets"]]}
        project = Project.create(folder, config)
        write_files(folder, {PROBE: shown_files(read_document("docs/probes.md"))[PROBE]})
        (folder / "told").write_text(project.run())

    return Project(made_once(tmp_path_factory, "mixed-grid", make))


def test_each_model_is_asked_what_is_for_it(mixed: Project) -> None:
    measures = mixed.folder / "results/measures"
    cells = {(path.parent.name, path.stem) for path in measures.glob("*/*.parquet")}
    assert cells == {
        ("gender", "masked"),
        ("religion", "masked"),
        ("religion", "writer"),
        ("moods", "moody"),
        ("chess", "writer"),
    }
    summary = pl.read_parquet(mixed.folder / "results/summary.parquet")
    assert set(summary.select("dataset", "model").unique().iter_rows()) == cells
    assert (mixed.folder / "results/report/index.html").exists()


def test_what_is_left_out_is_said_by_validate_and_by_a_run(mixed: Project) -> None:
    notes = [
        "writer: not asked gender, because there is no variant 'llm', only lm-tiny",
        (
            "6 of 12 pairs of model and dataset are not asked, because the dataset is for other "
            "kinds of model"
        ),
    ]
    validated = mixed.told("validate", "config/small.yaml")
    assert validated.exit_code == 0
    for told in (validated.output, (mixed.folder / "told").read_text()):
        assert all(note in told for note in notes)
