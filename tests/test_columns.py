"""The documentation of the outputs is that of the schemas."""

from dataclasses import fields
from pathlib import Path

from biasgrid.columns import MARKS, SCHEMAS, column_table, with_column_tables
from biasgrid.models.predict import Timing
from biasgrid.tables.predictions import MASK_PREDICTIONS

OUTPUTS = (Path(__file__).parents[1] / "docs" / "outputs.md").read_text()


def test_every_schema_is_documented_as_it_is():
    assert {name for _, name, _ in MARKS.findall(OUTPUTS)} == set(SCHEMAS)
    assert with_column_tables(OUTPUTS) == OUTPUTS, "the schemas have changed: run `biasgrid schema`"


def test_a_column_is_documented_with_type_and_meaning():
    lines = column_table(MASK_PREDICTIONS).splitlines()
    assert "| `pronoun2` | Float32, or null | probability of the pronoun of subject2's cluster |" in lines
    assert len(lines) == 2 + len(MASK_PREDICTIONS.columns)


def test_every_field_of_a_timing_is_documented():
    section = OUTPUTS.split("## Timings")[1].split("## ")[0]
    assert all(f"| `{field.name}` |" in section for field in fields(Timing))
