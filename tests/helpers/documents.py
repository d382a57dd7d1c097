"""What stands in the project's documents: the files that they show, and their tables."""

from __future__ import annotations

import re
from pathlib import Path

from project import ROOT

FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
"""A path in a line of its own, and behind it the file's content as a code block."""


def read_document(path: str) -> str:
    """Returns the text of a document, by its path in the repository."""
    return (ROOT / path).read_text()


def shown_files(document: str) -> dict[str, str]:
    """Returns the contents of the files that a document shows, by their paths."""
    return dict(FILE.findall(document))


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Writes files into a folder, by their paths in it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def table_with(document: str, *header: str) -> list[dict[str, str]]:
    """Returns the lines of the one table that has these columns; code is without its marks."""
    start = f"| {' | '.join(header)} |\n"
    assert document.count(start) == 1, f"expected one table that begins with {start}"
    _, *lines = document.split(start)[1].split("\n\n")[0].splitlines()
    cells = [[cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    return [dict(zip(header, line, strict=True)) for line in cells]
