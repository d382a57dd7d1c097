"""Predictions against UnQover's own, for its tiny checkpoints."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from golden import FOLDER, golden_files, needs_golden_files, unqover_keys, word_list_files
from shards import Cell

from biasgrid.families.underspecified.expansion import expand
from biasgrid.families.underspecified.reading import read_word_lists

pytestmark = needs_golden_files()


def predicted(name: str, output: dict[str, Any], folder: Path, scoring: str) -> tuple[list[str], pl.DataFrame]:
    """Keys of the instances that are in an output.json, and our predictions with their `negated`."""
    dataset, checkpoint = Path(name).name.split(".")[:2]
    lists, _ = read_word_lists(word_list_files(dataset))
    instances, _ = expand(lists)
    instances = instances.filter(pl.Series(unqover_keys(instances)).is_in(list(output)))
    instances = instances.with_columns(instance=pl.int_range(pl.len(), dtype=pl.UInt32))
    task, suffix = ("fill-mask", "lm") if "_lm_" in dataset else ("question-answering", "qa")
    pronouns = {"female": "she", "male": "he"} if suffix == "lm" and dataset.startswith("gender") else {}
    cell = Cell(folder, task, instances, FOLDER / "checkpoints" / f"{checkpoint}-{suffix}")
    table = cell.predict(scoring=scoring, pronouns=pronouns, token_budget=4096)
    return unqover_keys(instances), table.with_columns(instances["negated"])


@pytest.mark.parametrize("name", golden_files("output_unpadded/*_qa*.output.json"))
def test_spans_are_those_of_unqover(name: str, tmp_path: Path) -> None:
    output = json.loads((FOLDER / name).read_text())
    keys, table = predicted(name, output, tmp_path, "unqover")
    assert len(keys) == 2 * len(output)
    for key, row in zip(keys, table.iter_rows(named=True), strict=True):
        question = output[key]["q1" if row["negated"] else "q0"]
        theirs = [question[answer][end] for answer in ("ans0", "ans1") for end in ("start", "end")]
        assert [row[name] for name in ("start1", "end1", "start2", "end2")] == pytest.approx(theirs, rel=1e-5)
        assert row["answer"] == question["pred"]


@pytest.mark.parametrize("name", golden_files("output/*_lm_*.output.json"))
def test_masked_probabilities_are_those_of_unqover(name: str, tmp_path: Path) -> None:
    output = json.loads((FOLDER / name).read_text())
    keys, table = predicted(name, output, tmp_path, "exact" if "topkall" in name else "unqover")
    assert len(keys) == 2 * len(output)
    for key, row in zip(keys, table.iter_rows(named=True), strict=True):
        question = output[key]["q1" if row["negated"] else "q0"]
        ours = [max(row[f"probability{which}"], row[f"pronoun{which}"] or 0) for which in (1, 2)]
        assert ours == pytest.approx([question[answer]["start"] for answer in ("ans0", "ans1")], rel=1e-5)
