"""UnQover's own scores are found by reference: the family knows no mode by its name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_cells import one_list
from small_tables import predictions_of

import biasgrid
from biasgrid.base.references import load_reference
from biasgrid.families.underspecified.family import FAMILY
from biasgrid.families.underspecified.observe import compare_subjects
from biasgrid.formats.unqover.cells import read_scoring
from biasgrid.tables.files import TableError, write_table
from biasgrid.tables.schema import answer_schema

FAMILIES = Path(biasgrid.__file__).parent / "families"


def test_scores_of_a_mode_are_at_least_the_scores_of_pronouns() -> None:
    instances = one_list(2)
    said = [[0.1, 0.2, 0.3, 0.1]] * len(instances)
    predictions = predictions_of("choice", instances, probabilities=said)
    exact, replicated = (
        compare_subjects(instances, predictions, name) for name in ("exact", *FAMILY.modes)
    )
    assert exact["answer_probability"].to_list() == pytest.approx([0.15])
    assert replicated["answer_probability"].to_list() == pytest.approx([0.25])


def test_modes_are_in_their_family_and_are_asked_for_by_no_name() -> None:
    assert all(
        load_reference(path).__module__.startswith("biasgrid.families.underspecified.")
        for path in FAMILY.modes.values()
    )
    names = "|".join(FAMILY.modes)
    lines = [line for path in FAMILIES.rglob("*.py") for line in path.read_text().splitlines()]
    assert [line for line in lines if re.search(rf"[=!]= \"({names})\"", line)] == []


def test_shards_that_were_scored_in_two_ways_are_refused(tmp_path: Path) -> None:
    instances = one_list(2)
    predictions = predictions_of("choice", instances, probabilities=[[0.1, 0.2]] * len(instances))
    paths = [tmp_path / f"{name}.parquet" for name in ("exact", "unqover")]
    for path in paths:
        write_table(predictions, path, answer_schema("choice"), {"scoring": path.stem})
    assert [read_scoring([path]) for path in paths] == ["exact", "unqover"]
    with pytest.raises(
        TableError, match="scored as exact, unqover; expected all exact or all unqover"
    ):
        read_scoring(paths)
