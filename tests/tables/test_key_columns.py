"""What follows from a key is said once, by the fields of `Key`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import polars as pl

import biasgrid
from biasgrid.tables.key_columns import (
    ASSOCIATIONS,
    GROUP_PAIR,
    KEY_NAMED,
    KEYS,
    Key,
    claimed_keys,
    find_tested_pair,
    is_about,
    is_about_whole,
    is_pooled_over,
)
from biasgrid.tables.measures import MEASURE_KEYS

PACKAGE = Path(biasgrid.__file__).parent
OUTPUTS = (Path(__file__).parents[2] / "docs" / "outputs.md").read_text()
ROOMS = ("stats", "report", "tables")
DRAWINGS = ("report/figures/associations", "report/figures/groups")
"""Figures that draw just these keys."""


def lists_of_names(module: Path) -> Iterator[list[str]]:
    """Yields the names of keys in each literal list of a module that has two or more."""
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Tuple | ast.List | ast.Set):
            continue
        values = [item.value for item in node.elts if isinstance(item, ast.Constant)]
        names = [str(value) for value in values if value in MEASURE_KEYS]
        if len(names) > 1:
            yield names


def test_no_other_module_lists_keys() -> None:
    lists = {}
    for room in ROOMS:
        for module in (PACKAGE / room).rglob("*.py"):
            path = module.relative_to(PACKAGE).as_posix()
            names = [*lists_of_names(module)]
            if names and not path.startswith(DRAWINGS):
                lists[path] = names
    assert lists == {}


def test_no_script_of_the_page_lists_keys() -> None:
    for script in (PACKAGE / "report" / "assets").glob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert not any(f'"{key}"' in text for key in ("subject_group", "attribute_group", "other"))


def test_each_field_is_explained_in_the_documents() -> None:
    own = {field.name for field in fields(Key)} - {"name", "description", "dtype"}
    unexplained = [name for name in own if f"*{name.replace('_', ' ')}*" not in OUTPUTS]
    assert unexplained == []


def test_keys_that_others_name_are_keys() -> None:
    for key in KEYS:
        named = {key.group_of, key.tested_with} - {None}
        assert named <= {*MEASURE_KEYS}
        assert (key.tested_as is None) is (key.tested_with is None)


def test_the_tested_pairs_match_the_keys() -> None:
    """Another pair needs words in the report."""
    pairs = {(key.name, key.tested_with): key.tested_as for key in KEYS if key.tested_as}
    associations = dict.fromkeys(ASSOCIATIONS, "association")
    assert pairs == associations | {GROUP_PAIR: "difference"}
    (groups, singles) = ASSOCIATIONS
    assert KEY_NAMED[groups.key].group_of == singles.key


def test_rows_are_distinguished_by_their_keys() -> None:
    about = (
        {},
        {"bias_type": "age"},
        {"bias_type": "age", "attribute_group": "intersentence"},
        {"subject": "Ann", "attribute": "stole"},
        {"subject_group": "female", "attribute": "stole"},
        {"group": "old", "other": "young"},
        {"group": "old", "template": "3"},
    )
    schema = dict.fromkeys(MEASURE_KEYS, pl.String)
    rows = pl.DataFrame(about, schema=schema)
    numbered = rows.with_row_index("row")
    expected = {
        "wholes": (is_about_whole(), [0, 1]),
        "cells": (is_about([]), [0]),
        "old": (is_about(["group", "other"]), [5]),
        "prompts": (~is_pooled_over("how"), [6]),
        "attributes": (~is_pooled_over("what"), [2, 3, 4]),
    }
    for condition, places in expected.values():
        assert numbered.filter(condition)["row"].to_list() == places
    assert [find_tested_pair(row) for row in rows.to_dicts()] == [
        None,
        None,
        None,
        ("subject", "attribute"),
        ("subject_group", "attribute"),
        ("group", "other"),
        None,
    ]
    assert [key for key in MEASURE_KEYS if key not in claimed_keys()] == [
        "attribute_group",
        "template",
    ]
