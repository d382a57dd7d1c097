"""Results know their config: another one is told so before anything is made, an edited one is
not.
"""

from pathlib import Path
from typing import Any

from project import Project

TARGET = "results/models/answering.json"


def test_another_config_in_the_same_folder_is_reported_before_anything_is_made(
    small_config: dict[str, Any], tmp_path: Path
) -> None:
    project = Project.create(tmp_path / "project", small_config)
    project.run(TARGET, "--dry-run")
    assert not (project.folder / "results").exists()
    project.run(TARGET)
    other = project.config_path.with_name("other.yaml")
    other.write_text(project.config_path.read_text())
    (project.folder / TARGET).unlink()
    output = project.run(TARGET, "--configfile", "config/other.yaml", succeeds=False)
    assert "results: made with config/small.yaml, but this run uses config/other.yaml" in output
    assert "remove results/.made_with.json to use this one" in output
    assert "Traceback" not in output
    assert not (project.folder / TARGET).exists()
    project.write_config(project.read_config() | {"title": "Edited"})
    project.run(TARGET, "--configfile", str(project.config_path), "--config", "scoring=unqover")
    (project.folder / "results/.made_with.json").unlink()
    (project.folder / TARGET).unlink()
    project.run(TARGET, "--configfile", "config/other.yaml")
    assert (project.folder / TARGET).exists()
