"""What a user reads when something is wrong, through Snakemake."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from project import Project


def test_a_typo_in_the_config_names_key_value_and_nearest_name(
    small_config: dict[str, Any], tmp_path: Path
):
    project = Project.create(tmp_path / "project", small_config)
    config = project.read_config()
    config["run"]["models"] = ["maskd"]
    config["inference"]["precison"] = "float32"
    project.write_config(config)
    output = project.run("--dry-run", succeeds=False)
    assert re.search(
        r"config/small.yaml, line \d+, inference.precison: unknown key \(did "
        r"you mean 'precision'\?\)",
        output,
    )
    assert "Traceback" not in output


def test_faulty_word_lists_are_reported_before_any_work(
    small_config: dict[str, Any], tmp_path: Path
):
    project = Project.create(tmp_path / "project", small_config)
    templates = project.folder / "word_lists/templates/religion-qa.txt"
    templates.write_text(templates.read_text().replace("\tWho", " Who", 1))
    subjects = project.folder / "word_lists/subjects/religion.txt"
    subjects.write_text(subjects.read_text() + "[subj] Amish\n")
    output = project.run(succeeds=False)
    assert "religion-qa.txt, line" in output
    assert "2 tab-separated fields; expected 3" in output
    assert "subject 'Amish' is already in line" in output
    assert not (project.folder / "results").exists()


def test_a_missing_folder_of_a_model_is_named_with_all_config_files_before_any_work(
    small_config: dict[str, Any], tmp_path: Path
):
    project = Project.create(tmp_path / "project", small_config)
    files = ["config/small.yaml", "config/more.yaml"]
    (project.folder / files[1]).write_text("models: {masked: {folder: nowhere}}\n")
    output = project.run("--dry-run", "--configfile", *files, succeeds=False)
    expected = (
        "models.masked.folder: 'nowhere' is not a folder (looked for in config and this folder); "
        "expected a folder"
    )
    assert f"config/small.yaml + config/more.yaml, {expected}" in output


def test_a_key_that_is_repeated_is_named_with_its_lines(
    small_config: dict[str, Any], tmp_path: Path
):
    project = Project.create(tmp_path / "project", small_config)
    line = len(project.config_path.read_text().splitlines()) + 1
    with project.config_path.open("a") as file:
        file.write("title: Another\n")
    output = project.run("--dry-run", succeeds=False)
    assert (
        f"config/small.yaml, line {line}: the key 'title' is already in line 1; expected each key"
        in output
    )
    assert "Traceback" not in output


def test_a_tab_in_the_config_that_snakemake_takes_by_itself_is_named_with_its_line(
    small_config: dict[str, Any], tmp_path: Path
):
    project = Project.create(tmp_path / "project", small_config)
    (project.folder / "config/config.yaml").write_text("title: x\nmodels:\n\ta: 1\n")
    command = [sys.executable, "-m", "snakemake", "--dry-run"]
    environment = project.environment()
    told = subprocess.run(
        command, cwd=project.folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (
        "config/config.yaml, line 3: not YAML: a tab before the key; YAML takes spaces"
        in told.stdout
    )
    assert "Traceback" not in told.stdout


def test_the_workflow_runs_in_a_folder_that_is_not_its_own(
    small_config: dict[str, Any], tmp_path: Path
):
    project = Project.create(tmp_path / "project", small_config)
    (tmp_path / "elsewhere").mkdir()
    elsewhere = ("--directory", str(tmp_path / "elsewhere"))
    planned = project.planned(*elsewhere)
    assert (planned["report"], planned["predict"]) == (1, 6)
    project.write_config(small_config | {"word_lists": "word_list"})
    output = project.run("--dry-run", *elsewhere, succeeds=False)
    folders = (
        "(did you mean 'word_lists'?) (looked for in ../project/config and this "
        "folder and ../project)"
    )
    assert f"word_lists: there is no folder 'word_list' {folders}" in output


def test_a_home_that_cannot_be_written_to_stops_nothing(finished: Project, tmp_path: Path):
    project = finished.clone(tmp_path / "project")
    variables = (
        "HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "HF_HOME",
        "MPLCONFIGDIR",
    )
    nowhere = {name: f"/dev/null/{name.lower()}" for name in variables}
    project.run(
        "--forcerun", "results/predictions/religion/masked/1-of-1.parquet", environment=nowhere
    )
    validated = subprocess.run(
        [
            sys.executable,
            "-c",
            "from biasgrid.cli.app import app; app()",
            "validate",
            "config/small.yaml",
        ],
        cwd=project.folder,
        env=project.environment() | nowhere,
        capture_output=True,
        text=True,
        check=True,
    )
    assert validated.stderr == ""


def test_snakemake_writes_its_own_report(finished: Project, tmp_path: Path):
    project = finished.clone(tmp_path / "clone")
    project.run("--report", "report.html")
    assert (
        "of every cell, with a row per model and a column per dataset"
        in (project.folder / "report.html").read_text()
    )
