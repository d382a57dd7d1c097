"""The documentation of the outputs is that of the schemas."""

from dataclasses import fields
from pathlib import Path

import pandera.polars as pa

from biasgrid import tables
from biasgrid.columns import MARKS, column_table, with_column_tables
from biasgrid.models.predict import Timing

OUTPUTS = (Path(__file__).parents[1] / "docs" / "outputs.md").read_text()


def test_every_schema_is_documented_as_it_is():
    schemas = {name for name, value in vars(tables).items() if isinstance(value, pa.DataFrameSchema)}
    assert {name for _, name, _ in MARKS.findall(OUTPUTS)} == schemas
    assert with_column_tables(OUTPUTS) == OUTPUTS, "the schemas have changed: run `biasgrid schema`"


def test_a_column_is_documented_with_type_and_meaning():
    lines = column_table(tables.MASK_PREDICTIONS).splitlines()
    assert "| `pronoun2` | Float32, or null | probability of the pronoun of subject2's cluster |" in lines
    assert len(lines) == 2 + len(tables.MASK_PREDICTIONS.columns)


def test_every_field_of_a_timing_is_documented():
    section = OUTPUTS.split("## Timings")[1].split("## ")[0]
    assert all(f"| `{field.name}` |" in section for field in fields(Timing))
