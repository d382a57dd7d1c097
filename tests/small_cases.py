"""Small tables of cases, and BiaXposer's own of its golden files beside the repository."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import golden
import polars as pl
import pytest
from shards import Cell

from biasgrid.table_files import empty_table
from biasgrid.tables.instances import CASES

FOLDER = golden.FOLDER.parent / "biaxposer"


def needs_golden_files() -> pytest.MarkDecorator:
    return pytest.mark.skipif(not FOLDER.is_dir(), reason="no golden files in ../shared/golden/biaxposer")


def cases_of(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """A table of cases with the given columns; those that models do not read hold anything."""
    schema = empty_table(CASES).schema
    keys = {"case": 0, "template": 0, "bias_type": "age", "group": "old", "term": "old man"}
    each = [{"instance": number, **keys, **row} for number, row in enumerate(rows)]
    return pl.DataFrame([dict.fromkeys(schema) | row for row in each], schema=schema)


def golden_cell(name: str, task: str, folder: Path) -> tuple[Cell, list[dict[str, Any]]]:
    """What BiaXposer asked its tiny model, and what that said of each instance."""
    said = [json.loads(line) for line in (FOLDER / f"raw_{name}.jsonl").read_text().splitlines()]
    rows = [
        {"text": each["inputs"]["text"], "targets": each.get("targets"), "label": each.get("gold_label")}
        for each in said
    ]
    return Cell(folder, task, cases_of(rows), FOLDER / "models" / name, "cases"), said
