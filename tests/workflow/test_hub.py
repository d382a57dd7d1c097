"""Models from the hub: fetched once at a commit, then used without the network."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hub import COMMIT, LATER_COMMIT, Repository, serve_hub
from project import Project

RECORD = "results/models/masked.json"
PREDICTIONS = "results/predictions/religion/masked/1-of-1.parquet"
CODE = """
from huggingface_hub import is_offline_mode
from transformers import BertConfig, BertForMaskedLM

if not is_offline_mode():
    raise ImportError("the hub is not switched off")

class NewConfig(BertConfig):
    model_type = "new"

class NewForMaskedLM(BertForMaskedLM):
    config_class = NewConfig
"""


@pytest.fixture
def project(small_config: dict[str, Any], tmp_path: Path) -> Project:
    """A small grid whose masked model is `tiny/masked` of the hub."""
    project = Project.create(tmp_path / "project", small_config)
    config = project.read_config()
    config["models"]["masked"].pop("folder")
    config["models"]["masked"] |= {"checkpoint": "tiny/masked", "revision": "main"}
    project.write_config(config)
    return project


@pytest.fixture
def repository(small_config: dict[str, Any], tmp_path: Path) -> Repository:
    """The files of the masked model, which can be changed."""
    return Repository(
        Path(shutil.copytree(small_config["models"]["masked"]["folder"], tmp_path / "repository"))
    )


def read_record(project: Project, path: str = RECORD) -> dict[str, Any]:
    return json.loads((project.folder / path).read_text())


def test_a_model_is_fetched_at_its_commit_and_used_without_any_request(
    project: Project, repository: Repository, tmp_path: Path
):
    with serve_hub({"tiny/masked": repository}) as hub:
        environment = hub.environment(tmp_path / "cache")
        project.run(RECORD, environment=environment)
        hub.requests.clear()
        project.run(PREDICTIONS, environment=environment)
        assert hub.requests == []
    record = read_record(project)
    assert (record["requested"], record["revision"]) == ("main", COMMIT)
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(record["files"])


def test_a_branch_is_resolved_once(project: Project, repository: Repository, tmp_path: Path):
    with serve_hub({"tiny/masked": repository}) as hub:
        environment = hub.environment(tmp_path / "cache")
        project.run(RECORD, environment=environment)
        repository.commit = LATER_COMMIT
        config = project.read_config()
        config["models"]["masked"]["allow_pickle"] = True
        project.write_config(config)
        assert project.planned(RECORD) == {"fetch": 1}
        project.run(RECORD, environment=environment)
        assert read_record(project)["revision"] == COMMIT
        (project.folder / RECORD).unlink()
        project.run(RECORD, environment=environment)
        assert read_record(project)["revision"] == LATER_COMMIT


def test_the_base_of_a_training_is_fetched_first_and_recorded(
    project: Project, repository: Repository, tmp_path: Path
):
    config = project.read_config()
    masked = config["models"]["masked"]
    source = {key: masked.pop(key) for key in ("checkpoint", "revision")}
    masked["train"] = {
        "base": source,
        "data": "corpus.txt",
        "hyperparameters": {"epochs": 1, "seed": 5},
    }
    project.write_config(config)
    (project.folder / "corpus.txt").write_text("The cook is good.\nThe cook is bad.\n")
    with serve_hub({"tiny/masked": repository}) as hub:
        environment = hub.environment(tmp_path / "cache")
        project.run("results/bases/masked.json", environment=environment)
        hub.requests.clear()
        project.run(RECORD, environment=environment)
        assert hub.requests == []
    training = read_record(project)["training"]
    assert training["base"] == read_record(project, "results/bases/masked.json")
    assert training["base"]["revision"] == COMMIT
    assert (training["data"], training["hyperparameters"]["seed"]) == ("corpus.txt", 5)


def test_an_interrupted_download_goes_on_with_what_is_missing(
    project: Project, repository: Repository, tmp_path: Path
):
    # The library writes what it receives in pieces of 10 MiB.
    (repository.folder / "model.safetensors").write_bytes(bytes(12 << 20))
    repository.cut["model.safetensors"], repository.fails_after_cut = 11 << 20, True
    with serve_hub({"tiny/masked": repository}) as hub:
        environment = hub.environment(tmp_path / "cache")
        output = project.run(RECORD, environment=environment, succeeds=False)
        assert f"{hub.address} cannot be reached, or broke off the connection" in output
        assert "(complete files are kept)" in output
        assert "Traceback" not in output
        assert [request.range for request in hub.downloads("model.safetensors")] == [
            None,
            f"bytes={10 << 20}-",
        ]
        repository.lost.clear()
        hub.requests.clear()
        project.run(RECORD, environment=environment)
        assert [request.file for request in hub.downloads()] == ["model.safetensors"]
    assert "model.safetensors" in read_record(project)["files"]


def test_a_models_own_code_is_run_only_where_the_config_allows_it(
    project: Project, repository: Repository, tmp_path: Path
):
    path = repository.folder / "config.json"
    auto_map = {
        "AutoConfig": "code_of_new.NewConfig",
        "AutoModelForMaskedLM": "code_of_new.NewForMaskedLM",
    }
    path.write_text(
        json.dumps(json.loads(path.read_text()) | {"model_type": "new", "auto_map": auto_map})
    )
    (repository.folder / "code_of_new.py").write_text(CODE)
    with serve_hub({"tiny/masked": repository}) as hub:
        environment = hub.environment(tmp_path / "cache")
        output = project.run(RECORD, environment=environment, succeeds=False)
        assert (
            "tiny/masked runs its own code (model type 'new' not known to transformers)" in output
        )
        assert "set `allow_remote_code: true` for it in the config" in output
        assert "Traceback" not in output
        assert not hub.downloads("code_of_new.py")
        assert not hub.downloads("model.safetensors")
        config = project.read_config()
        config["models"]["masked"]["allow_remote_code"] = True
        project.write_config(config)
        project.run(PREDICTIONS, environment=environment)
    assert "code_of_new.py" in read_record(project)["files"]


def test_a_repository_that_is_not_there_is_one_clear_message(project: Project, tmp_path: Path):
    with serve_hub({}) as hub:
        output = project.run(
            RECORD, environment=hub.environment(tmp_path / "cache"), succeeds=False
        )
    assert (
        f"tiny/masked at revision main cannot be fetched: {hub.address} shows no such repository"
        in output
    )
    assert "Traceback" not in output
