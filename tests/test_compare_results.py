"""The comparison of two folders of results sees every number that differs, is missing or is new."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from compare_results import SINCE_0_1_0, compare_results

MEASURES = pl.DataFrame(
    {
        "measure": ["mu_excess", "mu_excess", "eta"],
        "over": ["templates", "all", None],
        "n": [3, 3, 4],
        "value": [0.25, None, 2000.0],
        "parts": [["a"], ["b"], []],
    },
    schema_overrides={"measure": pl.Categorical},
)
NAMES = {"mu_excess": "mu_corrected", "over": "generalises_to", "planted": "synthetic"}


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
        "measures/gender/model.parquet: 1 rows, such as {'measure': 'mu_excess', 'over': 'templates', 'n': '3'}",
        "measures/gender/model.parquet: 1 values of value",
    ]
    assert found.added == [
        "measures/gender/model.parquet: the column more",
        "measures/gender/model.parquet: 1 values of value",
    ]


def test_names_of_before_are_known(tmp_path: Path) -> None:
    old = write(tmp_path / "old", "planted/gender/model", MEASURES)
    renamed = MEASURES.with_columns(pl.col("measure").cast(pl.String).replace("mu_excess", "mu_corrected"))
    new = write(tmp_path / "new", "synthetic/gender/model", renamed.rename({"over": "generalises_to"}))
    assert compare_results(old, new, NAMES).missing == []
    assert compare_results(old, new, NAMES).added == []
    assert compare_results(old, new).missing == ["planted/gender/model.parquet: the table"]


def test_what_holds_no_measures_is_left_out(tmp_path: Path) -> None:
    old, new = pair(tmp_path, MEASURES)
    write(old, "predictions/gender/model/1-of-1", MEASURES)
    write(new, ".answers/gender/model/x/1", MEASURES)
    assert compare_results(old, new).missing == []
    assert compare_results(old, new).added == []


GAMMA = {
    "model": "m",
    "dataset": "gender",
    "measure": "gamma",
    "options": "",
    "subject": ["Ann", "Bea"],
    "value": [0.1, 0.2],
}
OVER_NAMES = {"low": [0.0, 0.1], "high": [0.2, 0.3], "q": [0.01, 0.02]}
OVER_ALL = {"low": [-0.1, 0.0], "high": [0.3, 0.4], "q": [0.1, 0.2]}


def of_before(folder: Path) -> Path:
    """Results in which numbers are told twice."""
    write(folder, "measures/gender/m", pl.DataFrame(GAMMA | {"n": 4, "left_out": 0}))
    rows = [pl.DataFrame(GAMMA | {"n": 4, "generalises_to": "templates", "clusters": 3, "p": 0.001} | OVER_NAMES)]
    rows.append(pl.DataFrame(GAMMA | {"n": 4, "generalises_to": "all", "clusters": 3, "p": 0.001} | OVER_ALL))
    alone = {
        "measure": ["mu_corrected"],
        "value": [0.3],
        "generalises_to": ["templates"],
        "clusters": [3],
        "low": [0.2],
    }
    rows.append(pl.DataFrame({"model": ["m"], "dataset": ["gender"], "options": [""], "n": [4], **alone}))
    write(folder, "statistics/gender/m", pl.concat(rows, how="diagonal_relaxed"))
    cell = {"model": ["m"], "dataset": ["gender"]}
    sources = {"block": [None], "name": ["pair"], "value": [0.5], "share": [1.0]}
    write(folder, "variances/gender/m", pl.DataFrame(cell | sources, schema_overrides={"block": pl.UInt16}))
    of_cluster = {"mu_without": [0.1], "correlation": [0.2], "like": [1], "likeness": [0.3]}
    write(
        folder, "template_clusters/gender/m", pl.DataFrame(cell | {"cluster": [0], "templates": ["0, 1"]} | of_cluster)
    )
    return write(folder, "by_template/gender/m", pl.DataFrame(cell | {"comparison": [0.1]}))


def of_now(folder: Path) -> Path:
    """The same results, each number told once."""
    rows = [
        pl.DataFrame(
            GAMMA | {"n": 4, "left_out": 0, "generalises_to": "clusters x names", "clusters": 3, "p": 0.001} | OVER_ALL
        )
    ]
    alone = {"measure": ["mu_corrected"], "value": [0.3], "generalises_to": ["items"], "clusters": [3], "low": [0.2]}
    rows.append(
        pl.DataFrame({"model": ["m"], "dataset": ["gender"], "options": [""], "n": [4], "left_out": [0], **alone})
    )
    write(folder, "measures/gender/m", pl.concat(rows, how="diagonal_relaxed"))
    others = GAMMA | {"n": 4, "generalises_to": "clusters", "clusters": 3, "p": 0.001} | OVER_NAMES
    write(folder, "intervals/gender/m", pl.DataFrame(others))
    cell = {"model": "m", "dataset": "gender"}
    found = [{"name": "pair", "value": 0.5, "share": 1.0}]
    about = {"cluster": 0, "templates": "0, 1", "like": 1}
    found += [about | {"name": name, "value": value} for name, value in (("mu_without", 0.1), ("correlation", 0.2))]
    found.append(about | {"name": "likeness", "value": 0.3})
    write(folder, "design/gender/m", pl.DataFrame([cell | row for row in found]))
    return write(folder, "sums/gender/m", pl.DataFrame({"sums": [[0.1, 1.0]]}))


def test_numbers_that_were_told_twice_are_compared_with_those_told_once(tmp_path: Path) -> None:
    found = compare_results(of_before(tmp_path / "old"), of_now(tmp_path / "new"), SINCE_0_1_0)
    assert found.missing == []
    assert found.added == ["measures/gender/m.parquet: 1 values of left_out"]
    assert found.largest == 0
    # Values, n and left_out of the whole; of either factor value, ends, p, q and clusters; of the design.
    assert found.numbers == 2 * 3 + 2 + 2 * 2 * 6 + 3 + 4 + 1


def test_an_interval_over_other_factors_that_differs_or_is_missing_is_found(tmp_path: Path) -> None:
    old, new = of_before(tmp_path / "old"), of_now(tmp_path / "new")
    intervals = pl.read_parquet(new / "intervals/gender/m.parquet")
    write(new, "intervals/gender/m", intervals.with_columns(low=pl.col("low") + 0.25))
    assert compare_results(old, new, SINCE_0_1_0).largest == pytest.approx(0.25)
    write(new, "intervals/gender/m", intervals.head(1))
    (missing,) = compare_results(old, new, SINCE_0_1_0).missing
    assert missing.startswith("measures/gender/m.parquet: 1 rows, such as {")
    assert "'subject': 'Bea', 'over': 'templates'" in missing
