"""Reads UnQover's own outputs, the golden files beside the repository, into this project's tables."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

FOLDER = Path(__file__).parents[2] / "shared" / "golden" / "unqover"
INSTANCE_KEYS = {
    "instance": pl.UInt32,
    "swap_group": pl.UInt32,
    "swapped": pl.Boolean,
    "negated": pl.Boolean,
    "subject1": pl.Categorical,
    "subject2": pl.Categorical,
    "cluster1": pl.Categorical,
    "cluster2": pl.Categorical,
    "attribute": pl.Categorical,
    "attribute_cluster": pl.Categorical,
    "context": pl.Categorical,
    "question": pl.Categorical,
}


def needs_golden_files() -> pytest.MarkDecorator:
    return pytest.mark.skipif(not FOLDER.is_dir(), reason="no golden files in ../shared/golden/unqover")


def golden_files(pattern: str) -> list[str]:
    """Names of golden files, for parametrised tests; empty where there are none."""
    return sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob(pattern))


def read_output(name: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the instances (no template, candidates and positions) and predictions of an output.json."""
    output: dict[str, Any] = json.loads((FOLDER / name).read_text())
    groups: dict[tuple[str, ...], int] = {}
    instances, predictions = [], []
    for key, entry in output.items():
        cluster1, cluster2, subject1, subject2, template, attribute_cluster, attribute, _ = key.split("|")
        pair = tuple(sorted((subject1, subject2)))
        group = groups.setdefault((*pair, template, attribute_cluster, attribute), len(groups))
        for negated, name_of_question in enumerate(("q0", "q1")):
            question = entry[name_of_question]
            named = [
                None if cluster == "None" else cluster for cluster in (cluster1, cluster2, attribute, attribute_cluster)
            ]
            place = [len(instances), group, pair != (subject1, subject2), bool(negated)]
            instances.append([*place, subject1, subject2, *named, entry["context"], question["question"]])
            scores = [question[answer][end] for answer in ("ans0", "ans1") for end in ("start", "end")]
            predictions.append([len(predictions), *scores, question["pred"]])
    frame = pl.DataFrame(instances, schema=INSTANCE_KEYS, orient="row")
    return frame, as_predictions(predictions, masked="_lm_" in name)


def as_predictions(rows: list[list[Any]], masked: bool) -> pl.DataFrame:
    """Returns span predictions, or mask predictions of masked LMs, whose start and end are one number."""
    spans = pl.DataFrame(
        rows,
        schema={
            "instance": pl.UInt32,
            **dict.fromkeys(("start1", "end1", "start2", "end2"), pl.Float32),
            "answer": pl.Categorical,
        },
        orient="row",
    )
    if not masked:
        return spans
    nothing = pl.lit(None, pl.Float32)
    return spans.select(
        "instance",
        probability1="start1",
        probability2="start2",
        pronoun1=nothing,
        pronoun2=nothing.alias("pronoun2"),
    )


def read_log(name: str) -> tuple[dict[tuple[str, ...], tuple[float, float, int]], dict[str, float]]:
    """Returns a log's rows, (gamma, eta, count) by lower-cased names, and the numbers of the whole cell."""
    text = (FOLDER / name).read_text()
    rows = {}
    for line in text.splitlines():
        *names, gamma, eta, count = [""] * 3 + line.split("\t")
        if count.isdigit():
            rows[tuple(name for name in names if name)] = (float(gamma), float(eta), int(count))
    labels = {
        "delta": "positional error:",
        "answer_probability": "avg ans probability:",
        "epsilon": "attributive error:",
        "mu": "model mu",
        "eta": "model eta",
        "swap_groups": "analyzing.*\n.*\n",
    }
    numbers = {key: re.search(rf"{label} *([-\d.e]+)", text) for key, label in labels.items()}
    return rows, {key: float(number[1]) for key, number in numbers.items() if number}
