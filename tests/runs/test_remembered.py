"""A folder of results knows the config that made it, however that is addressed."""

import os
import re
from pathlib import Path

import pytest

from biasgrid.base.faults import UserError
from biasgrid.runs.checks import CONFIGS_NOTE, remember_configs


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two configs, and results that are made with the first of them."""
    folder = tmp_path / "project"
    (folder / "results").mkdir(parents=True)
    for name in ("first.yaml", "second.yaml"):
        (folder / name).write_text("title: x\n")
    monkeypatch.chdir(folder)
    remember_configs("results", ["first.yaml"])
    return folder


def test_another_config_is_told_so_with_both_names_and_what_to_do(project: Path) -> None:
    told = (
        "results: made with first.yaml, but this run is of second.yaml, and would overwrite those outputs; set "
        "`results` in second.yaml to another folder, or remove results/.made_with.json to go on in this one"
    )
    with pytest.raises(UserError, match=f"^{re.escape(told)}$"):
        remember_configs("results", ["second.yaml"])
    with pytest.raises(UserError, match=re.escape("made with first.yaml, but this run is of first.yaml and second")):
        remember_configs("results", ["first.yaml", "second.yaml"])
    (project / "results" / CONFIGS_NOTE).unlink()
    remember_configs("results", ["second.yaml"])
    with pytest.raises(UserError, match=re.escape("made with second.yaml")):
        remember_configs("results", ["first.yaml"])


def test_the_same_file_is_the_same_by_whatever_path(project: Path) -> None:
    (project / "elsewhere").symlink_to(project)
    before = (project / "results" / CONFIGS_NOTE).read_bytes()
    for path in ("./first.yaml", str(project / "first.yaml"), "elsewhere/first.yaml"):
        remember_configs("results", [path])
        remember_configs(project / "results", [path])
    (project / "first.yaml").write_text("title: edited\n")
    remember_configs("results", ["first.yaml"])
    assert (project / "results" / CONFIGS_NOTE).read_bytes() == before


def test_a_project_that_has_moved_knows_its_config(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    moved = project.rename(project.with_name("moved"))
    monkeypatch.chdir(moved)
    remember_configs("results", ["first.yaml"])
    with pytest.raises(UserError, match=r"made with first\.yaml, but"):
        remember_configs("results", ["second.yaml"])


def test_results_behind_a_link_know_their_config(project: Path) -> None:
    disk = project.with_name("disk")
    (project / "results").rename(disk)
    (project / "results").symlink_to(disk)
    remember_configs("results", ["first.yaml"])
    # What lies beside the disk is not what lies beside the link.
    disk.with_name("first.yaml").write_text("title: another\n")
    remember_configs("results", ["first.yaml"])


def test_a_name_that_is_not_utf_8_is_remembered(project: Path) -> None:
    odd = os.fsdecode(b"\xff.yaml")
    remember_configs("other", [odd])
    remember_configs("other", [odd])


@pytest.mark.parametrize("content", [b"", b"["])
def test_a_damaged_note_is_named(project: Path, content: bytes) -> None:
    (project / "results" / CONFIGS_NOTE).write_bytes(content)
    with pytest.raises(
        UserError, match=r"results/.made_with.json: not a list of config files .*; remove it and run again"
    ):
        remember_configs("results", ["first.yaml"])
