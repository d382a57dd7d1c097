"""The snippets of docs/tables.md open the tables of a run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import needs
import pandas as pd
import polars as pl
import pytest
from documents import read_document
from polars.testing import assert_frame_equal
from project import Project

POLARS, PANDAS, ALL_CELLS = re.findall(
    r"```python\n(.*?)```", read_document("docs/tables.md"), flags=re.DOTALL
)
(R,) = re.findall(r"```r\n(.*?)```", read_document("docs/tables.md"), flags=re.DOTALL)


def run_code(code: str, results: Path) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(code.replace("results/demo", str(results)), names)  # The document's own.
    return names


def test_polars_and_pandas_find_the_same_numbers(
    finished: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    results = finished.folder / "results"
    ours, theirs = (run_code(code, results)["sure"] for code in (POLARS, PANDAS))
    assert isinstance(ours, pl.DataFrame)
    assert isinstance(theirs, pd.DataFrame)
    assert set(ours["model"]) == {"masked", "answering"}
    numbers = ours.select("measure", "value").rows()
    assert numbers == [*zip(theirs["measure"], theirs["value"], strict=True)]
    # Numbers of one measure alone are larger or smaller than each other.
    assert numbers == sorted(numbers, key=lambda row: (row[0], -row[1]))
    assert len({measure for measure, _ in numbers}) > 1
    run_code(ALL_CELLS, results)
    assert "Buddhist" in capsys.readouterr().out


@needs.r.mark
def test_r_finds_them_too(finished: Project, tmp_path: Path) -> None:
    results = finished.folder / "results"
    ours = run_code(POLARS, results)["sure"].select("model", "dataset", "measure", "value")
    table = tmp_path / "sure.csv"
    code = (
        R.replace("results/demo", str(results)) + f'write.csv(sure, "{table}", row.names = FALSE)'
    )
    told = subprocess.run(
        ["Rscript", "-e", code], capture_output=True, text=True, check=True
    ).stdout
    assert "answering" in told
    theirs = pl.read_csv(table).select(ours.columns)
    assert_frame_equal(ours, theirs, check_row_order=False)
