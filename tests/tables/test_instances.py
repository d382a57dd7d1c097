"""The columns of instances that models read, and those of families beside them."""

from pathlib import Path

import polars as pl
import pytest
from small_tables import whole, write_instances

from biasgrid.families.expansion import expand_rows
from biasgrid.tables.files import TableError
from biasgrid.tables.instances import instances_schema, read_instances, read_requests
from biasgrid.tables.keys import request_keys
from biasgrid.tables.schema import column

ASKED = ["instance", "asked_before", "system", "text", "text_pair"]
OF_PAIRS = {
    name: column(pl.Categorical, description=f"{name} subject") for name in ("first", "second")
}
OF_CASES = {"case": column(pl.UInt32, description="the case")}


def pairs() -> pl.DataFrame:
    """Two instances of a family whose models are told where its candidates are."""
    row = {
        "text": "Who?",
        "text_pair": "Ann met Bea.",
        "candidate1": "Ann",
        "candidate2": "Bea",
        "position1": 0,
    }
    rows = [row | {"position2": 8, "first": first, "second": "Bea"} for first in ("Ann", "Cleo")]
    return whole(expand_rows(pl.DataFrame(rows), OF_PAIRS))


def cases() -> pl.DataFrame:
    """Two instances of a family whose models get up to two candidates."""
    rows = {
        "text": ["a [MASK]", "b"],
        "text_pair": [None, "c"],
        "candidate1": ["x", "y"],
        "candidate2": [None, "z"],
    }
    return whole(expand_rows(pl.DataFrame(rows | {"case": [0, 1]}), OF_CASES))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "instances.parquet"


def test_a_family_reads_all_columns_or_some(path: Path) -> None:
    write_instances(pairs(), path, OF_PAIRS)
    assert read_instances(path, OF_PAIRS).equals(pairs())
    assert read_instances(path, OF_PAIRS, ["second", "instance"]).columns == ["second", "instance"]


def test_models_read_the_same_columns_of_all_families(path: Path) -> None:
    ends = ["candidate1", "candidate2", "position1", "position2"]
    write_instances(pairs(), path, OF_PAIRS)
    assert read_requests(path).columns == ASKED + ends
    write_instances(cases(), path, OF_CASES)
    asked = read_requests(path)
    assert asked.columns == ASKED + ends[:2]
    assert asked["candidate2"].to_list() == [None, "z"]
    assert asked.schema["text"] == asked.schema["text_pair"] == pl.Categorical
    assert asked["text"].to_list() == ["a [MASK]", "b"]
    assert read_requests(path, rows=range(1, 2)).equals(asked.tail(1))
    assert read_requests(path, rows=range(1, 1)).equals(asked.clear())


@pytest.mark.parametrize(
    "columns", [["candidate1", "candidate3"], ["candidate2"], ["position1", "position3"]]
)
def test_no_candidate_or_position_is_left_out(path: Path, columns: list[str]) -> None:
    last = max(int(name[-1]) for name in columns)
    names = [
        name for name in instances_schema({}, dict.fromkeys(columns)).columns if name not in ASKED
    ]
    assert names == [f"{columns[0][:-1]}{place}" for place in range(1, last + 1)]


def test_the_instances_of_another_family_are_refused(path: Path) -> None:
    write_instances(pairs(), path, OF_PAIRS)
    with pytest.raises(TableError, match="does not fit the schema of instances"):
        read_instances(path, OF_CASES)


def test_the_place_in_a_pair_distinguishes_instances_of_families_that_write_it(
    path: Path,
) -> None:
    rows = {"text": ["a", "a"], "text_pair": ["b", "b"], "pair_place": [0, 1], "case": [0, 1]}
    placed = whole(expand_rows(pl.DataFrame(rows), OF_CASES))
    assert placed.columns == [*ASKED, "pair_place", "case"]
    assert placed["asked_before"].to_list() == [0, 0]
    assert request_keys(placed).n_unique() == 2
    write_instances(placed, path, OF_CASES)
    assert read_requests(path)["pair_place"].to_list() == [0, 1]
    assert "pair_place" not in cases().columns
    without = whole(expand_rows(pl.DataFrame(rows).drop("pair_place"), OF_CASES))
    assert without["asked_before"].to_list() == [0, 1]
