"""The notebook is what docs/notebook.py makes of the page; `tests/workflow/test_try.py` executes
it.
"""

from __future__ import annotations

import runpy

import nbformat
from documents import read_document
from project import ROOT

MAKING = runpy.run_path(str(ROOT / "docs/notebook.py"))


def test_the_notebook_is_made_of_the_page() -> None:
    made = MAKING["text_of"](MAKING["notebook_of"](read_document("docs/guide/try.md")))
    assert read_document("docs/guide/try.ipynb") == made, "run .venv/bin/python docs/notebook.py"


def test_its_cells_are_the_commands_and_texts_of_the_page() -> None:
    notebook = nbformat.read(ROOT / "docs/guide/try.ipynb", as_version=4)
    page = read_document("docs/guide/try.md")
    commands = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert len(commands) == page.count("```sh\n")
    assert all(
        source.startswith("%%sh\n") and source[len("%%sh\n") :] in page for source in commands
    )
    texts = "".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "Content warning" in texts
    assert "```sh" not in texts
    assert not any(cell.get("outputs") for cell in notebook.cells)
