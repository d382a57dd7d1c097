from pathlib import Path

import polars as pl
import pytest

from biasgrid.table_files import TableError, count_rows, read_provenance, read_table, write_table, write_table_in_parts
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.predictions import SPAN_PREDICTIONS

ROWS = pl.DataFrame(
    {
        "instance": pl.Series([0, 1, 2], dtype=pl.UInt32),
        **{name: pl.Series([0.0, 0.5, 1.0], dtype=pl.Float32) for name in ("start1", "end1", "start2", "end2")},
        "answer": pl.Series(["Ann", "", "Zoë"], dtype=pl.Categorical),
    }
)
OURS = {"biasgrid": "{}"}
FACTS = {"seeds": [1, 2], "model": {"folder": "x"}, "precision": "float32"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "table.parquet"


def test_signs_of_patterns_in_a_path_are_taken_as_they_are(tmp_path: Path) -> None:
    for name in ("run1", "run2", "run[12]"):
        write_table(ROWS if name == "run[12]" else ROWS.head(1), tmp_path / name / "m.parquet", SPAN_PREDICTIONS, FACTS)
    assert read_table(tmp_path / "run[12]" / "m.parquet", SPAN_PREDICTIONS).equals(ROWS)
    assert count_rows(tmp_path / "run[12]" / "m.parquet") == len(ROWS)


def test_a_table_is_read_as_it_was_written(path: Path) -> None:
    write_table(ROWS, path, SPAN_PREDICTIONS, FACTS)
    assert read_table(path, SPAN_PREDICTIONS).equals(ROWS)
    assert read_table(path, SPAN_PREDICTIONS, ["end1", "instance"]).columns == ["end1", "instance"]
    assert read_provenance(path) == FACTS
    assert [file.name for file in path.parent.iterdir()] == ["table.parquet"]


def test_the_same_table_has_the_same_bytes(path: Path) -> None:
    write_table(ROWS, path, SPAN_PREDICTIONS, FACTS)
    before = path.read_bytes()
    write_table(ROWS, path, SPAN_PREDICTIONS, dict(reversed(FACTS.items())))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (ROWS.with_columns(extra=1), "extra"),
        (ROWS.drop("end2"), "end2"),
        (ROWS.cast({"start1": pl.Float64}), "start1"),
        (ROWS.cast({"answer": pl.String}), "answer"),
        (ROWS.with_columns(end1=pl.lit(1.5, pl.Float32)), "end1"),
        (ROWS.with_columns(end1=pl.lit(None, pl.Float32)), "end1"),
        (ROWS.with_columns(instance=pl.lit(7, pl.UInt32)), "instance"),
        (ROWS.select(sorted(ROWS.columns)), "answer"),
    ],
)
def test_a_table_that_does_not_fit_is_neither_written_nor_read(path: Path, wrong: pl.DataFrame, named: str) -> None:
    with pytest.raises(TableError) as caught:
        write_table(wrong, path, SPAN_PREDICTIONS, FACTS)
    assert not path.exists()
    message = f"{path}: does not fit the schema of predictions of extractive question answering"
    assert str(caught.value).startswith(message)
    assert named in str(caught.value)
    path.parent.mkdir(parents=True)
    wrong.write_parquet(path, metadata=OURS)
    with pytest.raises(TableError, match=rf"(?s){named}") as caught:
        read_table(path, SPAN_PREDICTIONS)
    assert f"{message}; remove it and run again:" in str(caught.value)


@pytest.mark.parametrize("length", [0, 3, 100, -20])
def test_a_truncated_file_is_refused(path: Path, length: int) -> None:
    write_table(ROWS, path, SPAN_PREDICTIONS, FACTS)
    path.write_bytes(path.read_bytes()[:length])
    for read in (lambda: read_table(path, SPAN_PREDICTIONS), lambda: read_provenance(path)):
        with pytest.raises(TableError, match=r"table.parquet: not a readable .*; remove it and run again"):
            read()


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(TableError, match=r"table.parquet: not a readable measures table"):
        read_table(path, MEASURES)


def test_another_parquet_file_is_refused(path: Path) -> None:
    path.parent.mkdir(parents=True)
    pl.DataFrame({"a": [1]}).write_parquet(path, metadata=OURS)
    with pytest.raises(TableError, match=r"table.parquet: does not fit the schema of measures; remove it"):
        read_table(path, MEASURES)
    with pytest.raises(TableError, match=r"table.parquet: not a readable .*start1"):
        read_table(path, SPAN_PREDICTIONS, ["start1"])


def test_a_table_that_somebody_else_wrote_is_refused(path: Path) -> None:
    path.parent.mkdir(parents=True)
    ROWS.write_parquet(path)
    message = "carries no provenance; expected a table that biasgrid has written; remove it and run again"
    for read in (lambda: read_table(path, SPAN_PREDICTIONS), lambda: read_provenance(path)):
        with pytest.raises(TableError, match=message):
            read()


def test_a_write_that_fails_leaves_the_old_table(path: Path) -> None:
    write_table(ROWS, path, SPAN_PREDICTIONS, FACTS)
    with pytest.raises(TypeError):
        write_table(ROWS, path, SPAN_PREDICTIONS, {"not": object()})
    with pytest.raises(TableError):
        write_table(ROWS.drop("answer"), path, SPAN_PREDICTIONS, {})
    assert read_table(path, SPAN_PREDICTIONS).equals(ROWS)
    assert [file.name for file in path.parent.iterdir()] == ["table.parquet"]


def test_a_table_written_in_parts_is_read_as_one(tmp_path: Path) -> None:
    parts = [ROWS, ROWS.with_columns(pl.col("instance") + 100)]
    write_table_in_parts(parts, tmp_path / "table.parquet", SPAN_PREDICTIONS, {"seed": 1})
    assert read_table(tmp_path / "table.parquet", SPAN_PREDICTIONS).equals(pl.concat(parts))
    assert read_provenance(tmp_path / "table.parquet") == {"seed": 1}
    write_table_in_parts([], tmp_path / "empty.parquet", SPAN_PREDICTIONS, {})
    assert read_table(tmp_path / "empty.parquet", SPAN_PREDICTIONS).is_empty()


def test_a_part_that_does_not_fit_leaves_no_table(tmp_path: Path) -> None:
    parts = [ROWS, ROWS.with_columns(start1=pl.lit(2, pl.Float32))]
    with pytest.raises(TableError, match="does not fit the schema of predictions"):
        write_table_in_parts(parts, tmp_path / "table.parquet", SPAN_PREDICTIONS, {})
    assert list(tmp_path.iterdir()) == []
