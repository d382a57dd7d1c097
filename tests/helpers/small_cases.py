"""Small tables of cases, and BiaXposer's own of its golden files beside the repository."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import golden
import polars as pl
import pytest
from shards import Cell, asked
from small_tables import counted, polars_schema

from biasgrid.tables.instances import TEXTS, instances_schema

FOLDER = golden.FOLDER.parent / "biaxposer"


def needs_golden_files() -> pytest.MarkDecorator:
    return pytest.mark.skipif(not FOLDER.is_dir(), reason="no golden files in ../shared/golden/biaxposer")


def cases_of(rows: Sequence[dict[str, Any]]) -> pl.DataFrame:
    """Instances with the given columns; those that models do not read hold anything. `targets` are candidates."""
    # Tests of models ask BiaXposer's own, which need no family.
    from biasgrid.families.counterfactual.keys import KEYS

    most = max(len(row.get("targets") or ()) for row in rows)
    candidates = [f"candidate{place + 1}" for place in range(most)]
    schema = polars_schema(
        instances_schema(KEYS, dict.fromkeys(TEXTS, pl.String) | dict.fromkeys(candidates, pl.Categorical))
    )
    keys = {"case": 0, "template": 0, "bias_type": "age", "group": "old", "term": "old man"}
    each = [{"instance": number, **keys, **row} for number, row in enumerate(rows)]
    words = [dict(zip(candidates, row.get("targets") or (), strict=False)) for row in rows]
    known = [{name: value for name, value in row.items() if name in schema} for row in each]
    filled = [dict.fromkeys(schema) | row | beside for row, beside in zip(known, words, strict=True)]
    return counted(pl.DataFrame(filled, schema=schema))


def golden_cell(name: str, task: str, folder: Path) -> tuple[Cell, list[dict[str, Any]]]:
    """What BiaXposer asked its tiny model, and what that said of each instance."""
    said = [json.loads(line) for line in (FOLDER / f"raw_{name}.jsonl").read_text().splitlines()]
    rows = [{"text": each["inputs"]["text"], "candidates": each.get("targets")} for each in said]
    return Cell(folder, task, asked(rows), FOLDER / "models" / name), said
