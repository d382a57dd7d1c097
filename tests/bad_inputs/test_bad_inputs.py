"""Every bad input ends with one message and exit code 2, in time, and leaves nothing behind."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import base
import pytest
import yaml
from changes import GONE, Bad
from in_time import in_time
from table import TABLE
from typer.testing import CliRunner

from biasgrid.cli.app import app

runner = CliRunner()
pytestmark = pytest.mark.usefixtures(in_time.__name__)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project without faults, in which the command runs."""
    base.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_HOME_OF_TESTS", "/srv/models")
    return tmp_path


def change(project: Path, row: Bad) -> None:
    """Makes the input bad."""
    file = project / row.at
    if "/" in row.at or row.at == "config.yaml":
        content = row.put(file.read_text()) if callable(row.put) else row.put
        assert callable(row.put) is False or content != file.read_text(), (
            "the change changes nothing"
        )
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return
    config = base.config()
    place: Any = config
    *path, last = row.at.split(".")
    for key in path:
        place = place[key]
    if row.put is GONE:
        del place[last]
    else:
        place[last] = row.put
    base.write_config(project, config)


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def told(project: Path) -> str:
    """What `validate` prints of a fault; nothing else may happen."""
    before = files(project)
    result = runner.invoke(app, ["validate", "config.yaml"])
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert files(project) == before
    heading, *faults = result.stderr.splitlines()
    assert heading.startswith(f"{len(faults)} fault"), result.stderr
    assert all("; expected " in fault for fault in faults)
    # What is missing altogether stands in no line.
    keys = [
        fault
        for fault in faults
        if fault.startswith("  config.yaml, ") and ": missing; " not in fault
    ]
    assert all(re.match(r"  config.yaml, line \d+", fault) for fault in keys), result.stderr
    return result.stderr


def test_the_project_has_no_faults(project: Path) -> None:
    result = runner.invoke(app, ["validate", "config.yaml"])
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_corpus_is_large() -> None:
    assert len(TABLE) >= 300


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row.at}-{str(row.put)[:20]!a}")
def test_a_bad_input_is_reported_in_one_message(project: Path, row: Bad) -> None:
    change(project, row)
    message = told(project)
    assert [words for words in row.says if words not in message] == [], message


@pytest.mark.parametrize(
    ("registry", "old", "new", "message"),
    [
        (
            "models",
            "masked",
            "Answering",
            "models.Answering: differs from 'answering' only in case, which some disks ignore",
        ),
        (
            "datasets",
            "people",
            "grid",
            (
                "datasets.grid: is reserved for the files that compare all datasets; "
                "expected a different"
            ),
        ),
        ("datasets", "people", "MOODS", "datasets.MOODS: differs from 'moods' only in case"),
    ],
)
def test_names_that_would_share_a_folder_are_refused(
    project: Path, registry: str, old: str, new: str, message: str
) -> None:
    config = base.config()
    config[registry][new] = config[registry].pop(old)
    (project / "config.yaml").write_text(
        yaml.safe_dump(config, sort_keys=False).replace(f"- {old}\n", f"- {new}\n")
    )
    assert message in told(project)


def test_questions_to_train_on_are_read(project: Path) -> None:
    config = base.config()
    answering = config["models"]["answering"]
    answering["train"] = {"base": {"folder": answering.pop("folder")}, "data": "dumps/people.json"}
    base.write_config(project, config)
    assert "  dumps/people.json, data: missing; expected " in told(project)


def test_a_large_dump_is_left_to_its_job(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biasgrid.runs.checks.LARGEST_INPUT", 10)
    (project / "dumps/people.json").write_text("no dump at all")
    result = runner.invoke(app, ["validate", "config.yaml"])
    assert (result.exit_code, result.stderr) == (0, "")
    assert "dumps/people.json: larger than" in result.stdout


@pytest.mark.parametrize(
    "name", ["word_lists/subjects/people.txt", "word_lists/pack/groups.json", "config.yaml"]
)
def test_a_pipe_is_not_waited_for(project: Path, name: str) -> None:
    (project / name).unlink()
    os.mkfifo(project / name)
    result = runner.invoke(app, ["validate", "config.yaml"])
    assert result.exit_code == 2
    assert f"{name}: is a pipe or a device; expected" in result.stderr


@pytest.mark.parametrize(
    "name", ["word_lists/subjects/people.txt", "word_lists/pack/groups.json", "config.yaml"]
)
def test_a_device_without_end_is_not_read(project: Path, name: str) -> None:
    (project / name).unlink()
    (project / name).symlink_to("/dev/zero")
    assert f"{name}: is a pipe or a device; expected" in told(project)


@pytest.mark.parametrize(
    "name", ["word_lists/subjects/people.txt", "word_lists/pack/fillings/food.txt"]
)
def test_a_folder_is_no_file(project: Path, name: str) -> None:
    (project / name).unlink()
    (project / name).mkdir()
    shutil.copy(project / "config.yaml", project / name / "x")
    assert name.split("/")[-1] in told(project)


def test_a_file_that_is_too_large_is_not_read(project: Path) -> None:
    with (project / "word_lists/subjects/people.txt").open("ab") as file:
        file.truncate(65 * 2**20)
    assert "people.txt: 65 MiB; expected" in told(project)


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (
            "model.safetensors",
            "'models/tiny' contains no weights; expected model.safetensors or model-*.safetensors",
        ),
        ("vocab.txt", "'models/tiny' contains no tokenizer; expected one of tokenizer.json"),
        (
            "config.json",
            "'models/tiny' contains no config.json; expected a folder with a checkpoint",
        ),
    ],
)
def test_a_checkpoint_without_a_part_is_reported(project: Path, file: str, message: str) -> None:
    (project / "models/tiny" / file).unlink()
    assert message in told(project)


def test_pickled_weights_must_be_allowed(project: Path) -> None:
    (project / "models/tiny/model.safetensors").rename(project / "models/tiny/pytorch_model.bin")
    assert (
        "contains weights in pickled files only (pytorch_model.bin); expected model.safetensors, or"
        in told(project)
    )
