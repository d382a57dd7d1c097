"""What keeps a cell from being measured, and how a whole one is measured from its files."""

import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from small_cells import ALWAYS, choosing, measured, one_list
from small_estimates import measures_of_sums
from small_tables import write_instances

from biasgrid.families.cell import CellResults
from biasgrid.families.cell import measure_cell as measure_any
from biasgrid.families.underspecified.ask import KEYS
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.tables.completeness import IncompleteCell, check_complete
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import TableError, validate_table, write_table
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.schema import answer_schema
from biasgrid.tables.sums import SUMS

FAMILY = "biasgrid.families.underspecified"
DECLARED = [*DEFINITIONS.select("measures", "flags")]
OPTIONS = {"task": "question-answering", "scoring": "exact", "measures": []}


@pytest.mark.parametrize(
    ("ids", "counts"),
    [
        ([0, 1, 3], "1 have no prediction and 0 have more than one, and 0 predictions"),
        ([0, 1, 1, 1, 2, 2, 3], "0 have no prediction and 2 have more than one, and 0 predictions"),
        ([0, 1, 2, 3, 4, 9], "0 have no prediction and 0 have more than one, and 2 predictions"),
        ([], "4 have no prediction"),
    ],
)
def test_an_incomplete_cell_is_refused_with_the_counts(ids: list[int], counts: str) -> None:
    predictions = pl.DataFrame({"instance": ids}, schema={"instance": pl.UInt32})
    with pytest.raises(
        IncompleteCell, match=f"of 4 instances, {re.escape(counts)}" if ids else counts
    ):
        check_complete(one_list(2).height, predictions["instance"])


def test_a_cell_without_instances_is_refused() -> None:
    with pytest.raises(IncompleteCell, match="no instances"):
        check_complete(0, pl.Series(dtype=pl.UInt32))


@pytest.mark.parametrize(
    "malform",
    [
        lambda instances: instances.head(-1),
        lambda instances: instances.with_columns(negated=pl.lit(True)),
        lambda instances: instances.with_columns(subject2=pl.lit("Zoe").cast(pl.Categorical)),
        lambda instances: instances.with_columns(attribute=pl.col("subject1")),
    ],
    ids=["three instances", "both questions negated", "another subject", "another attribute"],
)
def test_a_malformed_swap_group_is_refused(malform: Callable[[pl.DataFrame], pl.DataFrame]) -> None:
    instances = malform(one_list(2))
    with pytest.raises(TableError, match="1 of 1 swap groups"):
        measured(instances, choosing(instances, ALWAYS))


def measure_cell(instances: Path, paths: list[Path], kind: str = "span") -> CellResults:
    return measure_any(FAMILY, instances, paths, kind, OPTIONS, DECLARED, "model", "dataset")


@pytest.fixture
def shards(tmp_path: Path) -> tuple[Path, list[Path]]:
    """The files of a small cell in three shards."""
    instances = one_list(4, attributes=2)
    predictions = choosing(instances, (pl.col("subject1") == "Carl") != pl.col("negated"))
    write_instances(instances, tmp_path / "instances.parquet", KEYS)
    paths = [tmp_path / f"shard-{number}.parquet" for number in range(3)]
    for number, path in enumerate(paths):
        write_table(predictions.slice(number * 16, 16), path, answer_schema("span"), {})
    return tmp_path / "instances.parquet", paths


def test_a_cell_is_measured_from_its_shards_in_any_order(shards: tuple[Path, list[Path]]) -> None:
    instances, paths = shards
    sums, evidence, parts = measure_cell(instances, paths)
    again = measure_cell(instances, paths[::-1])
    measures = measures_of_sums("underspecified", sums, OPTIONS)
    validate_table(sums, SUMS, "sums")
    validate_table(measures, MEASURES, "measures")
    validate_table(evidence, EVIDENCE, "evidence")
    validate_table(parts, EVIDENCE_PARTS, "evidence parts")
    assert sums.equals(again[0])
    assert evidence.equals(again[1])
    assert parts.equals(again[2])
    of_carl = measures.filter(pl.col("measure") == "gamma", pl.col("subject") == "Carl")
    assert of_carl["value"].unique().to_list() == [1]


def test_a_shard_that_is_read_twice_is_refused(shards: tuple[Path, list[Path]]) -> None:
    instances, paths = shards
    with pytest.raises(
        IncompleteCell,
        match="model on dataset: of 48 instances, 0 have no prediction and 16 have more",
    ):
        measure_cell(instances, [*paths, paths[0]])
    with pytest.raises(IncompleteCell, match="16 have no prediction"):
        measure_cell(instances, paths[:2])
    with pytest.raises(TableError, match="choice predictions"):
        measure_cell(instances, paths, "choice")
