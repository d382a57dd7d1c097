"""The tables of the documents are those of the code."""

import re

import pytest
from project import ROOT

from biasgrid.cli.docs import DOCUMENTS, SCHEMA_TABLES, TABLES, generate_document
from biasgrid.tables.docs import TABLE_MARKS

pytestmark = pytest.mark.family("documents are about all five")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_are_in_step_with_the_code(name: str) -> None:
    assert generate_document(ROOT / name) == (ROOT / name).read_text(), (
        "it has changed: run `biasgrid schema --write .`"
    )


def test_every_table_stands_in_a_document() -> None:
    found = [name for document in DOCUMENTS for _, name, _ in TABLE_MARKS.findall((ROOT / document).read_text())]
    assert sorted(found) == sorted(TABLES)
    assert {name for name in SCHEMA_TABLES if f"columns of {name}" not in found} == set()


def test_every_mark_is_one_that_is_known() -> None:
    for document in DOCUMENTS:
        text = (ROOT / document).read_text()
        assert len(re.findall("<!-- ", text)) == 2 * len(TABLE_MARKS.findall(text))
