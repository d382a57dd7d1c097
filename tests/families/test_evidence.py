"""What the core makes of the sentences of a family: the table, what `explain` prints and what the
page shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView, example_payloads
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.measures import MEASURE_KEYS, cell_table

TEXTS = ["He is calm.", "She is calm.", "He is kind.", "She is kind.", "He sings.", "She hums."]


def rows(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Three units of two instances, the second one of which has no value where it is not
    explained.
    """
    units = pl.DataFrame({"unit": [2, 0, 1], "unit_value": [0.5, 0.3, None], "group": "cooks"})
    units = units.filter(group=about["group"]) if about else units
    both = units.join(pl.DataFrame({"side": [0, 1]}), how="cross")
    instance, partner = 2 * pl.col("unit") + pl.col("side"), 2 * pl.col("unit") + 1 - pl.col("side")
    return both.select(
        "unit",
        "unit_value",
        "group",
        instance=instance,
        partner=partner,
        measure=pl.lit("warmth"),
        options=pl.lit(""),
    )


SENTENCES = Sentences(
    rows,
    explained=("group",),
    measure="warmth",
    concerns=lambda about: pl.lit(value=True),
    about={"group": "group"},
    strongest=1,
    asked={"text": "words"},
    said="response",
    view=UnitView(
        "as warm",
        columns={"Asked": ("text", "text"), "Answer": ("name", "said")},
        compared=("text",),
    ),
)


@pytest.fixture
def cell() -> MeasuredCell:
    instances = pl.DataFrame({"instance": range(6), "words": TEXTS})
    said = pl.DataFrame({"instance": range(6), "response": ["yes", "no"] * 3})
    numbers: list[dict[str, Any]] = [
        {"group": "cooks", "value": 0.4},
        {"group": "cooks", "template": 3, "value": 0.9},
        {"group": None, "value": 0.1},
    ]
    schema = dict.fromkeys(MEASURE_KEYS, pl.String) | {"template": pl.UInt16, "value": pl.Float64}
    measures = pl.DataFrame(numbers, schema=schema).with_columns(
        measure=pl.lit("warmth"), options=pl.lit("")
    )
    return MeasuredCell(instances.lazy(), said.lazy(), pl.DataFrame(), measures, {})


def test_the_table_has_the_value_of_the_number_and_no_units_without_one(cell: MeasuredCell) -> None:
    table = cell_table(SENTENCES.table(cell).units, EVIDENCE, "model", "dataset")
    assert table.select("unit", "role", "value", "rank", "text", "said").rows() == [
        (2, "strongest", 0.4, 0, "He sings.", "yes"),
        (2, "strongest", 0.4, 0, "She hums.", "no"),
        (0, "contrary", 0.4, 0, "He is calm.", "yes"),
        (0, "contrary", 0.4, 0, "She is calm.", "no"),
    ]


def test_a_number_is_explained_by_all_units_with_what_their_partners_lack(
    cell: MeasuredCell,
) -> None:
    found = SENTENCES.explain(cell, {"group": "cooks"})
    assert found["unit"].to_list() == [2, 2, 0, 0, 1, 1]
    assert found["asked_apart"].to_list() == ["He sings", "She hums", "He", "She", "He", "She"]
    assert SENTENCES.explain(cell, {"group": "nurses"}).is_empty()


def test_the_page_shows_the_columns_of_the_view_and_marks_what_differs(cell: MeasuredCell) -> None:
    table = cell_table(SENTENCES.table(cell).units, EVIDENCE, "model", "dataset")
    (example,) = example_payloads(table, SENTENCES.explained, SENTENCES.view)
    assert (example["about"], example["explain"]) == (["cooks"], [("group", "cooks")])
    assert example["units"][1] == {
        "value": 3000,
        "role": "contrary",
        "template": None,
        "other": None,
        "columns": [["Asked", "text"], ["Answer", "name"]],
        "rows": [[["", "He", " is calm."], "yes"], [["", "She", " is calm."], "no"]],
        "what": "as warm",
    }
