"""Models that the workflow trains: what their records say, and what is refused before training."""

import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from project import Project

from biasgrid.jobs.lock import one_job

RECORD = "results/models/masked.json"
WEIGHTS = "results/trained/masked/model.safetensors"


@pytest.fixture
def project(small_config: dict[str, Any], tmp_path: Path) -> Project:
    """A small grid whose masked model is trained on `corpus.txt` from the checkpoint in `base`."""
    project = Project.create(tmp_path / "project", small_config)
    config = project.read_config()
    masked = config["models"]["masked"]
    shutil.copytree(masked.pop("folder"), project.folder / "base")
    masked["train"] = {
        "base": {"folder": "base"},
        "data": "corpus.txt",
        "hyperparameters": {"epochs": 1},
    }
    project.write_config(config)
    (project.folder / "corpus.txt").write_text("The cook is good.\nThe cook is bad.\n")
    return project


def test_a_record_says_what_the_model_was_trained_on_and_by_what(project: Project):
    project.run(RECORD)
    training = json.loads((project.folder / RECORD).read_text())["training"]
    assert (
        training["data_sha256"] == sha256((project.folder / "corpus.txt").read_bytes()).hexdigest()
    )
    assert training["base"]["folder"] == "base"
    assert training["device"] == "cpu"
    assert {"torch", "transformers"} <= training["libraries"].keys()
    assert {"biasgrid", "code", "hardware", "hyperparameters"} <= training.keys()
    before = {name: (project.folder / name).read_bytes() for name in (RECORD, WEIGHTS)}
    project.run(RECORD, "--forcerun", "train")
    assert before == {name: (project.folder / name).read_bytes() for name in (RECORD, WEIGHTS)}
    (project.folder / "corpus.txt").write_text("The cook is good.\nThe cook is old.\n")
    assert project.planned(RECORD) == {"train": 1, "fetch": 1}


def facts(project: Project, **changes: str) -> dict[str, Any]:
    """Returns what a trained model says of itself, after some of it was changed: what is read again
    shows it.
    """
    path = project.folder / "results/trained/masked/training.json"
    content: dict[str, Any] = json.loads(path.read_text()) | changes
    if changes:
        # Its links in other folders say the same.
        path.write_text(json.dumps(content))
    return content


def train_longer(project: Project) -> None:
    """Changes a setting that makes another model of the same data."""
    config = project.read_config()
    config["models"]["masked"]["train"]["hyperparameters"]["epochs"] = 2
    project.write_config(config)


def test_a_model_is_trained_once_for_the_same_data_and_settings(project: Project):
    project.run(WEIGHTS)
    facts(project, device="kept")
    project.run(WEIGHTS, "--forcerun", "train")
    assert facts(project)["device"] == "kept"
    train_longer(project)
    project.run(WEIGHTS)
    assert facts(project)["device"] == "cpu"


def test_data_that_are_gone_are_named_though_there_are_weights(project: Project):
    project.run(WEIGHTS)
    config = project.read_config()
    config["models"]["masked"]["train"]["data"] = "copus.txt"
    project.write_config(config)
    output = project.run(WEIGHTS, succeeds=False)
    problem = (
        "there is no file 'copus.txt' (did you mean 'corpus.txt'?) (looked for in config "
        "and this folder)"
    )
    assert (
        f"models.masked.train.data: {problem}; expected a file with training data for fill-mask"
        in output
    )


def test_a_base_whose_weights_have_changed_unnoticed_is_refused(project: Project):
    project.run("results/bases/masked.json")
    path = project.folder / "base/model.safetensors"
    before = path.stat()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    output = project.run(WEIGHTS, succeeds=False)
    assert (
        "base: model.safetensors changed since the model's record was made; expected the same files"
        in output
    )
    assert "Traceback" not in output


def test_a_training_that_is_at_work_already_is_waited_for(project: Project):
    config = project.read_config()
    config["inference"]["time_limit"] = 0.02
    project.write_config(config)
    with one_job(project.folder / "results/.parts/trained/masked.lock", 1):
        output = project.run(WEIGHTS, succeeds=False)
    assert (
        "trained/masked.lock: another job has held this lock for 0.0167 minutes; end that job"
        in output
    )
    project.run(WEIGHTS)


def test_choosing_fewer_datasets_plants_and_trains_nothing_again(
    small_config: dict[str, Any], tmp_path: Path
):
    answering = {
        key: value for key, value in small_config["models"]["answering"].items() if key != "folder"
    }
    answering["train"] = {"synthetic": "some", "hyperparameters": {"epochs": 0.01}}
    synthetic = {
        "models": {"answering": answering},
        "synthetic": {"strengths": {"some": 0.5}, "repeats": 1},
    }
    run = {"models": ["answering"], "datasets": ["gender", "religion"]}
    project = Project.create(tmp_path / "project", small_config | synthetic | {"run": run})
    weights = "results/trained/answering/model.safetensors"
    project.run(weights)
    project.write_config(project.read_config() | {"run": run | {"datasets": ["religion"]}})
    assert not {"synthetic", "train"} & project.planned().keys()
    config = project.read_config()
    config["synthetic"]["seed"] = 2
    project.write_config(config)
    assert project.planned(weights) == {"synthetic": 2, "train": 1}
