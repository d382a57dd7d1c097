"""Predictions against UnQover's own, for its tiny checkpoints."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from golden import FOLDER, golden_files, needs_golden_files, unqover_keys, word_list_files
from shards import Cell, keyed
from small_tables import whole

from biasgrid.families.underspecified.expand import expand
from biasgrid.families.underspecified.reading import read

pytestmark = [needs_golden_files(), pytest.mark.slow]


def predicted(name: str, output: dict[str, Any], folder: Path, scoring: str) -> tuple[list[str], pl.DataFrame]:
    """Keys of the instances that are in an output.json, and our predictions with their `negated`."""
    dataset, checkpoint = Path(name).name.split(".")[:2]
    task, suffix = ("fill-mask", "lm") if "_lm_" in dataset else ("question-answering", "qa")
    pronouns = {"female": "she", "male": "he"} if suffix == "lm" and dataset.startswith("gender") else {}
    instances = whole(expand(read(replace(word_list_files(dataset), pronouns=pronouns))[0]))
    instances = keyed(instances.filter(pl.Series(unqover_keys(instances)).is_in(list(output))))
    cell = Cell(folder, task, instances, FOLDER / "checkpoints" / f"{checkpoint}-{suffix}")
    table = cell.predict(scoring=scoring, token_budget=4096, **({"either_case": (3, 4)} if pronouns else {}))
    return unqover_keys(instances), table.with_columns(instances["negated"])


@pytest.mark.parametrize("name", golden_files("output_unpadded/*_qa*.output.json"))
def test_spans_are_those_of_unqover(name: str, tmp_path: Path) -> None:
    output = json.loads((FOLDER / name).read_text())
    keys, table = predicted(name, output, tmp_path, "unqover")
    assert len(keys) == 2 * len(output)
    for key, row in zip(keys, table.iter_rows(named=True), strict=True):
        question = output[key]["q1" if row["negated"] else "q0"]
        theirs = [question[answer][end] for answer in ("ans0", "ans1") for end in ("start", "end")]
        ours = [value for ends in zip(row["starts"], row["ends"], strict=True) for value in ends]
        assert ours == pytest.approx(theirs, rel=1e-5)
        assert row["answer"] == question["pred"]


@pytest.mark.parametrize("name", golden_files("output/*_lm_*.output.json"))
def test_masked_probabilities_are_those_of_unqover(name: str, tmp_path: Path) -> None:
    output = json.loads((FOLDER / name).read_text())
    keys, table = predicted(name, output, tmp_path, "exact" if "topkall" in name else "unqover")
    assert len(keys) == 2 * len(output)
    for key, row in zip(keys, table.iter_rows(named=True), strict=True):
        question = output[key]["q1" if row["negated"] else "q0"]
        probabilities = row["probabilities"]
        ours = [max(probabilities[which::2]) for which in (0, 1)]
        assert ours == pytest.approx([question[answer]["start"] for answer in ("ans0", "ans1")], rel=1e-5)
