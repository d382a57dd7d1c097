"""The documentation of the outputs names every file that a run leaves, and every key of its JSON
files.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from project import ROOT, Project

OUTPUTS = (ROOT / "docs" / "outputs.md").read_text()


def documented_paths() -> Iterator[re.Pattern[str]]:
    """The patterns of the table of files: words in capitals and `...` stand for names."""
    for line in OUTPUTS.split("\n## ")[0].splitlines():
        if line.startswith("| `"):
            for path in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
                pattern = re.escape(path).replace(r"\*", "[^/]+").replace(r"\.\.\.", ".+")
                yield re.compile(re.sub(r"[A-Z]{4,}", "[^/]+", pattern))


def section_of_outputs(title: str) -> str:
    """The text of the document below a heading, up to the next one."""
    return OUTPUTS.split(f"# {title}\n")[1].split("\n## ")[0]


def undocumented_keys(content: dict[str, Any], text: str) -> list[str]:
    """The keys of a file, and of its first cell, of which a text says nothing; of `x_is` it says
    what `x` is.
    """
    cell = (content.get("cells") or [{}])[0]
    return [key for key in [*content, *cell] if f"`{key.removesuffix('_is')}`" not in text]


def test_every_file_of_a_run_is_documented(finished: Project):
    results = finished.folder / "results"
    files = [str(path.relative_to(results)) for path in results.rglob("*") if path.is_file()]
    patterns = list(documented_paths())
    assert [
        file for file in files if not any(pattern.fullmatch(file) for pattern in patterns)
    ] == []


def test_every_file_of_a_failed_run_is_documented(failed: Project):
    test_every_file_of_a_run_is_documented(failed)


def test_every_key_of_the_manifest_of_a_failed_run_is_documented(failed: Project):
    content = json.loads(Path(failed.folder, "results/manifest.failed.json").read_text())
    text = section_of_outputs("Manifest of a failed run") + section_of_outputs(
        "The JSON of `plan` and `status`"
    )
    assert undocumented_keys(content, text) == []


@pytest.mark.parametrize(
    ("file", "section"),
    [
        ("models/masked.json", "Records of checkpoints"),
        ("timings/religion/masked/1-of-1.json", "Timings"),
        ("manifest.json", "Manifest"),
    ],
)
def test_every_key_of_a_file_is_documented(finished: Project, file: str, section: str):
    content = json.loads(Path(finished.folder, "results", file).read_text())
    assert undocumented_keys(content, section_of_outputs(section)) == []
