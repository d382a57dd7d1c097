"""Models from the hub: fetched once at a commit, then used without the network."""

import json
from pathlib import Path
from typing import Any

from hub import COMMIT, serve_hub
from project import Project


def from_hub(project: Project, revision: str) -> Path:
    """Gives the masked model of a small grid a repository in place of its folder; returns the folder."""
    config = project.read_config()
    folder = Path(config["models"]["masked"].pop("folder"))
    config["models"]["masked"] |= {"checkpoint": "tiny/masked", "revision": revision}
    project.write_config(config)
    return folder


def test_a_model_is_fetched_at_its_commit_and_used_offline(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(tmp_path / "project", small_config)
    folder = from_hub(project, "main")
    cache = {"HF_HOME": str(tmp_path / "cache")}
    with serve_hub({"tiny/masked": folder}) as address:
        project.run("results/models/masked.json", environment=cache | {"HF_ENDPOINT": address, "HF_HUB_OFFLINE": "0"})
    record = json.loads((project.folder / "results/models/masked.json").read_text())
    assert record["revision"] == COMMIT
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= set(record["files"])
    project.run("results/predictions/religion/masked/1-of-1.parquet", environment=cache)


def test_a_repository_that_is_not_there_is_one_clear_message(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(tmp_path / "project", small_config)
    from_hub(project, "main")
    environment = {"HF_HOME": str(tmp_path / "cache"), "HF_HUB_OFFLINE": "0"}
    with serve_hub({}) as address:
        output = project.run(
            "results/models/masked.json", environment=environment | {"HF_ENDPOINT": address}, succeeds=False
        )
    assert "tiny/masked at revision main cannot be downloaded" in output
    assert "Traceback" not in output
