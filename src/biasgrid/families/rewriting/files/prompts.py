"""Reads prompts: lines of text, or a column of JSON lines, CSV or Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.rows import read_rows
from biasgrid.base.text import read_text

EXPECTED_FILE = "prompts, in .txt one a line"


def read_prompts(path: Path, column: str) -> tuple[list[str], list[Fault]]:
    """Reads prompts.

    Args:
        path: the file.
        column: where they stand in a file that has columns.

    Returns:
        The prompts that differ, in the file's order, and what is wrong with it.
    """
    prompts: dict[str, None] = {}
    faults: list[Fault] = []
    try:
        for where, value in prompt_values(path, column):
            if not isinstance(value, str) or not value.strip():
                faults.append(Fault(str(path), where, value_text(value), "a prompt"))
            elif name := hidden_character(value):
                faults.append(Fault(str(path), where, f"holds {name}", VISIBLE_CHARACTERS))
            else:
                prompts[value] = None
    except InputError as error:
        return [], error.faults
    if not prompts and not faults:
        faults.append(Fault(str(path), "", "holds no prompts", EXPECTED_FILE))
    return list(prompts), faults


def prompt_values(path: Path, column: str) -> Iterator[tuple[str, Any]]:
    """Yields the places of prompts and what stands there.

    Raises:
        InputError: the file cannot be read, is of another format, or lacks the column.
    """
    if path.suffix == ".txt":
        lines = enumerate(read_text(path, EXPECTED_FILE).split("\n"), start=1)
        yield from ((f"line {number}", line) for number, line in lines if line.strip())
    else:
        yield from ((row.where, row.values[column]) for row in read_rows(path, [column], EXPECTED_FILE))
