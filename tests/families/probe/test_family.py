"""Probes in a config: what is asked of whom, and what is declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from small_probes import CHESS, HIRING, files_of

from biasgrid.base.faults import InputError
from biasgrid.config import load_word_lists, parse_config
from biasgrid.families.probe.definitions import METRICS
from biasgrid.tables.claims.marks import MarkSection
from biasgrid.tables.metric import read_definitions

WRITER = {
    "task": "text-generation",
    "kind": "LM",
    "label": "Writer",
    "checkpoint": "writer",
    "revision": "main",
}


def config(folder: Path, probe: str = CHESS, **keys: Any) -> dict[str, Any]:
    files = files_of(folder, probe)
    dataset = {"family": "probe", "title": "Chess", "probe": files.probe.name, **keys}
    return {
        "word_lists": str(folder),
        "models": {"writer": WRITER},
        "datasets": {"chess": dataset},
        "run": {"models": ["writer"], "datasets": ["chess"]},
    }


@pytest.mark.parametrize(
    ("keys", "variant", "answer"),
    [
        ({}, "scored", "choice"),
        ({"repetitions": 3}, "written", "text"),
        ({"answers": "written"}, "written", "text"),
        ({"answers": "scored", "repetitions": 3}, "scored", "choice"),
    ],
)
def test_options_are_scored_where_that_can_be(
    keys: dict[str, Any], variant: str, answer: str, tmp_path: Path
) -> None:
    question = parse_config(config(tmp_path, **keys), "c.yaml").question("writer", "chess")
    assert (question.variant, question.answer) == (variant, answer)


def test_free_answers_are_written(tmp_path: Path) -> None:
    probe = HIRING.replace(
        "evaluator: yes-no", 'evaluator: {name: phrases, phrases: {"yes": [hire]}}'
    )
    assert (
        parse_config(config(tmp_path, probe), "c.yaml").question("writer", "chess").answer == "text"
    )


def test_metrics_are_measures_with_marks(tmp_path: Path) -> None:
    grid = parse_config(
        config(tmp_path, f"{CHESS}section: opinions\nabout: Two games.\nwarning: Beware.\n"),
        "c.yaml",
    )
    measures = grid.dataset_measures("chess")
    assert [mark.letter for mark in measures["stereotype_rate"].marks] == ["A", "B", "C", "D"]
    assert measures["stereotype_rate"].headline == ""
    family = grid.family("chess")
    assert family.section(grid, "chess") == MarkSection("opinions")
    assert list(family.about(grid, "chess"))[1:] == ["Beware.", "Two games."]


def test_faults_of_the_file_are_reported_once(tmp_path: Path) -> None:
    grid = parse_config(config(tmp_path, CHESS.replace("{topic}", "{game}")), "c.yaml")
    with pytest.raises(InputError) as raised:
        load_word_lists(grid)
    assert [fault.where for fault in raised.value.faults] == ["line 3, question"]


def test_a_sample_that_is_too_large_is_refused(tmp_path: Path) -> None:
    grid = parse_config(config(tmp_path, sample={"units": 3}), "c.yaml")
    with pytest.raises(InputError, match="3 units, but there are only 2 items"):
        load_word_lists(grid)


def test_every_kind_of_metric_is_defined_and_metrics_of_two_groups_twice() -> None:
    probe = read_definitions("families/probe")
    assert probe.select("metrics").keys() == METRICS.keys()
    assert probe.select("pairs").keys() == {
        name for name, kind in METRICS.items() if "groups" in kind.model_fields
    }
