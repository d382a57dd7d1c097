"""Files read as APES reads them: its small cases, and its text by text replacement."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from golden import GOLDEN
from hypothesis import given, settings
from hypothesis import strategies as st
from small_statements import faults_of, instances_of

from biasgrid.families.statement.apes import ApesMode

pytestmark = pytest.mark.slow

CASES = GOLDEN / "apes/generator_cases.json"


def cases() -> list[Any]:
    return json.loads(CASES.read_text())


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["name"])
def test_statements_match_the_original(case: dict[str, Any], tmp_path: Path) -> None:
    if "error" in case:
        assert faults_of(
            tmp_path, templates=case["templates_csv"], domains=case["domains"], mode="apes"
        )
        return
    instances = instances_of(
        tmp_path, templates=case["templates_csv"], domains=case["domains"], mode="apes"
    )
    assert instances["text"].to_list() == case["prompts"]
    assert instances["label"].unique(maintain_order=True).to_list() == case["labels"]


def replaced(text: str, parameters: list[str], row: tuple[str, ...]) -> str:
    """A text as APES fills it."""
    for number, value in zip(parameters, row, strict=True):
        text = text.replace(f"#{number}", value)
    return text


@settings(max_examples=300, deadline=None)
@given(
    st.text("#12a $", max_size=12),
    st.permutations(["1", "2", "12", "11"]).flatmap(
        lambda all_of: st.integers(1, 4).map(lambda count: all_of[:count])
    ),
    st.data(),
)
def test_texts_are_filled_one_parameter_after_another(
    text: str, parameters: list[str], data: st.DataObject
) -> None:
    domains = [
        data.draw(st.lists(st.text("#12b$", max_size=3), min_size=1, max_size=3))
        for _ in parameters
    ]
    rows = list(product(*domains))
    names = [pl.Series([row[place] for row in rows]) for place in range(len(parameters))]
    assert ApesMode().fill_text(text, parameters, names).to_list() == [
        replaced(text, parameters, row) for row in rows
    ]
