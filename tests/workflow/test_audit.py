"""Outputs that are not what they were are found, and made again by the command that is told."""

import json
import shlex
from pathlib import Path

import pytest
from project import Project


def test_outputs_of_a_run_are_as_they_were(finished: Project) -> None:
    found = finished.audited()
    assert found.returncode == 0, found.stdout
    assert "files compared, 0 not as they were." in found.stdout


def test_damaged_missing_and_foreign_files_are_named_and_made_again(finished: Project, tmp_path: Path) -> None:
    project = finished.clone(tmp_path / "clone")
    results = project.folder / "results"
    (results / "plots/gender/ranks.svg").write_bytes(b"")
    (results / "summary.csv").write_text("model\n")
    (results / "measures/religion/masked.parquet").unlink()
    (results / "notes.txt").write_text("mine")
    found = project.audited("--json")
    assert found.returncode == 1
    told = json.loads(found.stdout)
    assert [(one["state"], one["file"]) for one in told["findings"]] == [
        ("damaged", "plots/gender/ranks.svg"),
        ("damaged", "summary.csv"),
        ("missing", "measures/religion/masked.parquet"),
        ("foreign", "notes.txt"),
    ]
    program, *arguments = shlex.split(told["command"])
    assert program == "snakemake"
    project.run(*arguments)
    again = project.audited()
    assert again.returncode == 0, again.stdout
    assert (results / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("figure", ["ranks.svg", "ranks.png"])
def test_an_empty_figure_does_not_go_into_the_report(finished: Project, tmp_path: Path, figure: str) -> None:
    project = finished.clone(tmp_path / "clone")
    (project.folder / "results/plots/gender" / figure).write_bytes(b"")
    output = project.run("--forcerun", "report", succeeds=False)
    assert f"{figure}: the file is empty; remove results/plots/gender and run again" in output


def test_without_a_manifest_it_says_how_there_is_one(finished: Project, tmp_path: Path) -> None:
    project = finished.clone(tmp_path / "clone")
    manifest = project.folder / "results/manifest.json"
    manifest.write_text("{}")
    assert "an earlier version; remove it and run snakemake" in project.audited().stderr
    manifest.unlink()
    found = project.audited()
    assert (found.returncode, found.stdout) == (1, "")
    assert "there is no results/manifest.json; run snakemake with the config" in found.stderr
