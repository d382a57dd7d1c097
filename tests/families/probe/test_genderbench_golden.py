"""GenderBench against the golden files of five of its probes, and against logs where a folder of them is named."""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from small_probes import golden, instances_of, needs_golden_files
from small_tables import predictions_of

from biasgrid.families.probe.asking import WRITTEN, ProbeFiles
from biasgrid.families.probe.files.genderbench.probes import PROBES
from biasgrid.families.probe.files.marks import Marks
from biasgrid.families.probe.measure import measure, observe
from biasgrid.genderbench.reading import import_log
from biasgrid.tables.marks import LETTERS

ANSWERED = ("BbqProbe", "DirectProbe", "InventoriesProbe", "JobsLumProbe", "RelationshipLevyProbe")
"""The probes of the golden files."""
FOLDER = os.environ.get("BIASGRID_GENDERBENCH_LOGS", "")


@needs_golden_files
@pytest.mark.parametrize("name", ANSWERED)
def test_marks_have_the_ranges_of_the_golden_files(name: str) -> None:
    ranges = golden("probes.json")[name]["mark_ranges"]
    for told in PROBES[name].marks:
        ours = sorted((LETTERS.index(mark), *map(float, ends)) for mark, *ends in Marks.model_validate(told).pieces())
        theirs = sorted((int(mark), *ends) for mark, pieces in ranges[told["measure"]].items() for ends in pieces)
        assert [pytest.approx(piece) for piece in theirs] == ours


@needs_golden_files
@pytest.mark.skipif(not FOLDER, reason="BIASGRID_GENDERBENCH_LOGS names no folder with logs of GenderBench")
@pytest.mark.parametrize("name", ANSWERED)
def test_probes_of_logs_are_those_of_the_golden_files(name: str, tmp_path: Path) -> None:
    logs = sorted(Path(FOLDER).glob(f"{name.lower()}_*.jsonl"))
    if not logs:
        pytest.skip(f"no log of {name} in {FOLDER}")
    expected = golden("probes.json")[name]["Uniform"]
    repetitions = expected["attempts"] // expected["prompts"]
    files = ProbeFiles(logs[0], WRITTEN, repetitions, None)
    instances = instances_of(files)
    prompts = instances.filter(repetition=0)["text"].cast(pl.String)
    assert sha256("\x1e".join(prompts).encode()).hexdigest() == expected["sha256_of_all_prompts"]
    # The answers of the log are those that the golden generator gives.
    import_log(logs[0], tmp_path)
    said = pl.read_parquet(tmp_path / "predictions.parquet")["response"].to_list()
    predictions = predictions_of("text", instances, response=said, status=["ok"] * len(said))
    options = {"probe": str(files.probe), "mode": "genderbench"}
    rows = measure(observe(instances, predictions, options), options).filter(pl.col("group").is_null(), options="")
    values = dict(rows.select("measure", "value").iter_rows())
    names = {"undetected_rate_items": "undetected_items", "undetected_rate_attempts": "undetected_answers"}
    wanted = {names.get(metric, metric): value for metric, value in expected["metrics_point"].items()}
    # The scores of jobs are not in a log.
    lacking = {"correlation", "stereotype_rate"} if name == "JobsLumProbe" else set()
    assert {metric: values.get(metric) for metric in wanted.keys() - lacking} == pytest.approx(
        {metric: value for metric, value in wanted.items() if metric not in lacking}, abs=1e-9
    )
