"""The keys of kept answers: sorted, and found in few row groups."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyarrow import parquet
from shards import Cell, asked

from biasgrid.inference.models import kept_keys
from biasgrid.inference.models.kept_keys import (
    KEPT_KEYS,
    RowRange,
    find_keys,
    join_keys,
    keys_path,
    write_keys,
)
from biasgrid.tables import files
from biasgrid.tables.files import TableError, read_table, read_table_rows, write_table
from biasgrid.tables.schema import answer_schema

ROWS = [
    {"text": f"Is {number % 10} a number?", "candidates": ["Yes", "No"]} for number in range(12)
]
KEYS_OF_ROWS = [
    11716227177794926221,
    7232756796023339412,
    1436634148477514457,
    16963710766672379298,
    15851256776398738494,
    72171734502578739,
    12258613241798941100,
    3271192624405548486,
    13653793451192592093,
    353169079153361644,
    11221488693848459650,
    11909205102020359973,
]
"""If one of them changes, all stored answers are asked again."""
A_GROUP = 16
KEPT, ASKED = RowRange("one table", 100, 183), RowRange("another", 0, 83)


@pytest.fixture
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (files, kept_keys):
        monkeypatch.setattr(module, "ROWS_A_GROUP", A_GROUP)


@pytest.fixture
def keys() -> pl.Series:
    random = np.random.default_rng(1)
    return pl.Series("key", random.integers(0, 2**64, 5 * A_GROUP + 3, dtype=np.uint64))


def wanted_keys(keys: pl.Series) -> pl.DataFrame:
    numbers = pl.int_range(len(keys), dtype=pl.UInt32, eager=True)
    return pl.DataFrame({"instance": numbers, "instance_row": numbers, "key": keys})


def damage(path: Path, group: int) -> None:
    """Overwrites where the columns of a row group begin."""
    row_group, content = parquet.read_metadata(path).row_group(group), bytearray(path.read_bytes())
    for place in range(row_group.num_columns):
        begin = row_group.column(place).data_page_offset
        content[begin : begin + 16] = b"\xff" * 16
    path.write_bytes(content)


@pytest.mark.usefixtures("small_groups")
def test_each_key_is_found_with_its_row_and_no_other(keys: pl.Series, tmp_path: Path) -> None:
    write_keys(keys, tmp_path / "x.keys", KEPT)
    kept = read_table(tmp_path / "x.keys", KEPT_KEYS)
    assert kept["key"].to_list() == sorted(keys)
    assert find_keys(tmp_path / "x.keys", wanted_keys(keys), ASKED)["row"].to_list() == list(
        range(len(keys))
    )
    some = pl.concat(
        [keys.gather([70, 3, 40]), pl.Series("key", [0, 2**63, 2**64 - 1], dtype=pl.UInt64)]
    )
    found = find_keys(tmp_path / "x.keys", wanted_keys(some), ASKED)
    assert found.select("instance", "row").rows() == [(1, 3), (2, 40), (0, 70)]
    assert find_keys(tmp_path / "x.keys", wanted_keys(keys.clear()), ASKED).is_empty()
    write_keys(keys.clear(), tmp_path / "none.keys", KEPT)
    assert find_keys(tmp_path / "none.keys", wanted_keys(keys), ASKED).is_empty()


@pytest.mark.usefixtures("small_groups")
def test_a_look_up_reads_only_the_row_groups_that_may_have_a_key(
    keys: pl.Series, tmp_path: Path
) -> None:
    path, ordered = tmp_path / "x.keys", keys.sort()
    write_keys(keys, path, KEPT)
    damage(path, 2)
    with pytest.raises(TableError, match="not a readable kept keys table"):
        find_keys(path, wanted_keys(ordered), ASKED)
    with pytest.raises(TableError, match="not a readable kept keys table"):
        find_keys(path, wanted_keys(ordered[[2 * A_GROUP + 1]]), ASKED)
    others = ordered[[5, A_GROUP, 3 * A_GROUP, len(keys) - 1]]
    found = find_keys(path, wanted_keys(others), ASKED)
    assert sorted(keys[found["row"].to_list()]) == others.to_list()


@pytest.mark.usefixtures("small_groups")
def test_of_a_table_only_the_row_groups_with_wanted_rows_are_read(
    keys: pl.Series, tmp_path: Path
) -> None:
    path, count = tmp_path / "rows.parquet", len(keys)
    table = pl.DataFrame({"key": keys, "row": pl.int_range(count, dtype=pl.UInt32, eager=True)})
    write_table(table, path, KEPT_KEYS, {})
    rows = np.array([0, 15, 48, 50, count - 1])
    assert read_table_rows(path, KEPT_KEYS, rows).equals(table[rows])
    assert read_table_rows(path, KEPT_KEYS, np.arange(count)).equals(table)
    assert read_table_rows(path, KEPT_KEYS, rows[:0]).equals(table.clear())
    with pytest.raises(TableError, match=f"no row {count}"):
        read_table_rows(path, KEPT_KEYS, np.array([0, count]))
    damage(path, 1)
    assert read_table_rows(path, KEPT_KEYS, rows).equals(table[rows])
    with pytest.raises(TableError, match="not a readable kept keys table"):
        read_table_rows(path, KEPT_KEYS, np.array([20]))


def random_cell(folder: Path) -> Cell:
    return Cell(folder, "text-generation", asked(ROWS), folder, "random", {"random": {"seed": 1}})


def test_keys_never_change(tmp_path: Path) -> None:
    ours = random_cell(tmp_path)
    assert ours.instances["key"].to_list() == KEYS_OF_ROWS
    assert ours.instances["asked_before"].to_list() == [0] * 10 + [1] * 2


def test_without_its_keys_a_table_of_answers_is_asked_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ours = random_cell(tmp_path)
    whole = ours.predict()
    (kept,) = ours.finished
    assert pl.read_parquet(kept).columns == list(answer_schema("choice").columns)
    keys_path(kept).unlink()
    assert ours.predict().equals(whole)
    assert ours.timing["found"] == 0
    assert f"{kept} is damaged; its answers are asked again" in caplog.text
    assert ours.predict().equals(whole)
    assert ours.timing["found"] == len(ROWS)


@pytest.mark.usefixtures("small_groups")
def test_keys_of_tables_are_joined_in_order(keys: pl.Series, tmp_path: Path) -> None:
    ends, paths = [0, 30, 31, 64, len(keys)], []
    for number, (first, end) in enumerate(pairwise(ends)):
        paths.append(tmp_path / f"{number}.keys")
        write_keys(
            keys[first:end],
            paths[-1],
            KEPT._replace(start=KEPT.start + first, end=KEPT.start + end),
        )
    join_keys(paths, tmp_path / "joined.keys")
    write_keys(keys, tmp_path / "whole.keys", KEPT)
    assert (tmp_path / "joined.keys").read_bytes() == (tmp_path / "whole.keys").read_bytes()


def test_of_one_table_rows_are_compared_and_no_key_is_read(keys: pl.Series, tmp_path: Path) -> None:
    path = tmp_path / "x.keys"
    write_keys(keys, path, KEPT)
    damage(path, 0)
    # Other keys than those that are kept: the rows alone count.
    wanted = wanted_keys(keys.reverse()).with_columns(pl.col("instance_row") + 90)
    found = find_keys(path, wanted, RowRange(KEPT.table, 90, 173))
    assert found["row"].to_list() == list(range(73))
    assert found["instance_row"].to_list() == list(range(100, 173))
    assert find_keys(path, wanted.head(10), RowRange(KEPT.table, 90, 100)).is_empty()
    with pytest.raises(TableError, match="not a readable kept keys table"):
        find_keys(path, wanted, RowRange("another", 90, 173))
