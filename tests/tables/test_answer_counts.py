"""How generative models answered."""

from pathlib import Path

import polars as pl
import pytest
from small_tables import predictions_of

from biasgrid.tables.files import write_table
from biasgrid.tables.schema import answer_schema
from biasgrid.tables.summary import answer_counts


def written(path: Path, kind: str, **columns: list[object]) -> Path:
    count = len(next(iter(columns.values())))
    rows = pl.DataFrame({"instance": range(count)}, schema={"instance": pl.UInt32})
    write_table(predictions_of(kind, rows, **columns), path, answer_schema(kind), {})
    return path


def test_statuses_and_scorings_are_counted_over_shards(tmp_path: Path) -> None:
    half = [0.5, 0.25]
    scored = written(
        tmp_path / "1.parquet",
        "choice",
        probabilities=[half] * 2,
        mass=[0.75, 0.25],
        scored_by=["logits"] * 2,
        surface_forms=[[["A", "(a"], ["B"]], [["A"], ["B"]]],
        form_probabilities=[[[0.5, 0.125], [0.125]], [[0.125], [0.125]]],
        first_tokens=[["A", "The"], ["The", "I"]],
        first_probabilities=[[0.5, 0.25], [0.75, 0.125]],
    )
    parsed = written(
        tmp_path / "2.parquet",
        "choice",
        probabilities=[[1.0, 0.0], [None] * 2, [None] * 2],
        mass=[None] * 3,
        scored_by=["parsed"] * 3,
        status=["ok", "length", "length"],
        response=["A", "Well", "A man"],
    )
    assert answer_counts([scored, parsed]) == {
        "answers": 5,
        "scored_by": {"logits": 2, "parsed": 3},
        "status": {"length": 2, "ok": 1},
        "mass": {
            "median": 0.5,
            "lowest_tenth": pytest.approx(0.3),
            "n": 2,
            "first_tokens": ["The", "A", "I"],
            "surface_forms": [("A", 0.3125), ("B", 0.125), ("(a", 0.0625)],
        },
    }
    text = written(tmp_path / "3.parquet", "text", response=["Yes", ""], status=["ok", "empty"])
    assert answer_counts([text]) == {
        "answers": 2,
        "scored_by": {},
        "status": {"empty": 1, "ok": 1},
        "mass": None,
    }


@pytest.mark.parametrize("kind", ["choice", "span"])
def test_of_other_models_nothing_is_said(tmp_path: Path, kind: str) -> None:
    half = [0.5, 0.25]
    said = (
        {"probabilities": [half]}
        if kind == "choice"
        else {"starts": [half], "ends": [half], "answer": ["Ann"]}
    )
    assert answer_counts([written(tmp_path / "1.parquet", kind, **said)]) is None
