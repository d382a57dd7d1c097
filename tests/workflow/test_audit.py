"""Outputs that are not what they were are found, and made again by the command that is told."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from project import Project


def test_outputs_of_a_run_are_as_they_were(finished: Project) -> None:
    found = finished.audited()
    assert found.exit_code == 0, found.stdout
    assert "files compared, 0 changed, missing or foreign." in found.stdout


def test_damaged_missing_and_foreign_files_are_named_and_made_again(
    finished: Project, tmp_path: Path
) -> None:
    project = finished.clone(tmp_path / "clone")
    results = project.folder / "results"
    (results / "plots/gender/ranks.svg").write_bytes(b"")
    (results / "summary.csv").write_text("model\n")
    (results / "measures/religion/masked.parquet").unlink()
    (results / "notes.txt").write_text("mine")
    found = project.audited("--json")
    assert found.exit_code == 1
    told = json.loads(found.stdout)
    assert [(one["state"], one["file"]) for one in told["findings"]] == [
        ("damaged", "plots/gender/ranks.svg"),
        ("damaged", "summary.csv"),
        ("missing", "measures/religion/masked.parquet"),
        ("foreign", "notes.txt"),
    ]
    removal, run = told["command"].split(" && ")
    assert removal == "rm -r results/plots/gender"
    subprocess.run(shlex.split(removal), cwd=project.folder, check=True)
    program, *arguments = shlex.split(run)
    assert program == "biasgrid"
    line = [sys.executable, "-c", "from biasgrid.cli.app import app; app()", *arguments]
    subprocess.run(line, cwd=project.folder, env=project.environment(), check=True)
    again = project.audited()
    assert again.exit_code == 0, again.stdout
    assert (results / "notes.txt").read_text() == "mine"


def test_no_empty_output_counts_as_done(finished: Project, tmp_path: Path) -> None:
    project = finished.clone(tmp_path / "clone")
    results = project.folder / "results"
    outputs = [
        path
        for path in results.rglob("*")
        if path.is_file() and path.relative_to(results).parts[0] != "logs"
    ]
    shown = [
        path
        for path in outputs
        if not any(part.startswith(".") for part in path.relative_to(results).parts)
    ]
    for path in shown:
        path.write_bytes(b"")
    output = project.run("--dry-run", succeeds=False)
    for path in shown:
        name = path.relative_to(project.folder)
        removed = name.parent if "plots" in name.parts else "it"
        assert f"{name}: is empty; remove {removed} and run again" in output
    assert "Traceback" not in output
    assert {path.name for path in shown} >= {
        "summary.csv",
        "index.html",
        "manifest.json",
        "ranks.svg",
        "masked.json",
    }


@pytest.mark.parametrize(
    ("rule", "file", "removed"),
    [
        ("report", "plots/gender/ranks.svg", "results/plots/gender"),
        ("report", "plots/gender/ranks.png", "results/plots/gender"),
        ("manifest", "timings/religion/masked/1-of-1.json", "it"),
    ],
)
def test_what_is_emptied_while_a_run_is_at_work_goes_nowhere(
    finished: Project, tmp_path: Path, rule: str, file: str, removed: str
) -> None:
    project = finished.clone(tmp_path / "clone")
    script = project.folder / f"workflow/scripts/{rule}.py"
    emptied = f"open('results/{file}', 'w').close()"
    text = script.read_text()
    script.write_text(text.replace("\nstart_job", f"\n{emptied}\nstart_job"))
    assert script.read_text() != text
    output = project.run("--forcerun", rule, succeeds=False)
    assert f"results/{file}: is empty; remove {removed} and run again" in output
    assert "Traceback" not in output
    assert not (project.folder / "results/manifest.json").exists()


def test_without_a_manifest_it_says_how_there_is_one(finished: Project, tmp_path: Path) -> None:
    project = finished.clone(tmp_path / "clone")
    manifest = project.folder / "results/manifest.json"
    manifest.write_text("{}")
    assert (
        "manifest.json: is not a manifest; remove it and run `biasgrid run`"
        in project.audited().stderr
    )
    manifest.unlink()
    found = project.audited()
    assert (found.exit_code, found.stdout) == (2, "")
    assert "there is no results/manifest.json; run `biasgrid run`" in found.stderr
