"""The tables of the documents are those of the code."""

import re

import pytest
from project import ROOT

from biasgrid.cli.docs import DOCUMENTS, FAMILY_TABLES, SCHEMA_TABLES, TABLES, generate_document
from biasgrid.tables.docs import TABLE_MARKS, withheld_text

pytestmark = pytest.mark.family("documents are about all five")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_in_step_with_the_code(name: str) -> None:
    assert generate_document(ROOT / name) == (ROOT / name).read_text(), (
        "it has changed: run `biasgrid schema --write .`"
    )


def test_every_table_is_in_a_document() -> None:
    found = [
        name
        for document in DOCUMENTS
        for _, name, _ in TABLE_MARKS.findall((ROOT / document).read_text())
    ]
    assert sorted(found) == sorted(TABLES)
    assert {name for name in SCHEMA_TABLES if f"columns of {name}" not in found} == set()


def test_every_mark_is_one_that_is_known() -> None:
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        assert len(re.findall("<!-- ", text)) == 2 * len(TABLE_MARKS.findall(text))


def test_the_page_on_validity_says_of_each_family_what_a_flag_withholds() -> None:
    page = (ROOT / "docs/validity.md").read_text()
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `")]
    said = {(row[0].strip("| `"), family): row[4] for row in rows for family in row[1].split(", ")}
    declared = {
        (name, family): withheld_text(measure.limit)
        for family, of in FAMILY_TABLES.items()
        for name, measure in of.flags.items()
        if measure.limit
    }
    assert len(declared) > 50
    assert {key: said[key] for key in declared} == declared
