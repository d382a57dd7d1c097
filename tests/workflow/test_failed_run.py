"""A run that fails says what it has done, what failed and why, and what is missing; the next one
makes up for it.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from project import Project
from typer.testing import CliRunner

from biasgrid.cli.app import app

LOG = "results/logs/predict/religion/answering/1-of-1.log"


def manifest(project: Project) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        (project.folder / "results/manifest.failed.json").read_text()
    )
    return content


def test_the_manifest_of_a_failed_run_shows_what_is_done_failed_and_missing(
    failed: Project, finished: Project
) -> None:
    told = manifest(failed)
    (failure,) = told["failures"]
    assert (failure["rule"], failure["log"]) == ("predict", LOG)
    assert failure["error"].startswith(
        "results/instances/religion/qa.parquet: is not a readable instances table"
    )
    states = {(cell["dataset"], cell["model"]): cell["state"] for cell in told["cells"]}
    assert states.pop(("religion", "answering")) == "failed"
    assert set(states.values()) == {"done"}
    unmade = [
        "predictions/religion/answering/1-of-1.parquet",
        "measures/religion/answering.parquet",
    ]
    assert {*unmade, "summary.csv", "plots/grid", "report/index.html", "manifest.json"} <= {
        *told["missing"]
    }
    assert not any(
        "masked" in output or output.startswith("plots/gender") for output in told["missing"]
    )
    whole = json.loads((finished.folder / "results/manifest.json").read_text())
    assert (told["config"], told["config_file"]) == (whole["config"], "config/small.yaml")
    made = "measures/religion/masked.parquet"
    assert told["files"][made] == whole["files"][made]
    assert not (failed.folder / "results/manifest.json").exists()


def test_audit_and_status_report_a_failed_run(
    failed: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = failed.audited()
    assert found.exit_code == 1
    assert (
        f"The last run failed in predict ({LOG}): results/instances/religion/qa.parquet: is not a"
        in found.stdout
    )
    assert "unmade   results/measures/religion/answering.parquet" in found.stdout
    assert found.stdout.endswith("To make them again:\n  biasgrid run config/small.yaml\n")
    told = json.loads(failed.audited("--json").stdout)
    assert told["failures"] == manifest(failed)["failures"]
    monkeypatch.chdir(failed.folder)
    status = CliRunner().invoke(app, ["status", "config/small.yaml"])
    assert (
        "The last run failed: results/manifest.failed.json says what failed, why, and what is "
        "still missing"
    ) in " ".join(status.output.split())


def test_the_next_run_makes_a_manifest_in_its_place(
    failed: Project, finished: Project, tmp_path: Path
) -> None:
    project = failed.clone(tmp_path / "clone")
    (project.folder / "results/instances/religion/qa.parquet").unlink()
    project.run()
    assert not (project.folder / "results/manifest.failed.json").exists()
    assert project.audited().exit_code == 0
    project.check_same_tables(finished)
    assert project.planned() == {}


def test_a_manifest_that_a_failed_run_does_not_concern_stays(
    finished: Project, tmp_path: Path
) -> None:
    project = finished.clone(tmp_path / "clone")
    results = project.folder / "results"
    fetch = project.folder / "workflow/scripts/fetch.py"
    fetch.write_text(
        fetch.read_text().replace("start_log(snakemake.log[0])", "raise SystemExit(9)")
    )
    project.run("results/models/spare.json", succeeds=False)
    (failure,) = manifest(project)["failures"]
    assert (failure["rule"], failure["log"]) == ("fetch", "results/logs/fetch/models/spare.log")
    assert (
        "the job ended without an error message, so it was probably killed; if memory ran out"
        in failure["error"]
    )
    assert manifest(project)["missing"] == ["models/spare.json"]
    assert (results / "manifest.json").read_bytes() == (
        finished.folder / "results/manifest.json"
    ).read_bytes()
    told = json.loads(project.audited("--json").stdout)
    assert told["findings"] == [{"state": "unmade", "file": "models/spare.json"}]
    assert told["command"] == "biasgrid run config/small.yaml results/models/spare.json"


def test_a_run_that_finds_all_made_forgets_one_that_has_failed(finished: Project, tmp_path: Path):
    project = finished.clone(tmp_path)
    failed = project.folder / "results" / "manifest.failed.json"
    failed.write_text("{}")
    for arguments in (["--dry-run"], ["results/measures/religion/answering.parquet"]):
        assert "Nothing to be done" in project.run(*arguments)
        assert failed.exists()
    assert "Nothing to be done" in project.run()
    assert not failed.exists()
    assert project.audited().exit_code == 0
