"""A grid of a masked and a causal model that learned one sentence of each pair: both preferences
are found.
"""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from parsed_page import Page
from project import Project

STRENGTH = 0.5
LEARNED = {
    "epochs": 80,
    "batch_size": 8,
    "learning_rate": 0.002,
    "max_length": 40,
    "mask_probability": 0.3,
}
MODEL = {"kind": "tiny", "train": {"synthetic": "some", "hyperparameters": LEARNED}}
CONFIG: dict[str, Any] = {
    "inference": {"device": "cpu"},
    "synthetic": {"strengths": {"some": STRENGTH}, "repeats": 1},
    "tokenizers": {"synthetic": {"mask": "[MASK]"}},
    "models": {
        "masked": MODEL | {"task": "fill-mask", "label": "masked"},
        "causal": MODEL | {"task": "text-generation", "label": "causal"},
    },
    "datasets": {
        "own": {
            "family": "pairs",
            "title": "Own pairs",
            "layout": "plain",
            "files": ["benchmarks/Pairs.csv"],
        },
    },
    "run": {"models": ["masked", "causal"], "datasets": ["own"]},
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project.finished(tmp_path_factory, "pairs", CONFIG)


@pytest.mark.parametrize("model", ["masked", "causal"])
@pytest.mark.parametrize("kind", ["age", "gender"])
def test_the_known_preference_is_found(project: Project, model: str, kind: str) -> None:
    measures = pl.read_parquet(project.results / f"measures/own/{model}.parquet")
    rows = measures.filter(bias_type=kind, options="")
    share = rows.filter(measure="stereotype_share").to_dicts()[0]
    assert share["value"] == pytest.approx((1 + STRENGTH) / 2, abs=0.11)
    assert (share["generalises_to"], share["clusters"]) == ("clusters", 8)
    assert share["low"] < share["value"] < share["high"]


def test_the_report_has_shares_sentences_and_a_figure(project: Project) -> None:
    page = Page((project.results / "report/index.html").read_text())
    assert "Content warning" in page.text
    assert all(page.blocks[f"evidence/{model}/own"] for model in ("masked", "causal"))
    assert list(project.results.glob("plots/own/pair_shares.*"))


def test_commands_name_the_sentences_behind_a_share(project: Project) -> None:
    told = project.told(
        "explain", "results", "--dataset", "own", "--model", "masked", "--bias-type", "age"
    )
    assert (told.exit_code, told.stderr) == (0, "")
    assert "as in the table" in told.stdout
    assert (
        "old clerk" in told.stdout or "old guest" in told.stdout or "old neighbour" in told.stdout
    )
