"""Makes docs/guide/try.ipynb of docs/guide/try.md, so that both say the same: `.venv/bin/python
docs/notebook.py`.

A block of shell commands becomes a cell that runs them; all else is text, what commands print
included.
"""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

GUIDE = Path(__file__).parent / "guide"
PAGE, NOTEBOOK = GUIDE / "try.md", GUIDE / "try.ipynb"
COMMANDS = re.compile(r"^```sh\n(.*?)^```\n", flags=re.MULTILINE | re.DOTALL)
ABOUT = """*[try.md](try.md) as a notebook: start Jupyter in a checkout that has your model in
`my-model`. Each cell of commands runs in a shell; edits of files between them are yours to
make.*"""
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}


def notebook_of(page: str) -> nbformat.NotebookNode:
    """Returns the cells of a page: texts, and between them the commands of its blocks."""
    title, _, rest = page.partition("\n\n")
    cells = [new_markdown_cell(f"{title}\n\n{ABOUT}")]
    # Every second part is a block's content.
    for place, part in enumerate(COMMANDS.split(rest)):
        if place % 2:
            cells.append(new_code_cell(f"%%sh\n{part.rstrip()}"))
        elif part.strip():
            cells.append(new_markdown_cell(part.strip()))
    # As they are made, cells have names of chance.
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    notebook = new_notebook(cells=cells, metadata=KERNEL)
    nbformat.validate(notebook)
    return notebook


def text_of(notebook: nbformat.NotebookNode) -> str:
    """Returns the content of a notebook's file."""
    return nbformat.writes(notebook) + "\n"


if __name__ == "__main__":
    NOTEBOOK.write_text(text_of(notebook_of(PAGE.read_text("utf-8"))), "utf-8")
