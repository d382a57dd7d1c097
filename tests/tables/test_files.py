import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from biasgrid.tables.files import (
    TableError,
    count_rows,
    means_by,
    read_column_types,
    read_provenance,
    read_table,
    read_tables,
    write_table,
    write_table_in_parts,
)
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.schema import answer_schema

SPANS = answer_schema("span")
ROWS = pl.DataFrame(
    {
        "instance": pl.Series([0, 1, 2], dtype=pl.UInt32),
        "starts": pl.Series([[0.0, 0.5], [], [None, 1.0]], dtype=pl.List(pl.Float32)),
        "ends": pl.Series([[1.0, 0.0], [], [None, 0.25]], dtype=pl.List(pl.Float32)),
        "answer": pl.Series(["Ann", "", "Zoë"], dtype=pl.Categorical),
        "probability": pl.Series([0.5, None, 1.0], dtype=pl.Float32),
        "unknown": pl.Series([False, True, None], dtype=pl.Boolean),
    }
)
OURS = {"biasgrid": "{}"}
FACTS = {"seeds": [1, 2], "model": {"folder": "x"}, "precision": "float32"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "table.parquet"


def test_signs_of_patterns_in_a_path_are_taken_as_they_are(tmp_path: Path) -> None:
    for name in ("run1", "run2", "run[12]"):
        write_table(
            ROWS if name == "run[12]" else ROWS.head(1), tmp_path / name / "m.parquet", SPANS, FACTS
        )
    assert read_table(tmp_path / "run[12]" / "m.parquet", SPANS).equals(ROWS)
    assert count_rows(tmp_path / "run[12]" / "m.parquet") == len(ROWS)
    assert read_column_types(tmp_path / "run[12]" / "m.parquet", "x") == ROWS.schema


def test_a_table_is_read_as_it_was_written(path: Path) -> None:
    write_table(ROWS, path, SPANS, FACTS)
    assert read_table(path, SPANS).equals(ROWS)
    assert read_table(path, SPANS, ["ends", "instance"]).columns == ["ends", "instance"]
    assert read_provenance(path) == FACTS
    assert [file.name for file in path.parent.iterdir()] == ["table.parquet"]


def test_each_row_group_has_the_categories_of_its_own_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.tables.files.ROWS_A_GROUP", 100)
    names = pl.Series(
        "answer", [f"{number} times something" for number in range(1000)], dtype=pl.Categorical
    )
    rows = pl.concat([ROWS[:1]] * 1000).with_columns(
        names, pl.int_range(1000, dtype=pl.UInt32).alias("instance")
    )
    write_table(rows, path, SPANS, FACTS)
    whole = path.read_bytes()
    write_table_in_parts(rows.iter_slices(300), path.with_name("parts.parquet"), SPANS, FACTS)
    assert path.with_name("parts.parquet").read_bytes() == whole
    assert read_table(path, SPANS).equals(rows)


def test_a_check_leaves_polars_set_as_it_was(path: Path) -> None:
    with pl.Config(set_engine_affinity="streaming", set_tbl_rows=3):
        before = pl.Config.state()
        write_table(ROWS, path, SPANS, FACTS)
        with pytest.raises(TableError):
            write_table(ROWS.reverse().drop("answer"), path, SPANS, FACTS)
        assert pl.Config.state() == before


def test_the_same_table_has_the_same_bytes(path: Path) -> None:
    write_table(ROWS, path, SPANS, FACTS)
    before = path.read_bytes()
    write_table(ROWS, path, SPANS, dict(reversed(FACTS.items())))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (ROWS.with_columns(extra=1), "extra"),
        (ROWS.drop("ends"), "ends"),
        (ROWS.cast({"probability": pl.Float64}), "probability"),
        (ROWS.cast({"answer": pl.String}), "answer"),
        (ROWS.with_columns(probability=pl.lit(1.5, pl.Float32)), "probability"),
        (ROWS.with_columns(ends=pl.lit(None, pl.List(pl.Float32))), "ends"),
        (
            ROWS.with_columns(ends=pl.Series([[], [], [0.5, 1.5]], dtype=pl.List(pl.Float32))),
            "ends",
        ),
        (
            ROWS.with_columns(ends=pl.Series([[], [], [0.5, -0.5]], dtype=pl.List(pl.Float32))),
            "ends",
        ),
        (
            ROWS.with_columns(
                ends=pl.Series([[], [], [0.5, float("nan")]], dtype=pl.List(pl.Float32))
            ),
            "ends",
        ),
        (ROWS.with_columns(instance=pl.lit(7, pl.UInt32)), "instance"),
        (ROWS.select(sorted(ROWS.columns)), "answer"),
    ],
)
def test_a_table_that_does_not_fit_is_neither_written_nor_read(
    path: Path, wrong: pl.DataFrame, named: str
) -> None:
    with pytest.raises(TableError) as caught:
        write_table(wrong, path, SPANS, FACTS)
    assert not path.exists()
    message = f"{path}: does not fit the schema of span predictions"
    assert str(caught.value).startswith(message)
    assert named in str(caught.value)
    path.parent.mkdir(parents=True)
    wrong.write_parquet(path, metadata=OURS)
    with pytest.raises(TableError, match=rf"(?s){named}") as caught:
        read_table(path, SPANS)
    assert f"{message}; remove it and run again:" in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (ROWS.with_columns(probability=pl.lit(1.5, pl.Float32)), "in_range"),
        (ROWS.cast({"probability": pl.Float64}), "Float64"),
        (ROWS.drop("ends"), "ends"),
    ],
)
def test_of_many_tables_that_which_does_not_fit_is_named(
    tmp_path: Path, wrong: pl.DataFrame, named: str
) -> None:
    for name, rows in {"first": ROWS, "second": wrong, "third": ROWS}.items():
        rows.write_parquet(tmp_path / f"{name}.parquet", metadata=OURS)
    with pytest.raises(TableError, match=r"second.parquet: does not fit the schema of") as refused:
        read_tables(sorted(tmp_path.iterdir()), SPANS)
    assert named in str(refused.value)


def test_many_tables_are_read_one_below_the_other(tmp_path: Path) -> None:
    assert read_tables([], SPANS).is_empty()
    # Each has the same instances, which a single one must not have twice.
    for name in ("first", "second"):
        write_table(ROWS, tmp_path / f"{name}.parquet", SPANS, FACTS)
    assert read_tables(sorted(tmp_path.iterdir()), SPANS).equals(pl.concat([ROWS, ROWS]))


@pytest.mark.parametrize("length", [0, 3, 100, -20])
def test_a_truncated_file_is_refused(path: Path, length: int) -> None:
    write_table(ROWS, path, SPANS, FACTS)
    path.write_bytes(path.read_bytes()[:length])
    for read in (lambda: read_table(path, SPANS), lambda: read_provenance(path)):
        with pytest.raises(
            TableError, match=r"table.parquet: is not a readable .*; remove it and run again"
        ):
            read()


def test_a_missing_file_is_refused(path: Path) -> None:
    with pytest.raises(TableError, match=r"table.parquet: is not a readable measures table"):
        read_table(path, MEASURES)


def test_another_parquet_file_is_refused(path: Path) -> None:
    path.parent.mkdir(parents=True)
    pl.DataFrame({"a": [1]}).write_parquet(path, metadata=OURS)
    with pytest.raises(
        TableError, match=r"table.parquet: does not fit the schema of measures; remove it"
    ):
        read_table(path, MEASURES)
    with pytest.raises(TableError, match=r"table.parquet: is not a readable .*starts"):
        read_table(path, SPANS, ["starts"])


def test_a_table_that_somebody_else_wrote_is_refused(path: Path) -> None:
    path.parent.mkdir(parents=True)
    ROWS.write_parquet(path)
    message = "has no provenance; expected a table that biasgrid wrote; remove it and run again"
    for read in (lambda: read_table(path, SPANS), lambda: read_provenance(path)):
        with pytest.raises(TableError, match=message):
            read()


def test_a_write_that_fails_leaves_the_old_table(path: Path) -> None:
    write_table(ROWS, path, SPANS, FACTS)
    with pytest.raises(TypeError):
        write_table(ROWS, path, SPANS, {"not": object()})
    with pytest.raises(TableError):
        write_table(ROWS.drop("answer"), path, SPANS, {})
    assert read_table(path, SPANS).equals(ROWS)
    assert [file.name for file in path.parent.iterdir()] == ["table.parquet"]


def test_a_table_written_in_parts_is_read_as_one(tmp_path: Path) -> None:
    parts = [ROWS, ROWS.with_columns(pl.col("instance") + 100)]
    write_table_in_parts(parts, tmp_path / "table.parquet", SPANS, {"seed": 1})
    assert read_table(tmp_path / "table.parquet", SPANS).equals(pl.concat(parts))
    assert read_provenance(tmp_path / "table.parquet") == {"seed": 1}
    write_table_in_parts([], tmp_path / "empty.parquet", SPANS, {})
    assert read_table(tmp_path / "empty.parquet", SPANS).is_empty()


def test_a_part_that_does_not_fit_leaves_no_table(tmp_path: Path) -> None:
    parts = [ROWS, ROWS.with_columns(probability=pl.lit(2, pl.Float32))]
    with pytest.raises(TableError, match="does not fit the schema of span predictions"):
        write_table_in_parts(parts, tmp_path / "table.parquet", SPANS, {})
    assert list(tmp_path.iterdir()) == []


BROKEN_OFF = """
import resource, signal, sys
from biasgrid.base.faults import UserError
from test_files import FACTS, ROWS, SPANS, write_table
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
for size in range(0, 4000, 100):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    try:
        write_table(ROWS, sys.argv[1], SPANS, FACTS)
    except UserError as error:
        print(error)
"""


@pytest.mark.slow
def test_the_system_s_refusal_is_reported_wherever_in_the_file_it_comes(path: Path) -> None:
    write_table(ROWS, path, SPANS, FACTS)
    run = [sys.executable, "-c", BROKEN_OFF, str(path)]
    told = subprocess.run(
        run, cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    ).stdout
    expected = f"{path}: cannot be written (File too large); fix that and run again"
    size = path.stat().st_size
    assert told.splitlines() == [expected] * -(-size // 100)
    assert [file.name for file in path.parent.iterdir()] == ["table.parquet"]


def test_means_match_polars_by_first_appearance() -> None:
    frame = pl.DataFrame(
        {"a": ["x", None, "x", "y"], "b": [1, 1, 1, 2], "value": [1.0, 2.0, None, None]}
    )
    expected = {"a": ["x", None, "y"], "b": [1, 1, 2], "value": [1.0, 2.0, None]}
    assert means_by(frame, ["a", "b"]).to_dict(as_series=False) == expected


def test_an_empty_table_has_no_means() -> None:
    assert means_by(pl.DataFrame(schema={"a": pl.String, "value": pl.Float64}), ["a"]).is_empty()


def test_large_tables_have_the_same_means_each_time() -> None:
    random = np.random.default_rng(1)
    rows = 300_000
    frame = pl.DataFrame({"key": random.integers(0, 60, rows), "value": random.random(rows)})
    first = means_by(frame, ["key"])
    assert all(means_by(frame, ["key"]).equals(first) for _ in range(20))
    plain = frame.group_by("key").agg(pl.col("value").mean()).sort("key")["value"].to_list()
    assert first.sort("key")["value"].to_list() == pytest.approx(plain)
