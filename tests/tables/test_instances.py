"""The columns of instances that models read, and those of families beside them."""

from pathlib import Path

import polars as pl
import pytest
from small_cases import cases_of
from small_cells import one_list
from small_tables import write_instances

from biasgrid.families.counterfactual import keys as counterfactual
from biasgrid.families.underspecified import keys as underspecified
from biasgrid.tables.files import TableError
from biasgrid.tables.instances import instances_schema, read_instances, read_requests

ASKED = ["instance", "asked_before", "system", "text", "text_pair"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "instances.parquet"


def test_a_family_reads_all_columns_or_some(path: Path) -> None:
    instances = one_list(3)
    write_instances(instances, path, underspecified.KEYS)
    assert read_instances(path, underspecified.KEYS).equals(instances)
    assert read_instances(path, underspecified.KEYS, ["subject2", "instance"]).columns == ["subject2", "instance"]


def test_models_read_the_same_columns_of_all_families(path: Path) -> None:
    ends = ["candidate1", "candidate2", "position1", "position2"]
    write_instances(one_list(3), path, underspecified.KEYS)
    assert read_requests(path).columns == ASKED + ends
    cases = cases_of([{"text": "a [MASK]", "targets": ["x"]}, {"text": "b", "text_pair": "c", "targets": ["y", "z"]}])
    write_instances(cases, path, counterfactual.KEYS)
    asked = read_requests(path)
    assert asked.columns == ASKED + ends[:2]
    assert asked["candidate2"].to_list() == [None, "z"]
    assert asked.schema["text"] == asked.schema["text_pair"] == pl.Categorical
    assert asked["text"].to_list() == ["a [MASK]", "b"]


@pytest.mark.parametrize("columns", [["candidate1", "candidate3"], ["candidate2"], ["position1", "position3"]])
def test_no_candidate_or_position_is_left_out(path: Path, columns: list[str]) -> None:
    last = max(int(name[-1]) for name in columns)
    names = [name for name in instances_schema({}, dict.fromkeys(columns)).columns if name not in ASKED]
    assert names == [f"{columns[0][:-1]}{place}" for place in range(1, last + 1)]


def test_the_instances_of_another_family_are_refused(path: Path) -> None:
    write_instances(one_list(3), path, underspecified.KEYS)
    with pytest.raises(TableError, match="does not fit the schema of instances"):
        read_instances(path, counterfactual.KEYS)
