"""The version is written in `pyproject.toml`; what repeats it agrees, and what records it reads
it.
"""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import version

import pytest
import yaml
from documents import read_document
from project import ROOT
from typer.testing import CliRunner

import biasgrid
from biasgrid.cli.app import app
from biasgrid.tables.provenance import table_provenance

WRITTEN: str = tomllib.loads(read_document("pyproject.toml"))["project"]["version"]


def test_files_that_other_programs_read_repeat_it() -> None:
    assert yaml.safe_load(read_document("CITATION.cff"))["version"] == WRITTEN
    assert yaml.safe_load(read_document("packaging/recipe.yaml"))["context"]["version"] == WRITTEN
    # Zenodo takes it from the tag of a release.
    assert "version" not in json.loads(read_document(".zenodo.json"))


def test_no_code_repeats_it() -> None:
    files = [
        path
        for folder in ("src", "rules", "workflow")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".smk")}
    assert len(texts) > 300
    assert [path for path, text in texts.items() if WRITTEN in text] == []


# An editable install that is older than a change of the version has the one of before.
def test_the_installed_version_is_what_all_say() -> None:
    installed = version("biasgrid")
    assert biasgrid.__version__ == installed
    assert CliRunner().invoke(app, ["--version"]).output == f"biasgrid {installed}\n"
    assert table_provenance()["biasgrid"] == installed
    with pytest.raises(AttributeError, match="module 'biasgrid' has no attribute 'version'"):
        biasgrid.version  # noqa: B018
