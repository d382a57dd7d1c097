"""The example of docs/in-and-out.md: answers computed elsewhere, from their file to the page."""

from __future__ import annotations

import pytest
import yaml
from documents import read_document, shown_files, table_with, write_files
from pipeline import Pipeline

from biasgrid.base.precomputed_file import COLUMN_READERS, PRECOMPUTED_COLUMNS
from biasgrid.inference.models.precomputed_kinds import KINDS
from biasgrid.inference.models.registry import BACK_ENDS

PAGE = read_document("docs/in-and-out.md")
FILES = shown_files(PAGE)


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("elsewhere")
    write_files(folder, FILES)
    content = yaml.safe_load(FILES["config/elsewhere.yaml"])
    model = content["models"]["mine"] | {"answers": str(folder / "answers.jsonl")}
    return Pipeline(folder / "word_lists", model, content["datasets"]["pairs"])


def test_the_example_gives_the_number_that_the_page_says(cell: Pipeline) -> None:
    row = cell.row("stereotype_share", bias_type="age")
    assert (row["value"], row["n"], row["clusters"]) == (pytest.approx(2 / 3), 3, 3)
    assert "`stereotype_share` is 0.667" in PAGE


def test_the_page_has_all_kinds_columns_and_tasks() -> None:
    rows = table_with(PAGE, "kind", "columns", "tasks")
    assert {row["kind"] for row in rows} == KINDS.keys()
    entries = [
        (task, entry) for (task, source), entry in BACK_ENDS.items() if source.endswith("answers")
    ]
    assert len(entries) == 7
    for row in rows:
        tasks = {task for task, entry in entries if row["kind"] in entry.answers}
        assert {name.strip(" `") for name in row["tasks"].split(",")} == tasks
    shown = {
        name
        for name in PRECOMPUTED_COLUMNS
        if any(f"`{name}`" in f"`{row['columns']}" for row in rows)
    }
    assert shown == {*PRECOMPUTED_COLUMNS}
    asked = {row["column"] for row in table_with(PAGE, "column", "what it is")}
    assert asked == COLUMN_READERS.keys() - {*PRECOMPUTED_COLUMNS, "source"}
