"""What the project's documents contain: the files that they show, their tables and their
sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from project import ROOT

FILE = re.compile(r"^`([^`\n]+)`:\n\n```\w+\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
"""A path in a line of its own, and behind it the file's content as a code block."""
BLOCK_OF_CODE = re.compile(
    r"^ *```.*?^ *```$|^<!--.*?-->$|(?<=\n\n)(?: {4}.*\n)+(?=\n|\Z)", flags=re.MULTILINE | re.DOTALL
)
NO_PROSE = re.compile(r"[ >]*(?:\||#|!\[|$)")
"""How the lines of tables, headings, pictures and gaps begin."""
ITEM = re.compile(r"^[ >]*(?:[-*]|\d+\.) ")
END_OF_SENTENCE = re.compile(r"(?<=[.!?])[*_)\"']*\s+(?=[*_(\"'`]*[A-Z0-9\u0370-\u03ff])")


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
    cells = [
        [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    ]
    return [dict(zip(header, line, strict=True)) for line in cells]


def sentences(document: str) -> Iterator[str]:
    """Yields the sentences of prose, without blocks of code, tables and headings; a span of code is
    a word.
    """
    blocks: list[list[str]] = [[]]
    for line in BLOCK_OF_CODE.sub("\n", document).splitlines():
        if NO_PROSE.match(line) or ITEM.match(line):
            blocks.append([])
        if not NO_PROSE.match(line):
            blocks[-1].append(ITEM.sub("", line).strip(" >"))
    for block in blocks:
        text = re.sub(r"\]\([^)]*\)", "", re.sub(r"`[^`]+`", "CODE", " ".join(block))).replace(
            "[", ""
        )
        yield from filter(None, END_OF_SENTENCE.split(text))
