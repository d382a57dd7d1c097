"""GenderBench's own probes as its logs have them, against the golden files: those who have them name a folder of logs.

A log is made with the golden files' generator: `Probe(calculate_cis=False, log_dir=...).run(Uniform(kind))`, with the
arguments that `probes.json` names.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from small_probes import golden, needs_golden_files

from biasgrid.genderbench.reading import import_log
from biasgrid.tables.marks import LETTERS

FOLDER = os.environ.get("BIASGRID_GENDERBENCH_LOGS", "")
PROBES = ("BbqProbe", "DirectProbe", "InventoriesProbe", "JobsLumProbe", "RelationshipLevyProbe")
BETWEEN = "\x1e"
"""What stands between prompts that are hashed together."""


@needs_golden_files
@pytest.mark.skipif(not FOLDER, reason="BIASGRID_GENDERBENCH_LOGS names no folder with logs of GenderBench")
@pytest.mark.parametrize("name", PROBES)
def test_imported_probes_are_those_of_the_golden_files(name: str, tmp_path: Path) -> None:
    logs = sorted(Path(FOLDER).glob(f"{name.lower()}_*.jsonl"))
    if not logs:
        pytest.skip(f"no log of {name} in {FOLDER}")
    expected: dict[str, Any] = golden("probes.json")[name]["Uniform"]
    import_log(logs[0], tmp_path)
    instances = pl.read_parquet(tmp_path / "instances.parquet")
    prompts = instances["text"].cast(pl.String)
    assert sha256(BETWEEN.join(prompts).encode()).hexdigest() == expected["sha256_of_all_prompts"]
    assert (instances["item"].n_unique(), len(instances)) == (expected["items"], expected["attempts"])
    numbers = pl.read_csv(tmp_path / "genderbench.csv")
    values = dict(numbers.select("measure", "value").iter_rows())
    assert values == pytest.approx(expected["metrics_point"], abs=1e-9)
    marks = dict(numbers.drop_nulls("mark").select("measure", "mark").iter_rows())
    assert marks == {measure: LETTERS[mark] for measure, mark in expected["marks_point"].items()}
