"""The comparison of two folders of results sees every number that differs, is missing or is new."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from compare_results import compare_results

MEASURES = pl.DataFrame(
    {
        "measure": ["mu_before", "mu_before", "eta"],
        "over": ["templates", "all", None],
        "n": [3, 3, 4],
        "value": [0.25, None, 2000.0],
        "parts": [["a"], ["b"], []],
    },
    schema_overrides={"measure": pl.Categorical},
)
NAMES = {"mu_before": "mu_corrected", "over": "generalises_to", "known": "synthetic"}


def write(folder: Path, name: str, table: pl.DataFrame) -> Path:
    path = folder / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    table.write_parquet(path)
    return folder


def pair(tmp_path: Path, table: pl.DataFrame) -> tuple[Path, Path]:
    old = write(tmp_path / "old", "measures/gender/model", MEASURES)
    return old, write(tmp_path / "new", "measures/gender/model", table)


def test_equal_folders_have_no_difference(tmp_path: Path) -> None:
    # Another order of the rows is no difference.
    found = compare_results(*pair(tmp_path, MEASURES[::-1]))
    assert (found.numbers, found.largest, found.missing, found.added) == (2, 0.0, [], [])


def test_a_number_that_differs_is_found(tmp_path: Path) -> None:
    changed = MEASURES.with_columns(value=pl.Series([0.25, None, 2000.0000001]))
    found = compare_results(*pair(tmp_path, changed))
    assert found.largest == pytest.approx(5e-11)
    assert found.where == "measures/gender/model.parquet: value"
    assert found.missing == found.added == []


def test_rows_columns_and_values_that_one_lacks(tmp_path: Path) -> None:
    changed = MEASURES[1:].drop("parts").with_columns(value=pl.Series([1.0, None]), more=1.0)
    found = compare_results(*pair(tmp_path, changed))
    assert found.missing == [
        "measures/gender/model.parquet: the column parts",
        "measures/gender/model.parquet: 1 rows, such as {'measure': 'mu_before', 'over': 'templates', 'n': '3'}",
        "measures/gender/model.parquet: 1 values of value",
    ]
    assert found.added == [
        "measures/gender/model.parquet: the column more",
        "measures/gender/model.parquet: 1 values of value",
    ]


def test_names_of_before_are_known(tmp_path: Path) -> None:
    old = write(tmp_path / "old", "known/gender/model", MEASURES)
    renamed = MEASURES.with_columns(pl.col("measure").cast(pl.String).replace("mu_before", "mu_corrected"))
    new = write(tmp_path / "new", "synthetic/gender/model", renamed.rename({"over": "generalises_to"}))
    assert compare_results(old, new, NAMES).missing == []
    assert compare_results(old, new, NAMES).added == []
    assert compare_results(old, new).missing == ["known/gender/model.parquet: the table"]


def test_what_holds_no_measures_is_left_out(tmp_path: Path) -> None:
    old, new = pair(tmp_path, MEASURES)
    write(old, "predictions/gender/model/1-of-1", MEASURES)
    write(new, ".answers/gender/model/x/1", MEASURES)
    assert compare_results(old, new).missing == []
    assert compare_results(old, new).added == []
