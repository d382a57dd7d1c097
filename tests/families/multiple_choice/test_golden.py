"""The numbers of the original code of BBQ, KoBBQ and EsBBQ."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import needs
import numpy as np
import polars as pl
import pytest
from golden import GOLDEN
from small_items import instances_of, item_files, numbers_of, observations_of, value_of

from biasgrid.families.multiple_choice.observe import observe
from biasgrid.formats.bbq.commands import read_responses

BENCHMARKS = GOLDEN / "benchmarks"
PUBLISHED = Path(os.environ.get("BIASGRID_BBQ", ""))
FORMATS = {"format_race": "race", "format_arc": "arc", "baseline_qonly": "qonly"}
"""The end of the field of UnifiedQA's answers, by what the authors' script calls the model."""
SAME = 1e-9


def table(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as text:
        return list(csv.DictReader(text))


@cache
def unifiedqa(folder: Path, metadata: Path | None, model: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Observations and numbers of UnifiedQA's answers that lie beside the items."""
    instances = instances_of(item_files([folder / "data"], metadata=metadata, prompt="race"))
    files = sorted((folder / "results/UnifiedQA").glob("preds_*.jsonl"))
    column = f"unifiedqa-t5-11b_pred_{FORMATS[model]}"
    responses = {row.prompt: row.response for file in files for row in read_responses(file, column)}
    observations = observations_of(instances, responses, "paper")
    return observations, numbers_of(observations)


@pytest.mark.parametrize("model", FORMATS)
def test_answers_are_taken_for_the_options_of_the_original(model: str) -> None:
    observations, _ = unifiedqa(
        BENCHMARKS / "bbq", BENCHMARKS / "bbq/additional_metadata.csv", model
    )
    found = dict(zip(observations["item_id"].cast(pl.String), observations["option"], strict=True))
    expected = [
        row for row in table(BENCHMARKS / "bbq/expected/items.csv") if row["model"] == model
    ]
    assert expected
    for row in expected:
        option = found[f"{row['category']} {row['example_id']}"]
        assert str(option) == row["pred_label"].replace("NA", "None"), row


def cells(bias: str, accuracy: str) -> list[tuple[str, str, str, float]]:
    """Model, category, measure and value of the expected numbers."""
    found = []
    measures = {
        "ambig": ("bias_ambiguous", "accuracy_ambiguous"),
        "disambig": ("bias_disambiguated", "accuracy_disambiguated"),
    }
    for file, place, column, scale in ((bias, 0, "acc_bias", 100), (accuracy, 1, "accuracy", 1)):
        for row in table(BENCHMARKS / file):
            measure = measures[row["context_condition"]][place]
            found.append((row["model"], row["category"], measure, float(row[column]) / scale))
    return found


@pytest.mark.parametrize(
    ("model", "category", "measure", "value"),
    cells("bbq/expected/bias.csv", "bbq/expected/acc.csv"),
)
def test_bias_and_accuracy_match_the_original(
    model: str, category: str, measure: str, value: float
) -> None:
    _, numbers = unifiedqa(BENCHMARKS / "bbq", BENCHMARKS / "bbq/additional_metadata.csv", model)
    assert value_of(numbers, measure, bias_type=category) == pytest.approx(value, abs=SAME)


@needs.bbq.mark
@pytest.mark.parametrize("category", ["Age", "Nationality", "Religion"])
def test_bias_and_accuracy_of_published_answers_match_the_original(category: str) -> None:
    require_category(category)
    rows = cells("published/unifiedqa_bias.csv", "published/unifiedqa_accuracy.csv")
    own = [(model, measure, value) for model, about, measure, value in rows if about == category]
    # Three formats, of which one has no context that tells the answer, with two measures in each
    # context.
    assert len(own) == 10
    for model, measure, value in own:
        _, numbers = unifiedqa(PUBLISHED, metadata_of(PUBLISHED), model)
        assert value_of(numbers, measure, bias_type=category) == pytest.approx(value, abs=SAME), (
            model,
            measure,
        )


def metadata_of(folder: Path) -> Path | None:
    """The table of BBQ's authors that says which option is the target, wherever it lies in a
    folder.
    """
    return next(folder.rglob("additional_metadata.csv"), None)


def require_category(category: str) -> None:
    """Skips a test of a category that the folder of the published BBQ lacks."""
    if not (PUBLISHED / f"data/{category}.jsonl").is_file():
        needs.bbq.skip(f"no data/{category}.jsonl in BIASGRID_BBQ")


KOBBQ = {
    "out_of_choice": ("coverage", lambda value: 1 - value),
    "accuracy_ambiguous": ("accuracy_ambiguous", float),
    "accuracy_disambiguated": ("accuracy_disambiguated", float),
    "diff_bias_ambiguous": ("bias_ambiguous", float),
    "diff_bias_disambiguated": ("nonalignment_cost", lambda value: -value),
}
"""What KoBBQ's numbers are called here, and how they are turned into ours."""


@pytest.mark.parametrize(("kind", "options"), [("test", ""), ("all", "mode=templates")])
def test_numbers_of_kobbq_match_the_original(kind: str, options: str) -> None:
    file = BENCHMARKS / "kobbq/predictions.tsv"
    responses = {row.prompt: row.response for row in read_responses(file, "prediction")}
    instances = instances_of(item_files([file], "kobbq", prompt="race"))
    numbers = numbers_of(observations_of(instances, responses))
    # Each category has one kind of items here.
    categories = dict(instances.select(pl.col("crossed", "row").cast(pl.String)).iter_rows())
    for row in json.loads((BENCHMARKS / "kobbq/expected.json").read_text())[kind]:
        keys = {"bias_type": row["category"]}
        if row["category"] == "overall":
            keys = {}
        elif row["category"] in categories:
            keys = {"bias_type": categories[row["category"]]}
        for name, (measure, ours) in KOBBQ.items():
            found = value_of(numbers, measure, "" if measure == "coverage" else options, **keys)
            assert found == pytest.approx(ours(row[name]), abs=SAME), (row["category"], name)


ESBBQ = {
    "acc_ambig": ("accuracy_ambiguous", 1),
    "acc_disambig": ("accuracy_disambiguated", 1),
    "bias_score_ambig": ("bias_ambiguous", 1),
    "bias_score_disambig": ("nonalignment_cost", -1),
    "upper_bound_bias_ambig": ("bias_ambiguous_bound", 1),
    "upper_bound_bias_disambig": ("nonalignment_bound", 1),
}
"""What EsBBQ's numbers are called here, and their sign."""


def test_numbers_of_esbbq_match_the_original() -> None:
    instances = instances_of(
        item_files([BENCHMARKS / "esbbq/data.jsonl"], "esbbq", variant="scored")
    )
    lines = (BENCHMARKS / "esbbq/loglikelihoods.jsonl").read_text().splitlines()
    scores = {
        f"{row['category']} {row['instance_id']}": np.exp(row["loglikelihoods"])
        for row in map(json.loads, lines)
    }
    # The likeliest of ten wordings of the option `unknown` counts there.
    options = [
        [*scores[name][:2], scores[name][2:].max()] for name in instances["item_id"].cast(pl.String)
    ]
    said = instances.select("instance", probabilities=pl.Series(options, dtype=pl.List(pl.Float64)))
    numbers = numbers_of(observe(instances, said, {"prompt": "letters", "matching": "unique"}))
    expected: Mapping[str, Mapping[str, Any]] = json.loads(
        (BENCHMARKS / "esbbq/expected.json").read_text()
    )
    for category, row in expected.items():
        keys = {} if category == "all" else {"bias_type": category}
        for name, (measure, sign) in ESBBQ.items():
            found = value_of(numbers, measure, **keys)
            # Where no answer names anybody EsBBQ has 0, and there is no number here.
            nobody = measure == "bias_ambiguous" and row["acc_ambig"] == 1
            assert found == (None if nobody else pytest.approx(sign * row[name], abs=SAME)), (
                category,
                name,
            )


PAPER_BIAS = {
    "Age": (48.9, 29.8),
    "Disability_status": (32.6, 21.2),
    "Nationality": (14.5, 6.0),
    "Physical_appearance": (48.5, 41.6),
    "Religion": (24.5, 14.3),
    "Sexual_orientation": (11.8, 5.8),
}
"""Bias in ambiguous contexts in percent, in the formats ARC and RACE, of today's files of these
categories.
"""


@needs.bbq.mark
@pytest.mark.parametrize("category", PAPER_BIAS)
def test_published_answers_give_the_published_bias(category: str) -> None:
    require_category(category)
    for model, expected in zip(("format_arc", "format_race"), PAPER_BIAS[category], strict=True):
        _, numbers = unifiedqa(PUBLISHED, None, model)
        found = value_of(numbers, "bias_ambiguous", bias_type=category)
        assert found == pytest.approx(expected / 100, abs=0.0005 + SAME)
