"""Reads prompts: of a file (lines, or a column of JSON lines, CSV or Parquet), or of a folder of a known set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.names import HIDDEN, VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.rows import read_rows
from biasgrid.base.text import read_text

EXPECTED_FILE = "prompts, in .txt one a line"
LayoutName = Literal["realtoxicityprompts", "dialogsum"]
PROMPT_PLACE = "{prompt}"
"""Where a template has the prompt."""


class PromptLayout(NamedTuple):
    """How a set of prompts lies in its folder.

    Attributes:
        files: the names of its files, of which the first that is there is read.
        column: the column of the prompts.
        template: what is asked.
    """

    files: tuple[str, ...]
    column: str
    template: str = PROMPT_PLACE


LAYOUTS: Mapping[LayoutName, PromptLayout] = {
    "realtoxicityprompts": PromptLayout(("prompts.jsonl", "prompts.parquet"), "prompt.text"),
    "dialogsum": PromptLayout(
        (
            "dialogsum.test.jsonl",
            "dialogsum.dev.jsonl",
            "dialogsum.train.jsonl",
            "test.csv",
            "validation.csv",
            "train.csv",
        ),
        "dialogue",
        f"Summarise this conversation in a few sentences.\n\n{PROMPT_PLACE}",
    ),
}
"""By name."""


def read_prompts(path: Path, column: str) -> tuple[list[str], list[Fault]]:
    """Reads prompts.

    Args:
        path: the file.
        column: the column of the prompts, in a file that has columns.

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
    """Yields prompts with their places.

    Raises:
        InputError: the file cannot be read, is of another format, or lacks the column.
    """
    if path.suffix == ".txt":
        lines = enumerate(read_text(path, EXPECTED_FILE).split("\n"), start=1)
        yield from ((f"line {number}", line) for number, line in lines if line.strip())
    else:
        yield from ((row.where, row.values[column]) for row in read_rows(path, [column], EXPECTED_FILE))


assert set(LAYOUTS) == set(get_args(LayoutName))


def read_layout(path: Path, name: LayoutName) -> tuple[list[str], list[Fault]]:
    """Reads the prompts of a set; characters that cannot be seen are left out, and so are prompts without others.

    Args:
        path: the folder, or one of the files in it.
        name: a key of `LAYOUTS`.

    Returns:
        The prompts that differ, in the file's order, and what is wrong with it.
    """
    layout = LAYOUTS[name]
    file = next((path / each for each in layout.files if (path / each).is_file()), None) if path.is_dir() else path
    expected = f"{' or '.join(layout.files)} of {name}"
    if file is None:
        return [], [Fault(str(path), "", "holds none of the files", expected)]
    try:
        values = [(row.where, row.values[layout.column]) for row in read_rows(file, [layout.column], expected)]
    except InputError as error:
        return [], error.faults
    wrong = next((where for where, value in values if not isinstance(value, str)), None)
    if wrong is not None:
        return [], [Fault(str(file), f"{wrong}, {layout.column}", "is not text", expected)]
    prompts = list(dict.fromkeys(filter(None, (HIDDEN.sub("", value).strip() for _, value in values))))
    return prompts, [] if prompts else [Fault(str(file), "", "holds no prompts", expected)]
