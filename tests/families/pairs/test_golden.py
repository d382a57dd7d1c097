"""Numbers of original code: CrowS-Pairs, AUL (Kaneko and Bollegala), bias-bench and StereoSet."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from golden import GOLDEN
from small_pairs import instances_of, numbers_of, observed, pair_files, pairs_of, value_of

from biasgrid.families.pairs.data import ALONE, PARTNER, TASKS
from biasgrid.formats.stereoset.commands import published_scores

PAIRS = GOLDEN / "benchmarks/pairs"
EXPECTED = PAIRS / "expected"
ROUNDED = 0.005 + 1e-9
"""Of numbers that are printed with two decimals."""
ALL = "mode=all"


@cache
def results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((EXPECTED / "results.json").read_text())
    return found


def scored(instances: pl.DataFrame, scores: Mapping[tuple[int, str], float]) -> list[float | None]:
    """Scores of instances by pair and role; what is no number is none."""
    found = [
        scores.get((pair, str(role))) for pair, role in instances.select("pair", "role").iter_rows()
    ]
    return [None if each is None or math.isnan(each) else each for each in found]


@pytest.mark.parametrize("model", ["bert", "roberta"])
def test_shares_of_crows_pairs_match_its_script(model: str) -> None:
    instances = instances_of(pair_files(PAIRS / "pairs.csv", variant=PARTNER))
    with (EXPECTED / f"crows_pairs_metric_{model}.csv").open() as file:
        rows = list(csv.DictReader(file))
    scores = {
        (number, role): float(row[f"sent_{role}_score"])
        for number, row in enumerate(rows)
        for role in ("more", "less")
    }
    numbers = numbers_of(observed(instances, scored(instances, scores), "cps"))
    printed = results()[f"crows-pairs metric.py {model}"]
    names = {
        "Metric score": "stereotype_share",
        "Stereotype score": "stereotype_share_stereo",
        "Anti-stereotype score": "stereotype_share_antistereo",
    }
    for title, measure in names.items():
        assert 100 * value_of(numbers, measure) == pytest.approx(
            float(printed[title]), abs=ROUNDED
        ), title
    count, percent = printed["Num. neutral"].split()
    assert 100 * value_of(numbers, "neutral") == pytest.approx(float(percent), abs=ROUNDED)
    assert round(value_of(numbers, "neutral") * len(rows)) == int(count)


AUL = [
    (model, scoring, data)
    for model in ("bert", "roberta")
    for data in ("cp", "ss")
    for scoring in ("aul", "aula", "cps", "sss")
]


@pytest.mark.parametrize(("model", "scoring", "data"), AUL)
def test_shares_of_aul_match_its_script(model: str, scoring: str, data: str) -> None:
    expected = results()[f"aul evaluate.py {model} {data} {scoring}"]
    files = (
        pair_files(PAIRS / "pairs.csv", variant=PARTNER)
        if data == "cp"
        else pair_files(PAIRS / "stereoset.json", layout="stereoset", variant=PARTNER)
    )
    instances, pairs = instances_of(files), pairs_of(files).pairs
    scores = {
        (number, role): score
        for number, both in enumerate(expected["scores_stereo_anti"])
        for role, score in zip(("more", "less"), both, strict=True)
    }
    numbers = numbers_of(observed(instances, scored(instances, scores), scoring))
    is_whole = None not in scored(instances, scores)
    options = "" if is_whole else ALL
    printed = dict(line.rsplit(" ", 1) for line in expected["printed"])
    assert 100 * value_of(numbers, "stereotype_share", options) == pytest.approx(
        float(printed["Bias score:"]), abs=ROUNDED
    )
    for kind in {pair.type for pair in pairs}:
        # A type without any such pair is not printed.
        share = 100 * value_of(
            numbers, "stereotype_share", options_of_type(numbers, kind), bias_type=kind
        )
        assert share == pytest.approx(float(printed.get(kind, 0)), abs=ROUNDED), kind


def options_of_type(numbers: pl.DataFrame, kind: str) -> str:
    return (
        ALL if len(numbers.filter(measure="stereotype_share", options=ALL, bias_type=kind)) else ""
    )


@pytest.mark.parametrize("model", ["bert", "roberta", "gpt2"])
def test_shares_of_bias_bench_match_its_script(model: str) -> None:
    expected = results()[f"bias-bench crows.py {model}"]
    instances = instances_of(pair_files(PAIRS / "pairs.csv", variant=ALONE))
    pairs = {
        (pair.more_stereotypical, pair.less_stereotypical): number
        for number, pair in enumerate(pairs_of(pair_files(PAIRS / "pairs.csv")).pairs)
    }
    rows = expected[next(name for name in expected if name.startswith("rows"))]
    # bias-bench skips pairs without tokens that differ.
    found = {pairs[row[0], row[1]]: row for row in rows}
    scores = {
        (number, role): score
        for number, row in found.items()
        for role, score in zip(("more", "less"), row[2:4], strict=True)
    }
    numbers = numbers_of(observed(instances, scored(instances, scores), "span-mean"))
    for kind, share in expected["scores"].items():
        keys = {} if kind == "all" else {"bias_type": kind}
        if share != "ZeroDivisionError":
            assert 100 * value_of(numbers, "stereotype_share", **keys) == pytest.approx(
                share, abs=ROUNDED
            ), kind


STEREOSET = [
    "original_bert",
    "biasbench_bert",
    "original_roberta",
    "biasbench_roberta",
    "original_gpt2",
    "biasbench_gpt2",
]
NAMES = {"LM Score": "language_model_score", "SS Score": "stereotype_score", "ICAT Score": "icat"}


def stereoset_numbers(file: Path, predictions: Path, tasks: Sequence[str]) -> pl.DataFrame:
    instances = instances_of(pair_files(file, layout="stereoset", tasks=tasks))
    scores = {row.prompt: row.score for row in published_scores(predictions)}
    said = [scores[name] for name in instances["item_id"].cast(pl.String)]
    return numbers_of(observed(instances, said))


@pytest.mark.parametrize("name", STEREOSET)
def test_numbers_of_stereoset_match_its_script(name: str) -> None:
    predictions = EXPECTED / f"stereoset_predictions_{name}.json"
    tasks = [task for task in TASKS if task in json.loads(predictions.read_text())]
    numbers = stereoset_numbers(PAIRS / "stereoset.json", predictions, tasks)
    expected = results()[f"stereoset evaluation.py {name}"]
    assert_same(numbers, expected["overall"])
    for task in tasks:
        of_task = {"attribute_group": task} if len(tasks) > 1 else {}
        for domain, row in expected[task].items():
            keys = of_task | ({} if domain == "overall" else {"bias_type": domain})
            assert_same(numbers, row, **keys)


def assert_same(numbers: pl.DataFrame, expected: Mapping[str, float], **keys: str) -> None:
    for title, measure in NAMES.items():
        assert 100 * value_of(numbers, measure, **keys) == pytest.approx(
            expected[title], abs=1e-9
        ), (title, keys)
