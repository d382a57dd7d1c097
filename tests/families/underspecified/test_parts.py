"""Cells of swap groups that are read and measured part by part."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from small_cells import one_list, spans
from small_tables import write_instances

from biasgrid.families.cell import CellResults, measure_cell
from biasgrid.families.underspecified.ask import KEYS
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.families.underspecified.observe import READ, SAID, UNIT
from biasgrid.groups.definitions import group_measures
from biasgrid.tables.completeness import CellParts, CellRows, CellSource, IncompleteCell
from biasgrid.tables.files import TableError, write_table
from biasgrid.tables.schema import answer_schema

SPANS = answer_schema("span")


def write_cell(
    folder: Path, instances: pl.DataFrame, predictions: pl.DataFrame
) -> tuple[Path, list[Path]]:
    """Writes a cell, its predictions in two shards."""
    write_instances(instances, folder / "instances.parquet", KEYS)
    paths = [folder / f"{number}.parquet" for number in (1, 2)]
    first = len(predictions) // 3
    for path, shard in zip(paths, (predictions[:first], predictions[first:]), strict=True):
        write_table(shard, path, SPANS, {})
    return folder / "instances.parquet", paths


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reads 20 rows at once, which are no whole number of swap groups in the first half and the
    second.
    """
    monkeypatch.setattr("biasgrid.tables.completeness.ROWS_A_BLOCK", 20)


def random_cell() -> CellRows:
    """192 instances: 6 pairs in both orders, 2 attributes, 4 templates, and negations."""
    instances = one_list(4, subject_groups=["a", "a", "b", "b"], attributes=2, templates=4)
    probabilities = np.random.default_rng(1).random((2, len(instances)))
    return CellRows(instances, spans(instances, *probabilities))


def parts_of_cell(files: tuple[Path, list[Path]]) -> CellParts:
    source = CellSource(*files, KEYS, "span", "a cell")
    return CellParts(source, READ, SAID, UNIT)


@pytest.mark.usefixtures("small_blocks")
def test_a_cell_that_a_run_has_written_is_read_in_parts_of_whole_swap_groups(
    tmp_path: Path,
) -> None:
    instances, predictions = random_cell()
    parts = parts_of_cell(write_cell(tmp_path, instances, predictions))
    for _ in range(2):
        found = list(parts)
        assert len(found) > 4
        units = [asked[UNIT] for asked, _ in found]
        assert all(one.max() < other.min() for one, other in pairwise(units))  # type: ignore[operator]
        assert all(asked["instance"].equals(said["instance"]) for asked, said in found)
        for table, whole in enumerate((instances, predictions)):
            rows = pl.concat([part[table] for part in found]).sort("instance")
            assert rows.equals(whole.select(rows.columns))


@pytest.mark.usefixtures("small_blocks")
def test_rows_in_another_order_are_one_part(tmp_path: Path) -> None:
    instances, predictions = random_cell()
    mixed = predictions.sample(fraction=1, shuffle=True, seed=1)
    (found,) = parts_of_cell(write_cell(tmp_path, instances, mixed))
    assert found[1]["instance"].equals(mixed["instance"])


@pytest.mark.usefixtures("small_blocks")
def test_an_instance_without_a_prediction_is_refused(tmp_path: Path) -> None:
    instances, predictions = random_cell()
    again = predictions.with_columns(
        instance=pl.when(pl.col("instance") == 150).then(0).otherwise("instance")
    )
    with pytest.raises(
        IncompleteCell, match=r"a cell: of 192 instances, 1 have no prediction and 1 have more"
    ):
        list(parts_of_cell(write_cell(tmp_path, instances, again.cast({"instance": pl.UInt32}))))


@pytest.mark.usefixtures("small_blocks")
def test_each_part_fits_its_schema(tmp_path: Path) -> None:
    files = write_cell(tmp_path, *random_cell())
    table = pl.read_parquet(files[1][1])
    wrong = table.with_columns(
        starts=pl.when(pl.col("instance") == 180).then([2.0, 0.1]).otherwise("starts")
    )
    metadata = pl.read_parquet_metadata(files[1][1])
    wrong.cast(table.schema).write_parquet(files[1][1], metadata={"biasgrid": metadata["biasgrid"]})
    with pytest.raises(
        TableError, match=r"2\.parquet: does not fit the schema of span predictions"
    ):
        list(parts_of_cell(files))


def results(files: tuple[Path, list[Path]]) -> CellResults:
    options = {
        "task": "question-answering",
        "scoring": "exact",
        "measures": None,
        "failure_threshold": 0.1,
    }
    names = [*DEFINITIONS.select("measures", "flags"), *group_measures("subjects", 0.1, ())]
    return measure_cell(
        "biasgrid.families.underspecified", *files, "span", options, names, "model", "dataset"
    )


@pytest.mark.parametrize("kept", [0, 1000])
def test_numbers_are_the_same_to_the_last_bit_however_a_cell_is_divided(
    kept: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = write_cell(tmp_path, *random_cell())
    whole = results(files)
    monkeypatch.setattr("biasgrid.tables.completeness.ROWS_A_BLOCK", 20)
    monkeypatch.setattr("biasgrid.families.cell.OBSERVATIONS_KEPT", kept)
    for one, other in zip(whole, results(files), strict=True):
        assert len(one) > 20
        assert one.equals(other)
