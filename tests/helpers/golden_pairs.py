"""Pairs of sentences and the scores that the original code gave them: golden files beside the repository."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).parents[3] / "shared" / "golden"
PAIRS = SHARED / "benchmarks" / "pairs"
CHECKPOINTS = {
    "bert": SHARED / "unqover" / "checkpoints" / "tiny-bert-base-uncased-lm",
    "roberta": SHARED / "unqover" / "checkpoints" / "tiny-roberta-base-lm",
    "gpt2": PAIRS / "tiny-gpt2",
}
Row = dict[str, Any]


def needs_golden_pairs() -> pytest.MarkDecorator:
    return pytest.mark.skipif(not PAIRS.is_dir(), reason="no golden files in ../shared/golden/benchmarks/pairs")


def golden_results() -> dict[str, Any]:
    """What all but metric.py gave, by names such as `aul evaluate.py bert cp aul`."""
    return dict(json.loads((PAIRS / "expected" / "results.json").read_text()))


def crows_pairs() -> list[Row]:
    """The pairs, in the layout of CrowS-Pairs."""
    with (PAIRS / "pairs.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def stereo_first(pair: Row) -> tuple[str, str]:
    """The sentence about the disadvantaged group, and the other one."""
    both = pair["sent_more"], pair["sent_less"]
    return both if pair["stereo_antistereo"] == "stereo" else both[::-1]


def stereoset(kind: str) -> list[Row]:
    """The examples of StereoSet's layout, `intrasentence` or `intersentence`."""
    return list(json.loads((PAIRS / "stereoset.json").read_text())["data"][kind])


def stereoset_predictions(name: str, kind: str = "intrasentence") -> dict[str, float]:
    """The scores that the original or bias-bench gave sentences of StereoSet, such as `original_bert`, by id."""
    whole = json.loads((PAIRS / "expected" / f"stereoset_predictions_{name}.json").read_text())
    return {each["id"]: each["score"] for each in whole[kind]}


def stereotype_pairs() -> list[tuple[str, str]]:
    """Stereotype and anti-stereotype of each example of StereoSet."""
    named = [
        {each["gold_label"]: each["sentence"] for each in example["sentences"]}
        for example in stereoset("intrasentence")
    ]
    return [(each["stereotype"], each["anti-stereotype"]) for each in named]
