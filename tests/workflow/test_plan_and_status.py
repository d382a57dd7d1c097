"""What `biasgrid plan` and `biasgrid status` say of a real run: before it, while it runs, when it
fails, and after.
"""

import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from project import Project
from typer.testing import CliRunner

from biasgrid.cli.app import app

CELLS = ("gender/masked", "gender/answering", "religion/masked", "religion/answering")


def told(command: str, project: Project, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(project.folder)
    result = CliRunner().invoke(app, [command, "config/small.yaml", "--json"])
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.output)
    content["cells"] = {f"{cell['dataset']}/{cell['model']}": cell for cell in content["cells"]}
    return content


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    return finished.clone(tmp_path / "clone")


def test_a_plan_is_what_the_run_then_makes(
    project: Project, small_config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    before = told("plan", Project.create(tmp_path / "fresh", small_config), monkeypatch)
    after = told("plan", project, monkeypatch)
    assert set(before["cells"]) == set(CELLS)
    for cell, planned in before["cells"].items():
        made = pl.read_parquet(after["cells"][cell]["instances_table"], columns=["instance"])
        assert (planned["instances"], planned["instances_is"]) == (len(made), "exact")
        for key in ("sequences", "tokens", "parameters", "flop"):
            assert planned[key] == after["cells"][cell][key] > 0
    manifest = json.loads((project.results / "manifest.json").read_text())
    for made in manifest["cells"]:
        planned = before["cells"][f"{made['dataset']}/{made['model']}"]
        assert planned["sequences"] == made["sequences"]
        assert planned["tokens"] == pytest.approx(made["tokens"], rel=0.1)
    assert (before["totals"]["shards_done"], before["totals"]["measured"]) == (0, 0)
    assert (
        after["totals"]["shards_done"],
        after["totals"]["shards"],
        after["totals"]["measured"],
    ) == (6, 6, 4)
    assert {cell["predictions_bytes_is"] for cell in after["cells"].values()} == {"exact"}


def test_a_finished_run_is_done_and_measured(project: Project, monkeypatch: pytest.MonkeyPatch):
    status = told("status", project, monkeypatch)
    assert status["totals"]["states"] == {
        "failed": 0,
        "running": 0,
        "incomplete": 0,
        "waiting": 0,
        "done": 4,
    }
    assert status["totals"]["rows"] == status["totals"]["instances"]
    assert status["failures"] == []
    assert all(
        cell["measured"] and cell["rows_per_second"] > 0 for cell in status["cells"].values()
    )


def test_a_shard_at_work_is_seen_and_so_is_that_it_was_killed(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    target = "results/predictions/gender/answering/1-of-2.parquet"
    (project.folder / target).unlink()
    answers = project.folder / "results/.answers/gender/answering"
    shutil.rmtree(answers)
    beat = answers / "1-of-2.json"
    process = project.start(target)
    while not beat.exists() and process.poll() is None:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGSTOP)
    status = told("status", project, monkeypatch)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert status["cells"]["gender/answering"]["state"] == "running"
    assert status["totals"]["states"]["done"] == 3
    beat.write_text(json.dumps(json.loads(beat.read_text()) | {"at": time.time() - 121}))
    status = told("status", project, monkeypatch)
    assert status["cells"]["gender/answering"]["state"] == "incomplete"


def test_failures_are_reported_with_their_last_words(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    target = "results/predictions/religion/answering/1-of-1.parquet"
    (project.folder / target).unlink()
    (project.folder / "results/instances/religion/qa.parquet").write_bytes(b"PAR1")
    config = project.read_config()
    config["run"]["models"].append("spare")
    # What only fetching notices: code of the checkpoint's own.
    shutil.copytree(config["models"]["answering"]["folder"], project.folder / "own")
    (project.folder / "own/config.json").write_text(
        json.dumps({"model_type": "mine", "auto_map": {"AutoModel": "x.X"}})
    )
    config["models"]["spare"]["folder"] = "own"
    project.write_config(config)
    project.run(target, "results/models/spare.json", succeeds=False)
    status = told("status", project, monkeypatch)
    cell = status["cells"]["religion/answering"]
    assert cell["state"] == "failed"
    (failure,) = cell["failures"]
    assert failure["log"] == "results/logs/predict/religion/answering/1-of-1.log"
    assert "results/instances/religion/qa.parquet" in failure["error"]
    assert cell["expanded"] is False
    (failure,) = status["failures"]
    assert failure["rule"] == "fetch"
    assert "own runs its own code" in failure["error"]
