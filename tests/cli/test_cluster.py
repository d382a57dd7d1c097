"""The profile for a cluster: written, and checked before anything starts."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner
from without_slurm import path_without_slurm

from biasgrid.cli.app import app
from biasgrid.jobs import slurm

RUNNER = CliRunner()


@pytest.fixture
def printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """What `init` prints that writes a profile into an empty folder."""
    monkeypatch.chdir(tmp_path)
    result = RUNNER.invoke(app, ["init", "--profile", "slurm", "--config", "my grid/mine.yaml"])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_profile_is_written_next_to_the_config_and_names_no_partition(printed: str) -> None:
    assert [str(file) for file in Path().rglob("*") if file.is_file()] == [
        "my grid/profiles/slurm/profile.yaml"
    ]
    text = Path("my grid/profiles/slurm/profile.yaml").read_text()
    for name in ("slurm_partition", "slurm_account"):
        assert f"# {name}: " in text
        assert name not in str(yaml.safe_load(text))
    again = RUNNER.invoke(app, ["init", "--profile", "slurm", "--config", "my grid/mine.yaml"])
    assert (again.exit_code, "already exists" in again.output) == (2, True)


def test_what_slurm_lacks_is_named_before_anything_starts(
    printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    typed = shlex.split(printed.partition("run: ")[2])
    assert typed[:3] == ["biasgrid", "run", "my grid/mine.yaml"]
    monkeypatch.setenv("PATH", path_without_slurm(tmp_path / "bin"))
    monkeypatch.setattr(slurm, "SLURM_PLUGIN", "no_such_plugin")
    refused = RUNNER.invoke(app, typed[1:])
    assert refused.exit_code == 2
    plugin, *commands = refused.output.splitlines()
    assert "pip install 'snakemake-executor-plugin-slurm" in plugin
    for line, command in zip(commands, ("sbatch", "sinfo"), strict=True):
        assert f"there is no command {command} here; run this on a login node" in line


def test_a_folder_without_a_profile_is_answered_with_how_to_write_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = RUNNER.invoke(app, ["run", "mine.yaml", "--profile", "profiles/slurm"])
    assert refused.exit_code == 2
    assert "there is no profiles/slurm/profile.yaml" in refused.output
    assert "`biasgrid init --profile slurm` writes" in refused.output
