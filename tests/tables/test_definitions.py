"""The words about measures in `measures.yaml`: all files can be read, faults are named, nothing is
defined twice.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from yaml import YAMLError

from biasgrid.base.faults import InputError
from biasgrid.base.references import package_folder
from biasgrid.base.yaml import read_yaml
from biasgrid.config.registry import BUILT_IN
from biasgrid.families.validity import LEAST_PROBABILITY
from biasgrid.groups.records import ALL_CASES, EACH_CASE
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.metric import (
    CONTROLS,
    DEFINITIONS_FILE,
    PACKAGE,
    SHARED,
    Limit,
    Measure,
    check_definitions,
    definition_sections,
    read_definitions,
    read_mapping,
)

FILES = sorted(PACKAGE.rglob(DEFINITIONS_FILE))
FOLDERS = [file.parent.relative_to(PACKAGE).as_posix() for file in FILES]
OTHERS = [folder for folder in FOLDERS if folder != SHARED]
KINDS_OF_METRICS = ("metrics", "pairs")
"""Sections of what probes make their own metrics of, whose names are no measures."""
OF_EACH_FAMILY = {
    *("coverage", "cut_short", "refused", "cut_by_scorer", "same_text", "same_place", "one_answer"),
    *("refused_difference", "undetected_difference", "refusals_differ", "largest_gap"),
}
"""What families count in ways of their own: what is answered, how texts end, and which texts are
compared.
"""


def test_every_family_and_the_groups_have_a_file() -> None:
    families = {
        f"families/{name}"
        for name, reference in BUILT_IN.families.items()
        if package_folder(reference)
    }
    assert families | {SHARED, "groups"} == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_can_be_read(folder: str) -> None:
    definitions = read_definitions(folder)
    assert definitions.sections
    assert isinstance(definitions.about, str)
    assert bool(definitions.about) == (folder != SHARED)
    # PyYAML keeps the last of two keys; the reader of users' files refuses them.
    assert read_yaml(
        PACKAGE / folder / DEFINITIONS_FILE, "definitions", "sections"
    ).content == read_mapping(PACKAGE / folder / DEFINITIONS_FILE)


@pytest.mark.parametrize("folder", FOLDERS)
def test_flags_and_they_alone_have_limits(folder: str) -> None:
    for section, measures in read_definitions(folder).sections.items():
        assert {measure.limit is not None for measure in measures.values()} == {
            section in ("flags", "controls", "comparisons", "arithmetic", "served")
        }


@pytest.mark.family("families share definitions with each other: which is a fact of all five")
def test_no_measure_is_defined_twice() -> None:
    defined = defaultdict(list)
    for folder in FOLDERS:
        for section, entries in definition_sections(
            read_mapping(PACKAGE / folder / DEFINITIONS_FILE)
        ).items():
            for name, entry in entries.items():
                if entry is not None and section not in KINDS_OF_METRICS:
                    defined[name].append(f"{folder}: {section}")
    assert {
        name: places for name, places in defined.items() if len(places) > 1
    }.keys() == OF_EACH_FAMILY


@pytest.mark.family("families use what is shared, each a part of it")
def test_every_shared_definition_is_used() -> None:
    shared = definition_sections(read_mapping(PACKAGE / SHARED / DEFINITIONS_FILE))
    used = {
        name
        for folder in OTHERS
        for entries in read_definitions(folder).sections.values()
        for name in entries
    }
    assert {name for entries in shared.values() for name in entries} - used == {*CONTROLS}


def test_the_head_of_the_shared_file_explains_every_field() -> None:
    head = (PACKAGE / SHARED / DEFINITIONS_FILE).read_text().split("\ndefaults:")[0]
    explained = re.findall(r"^#   (\w+) ", head, flags=re.MULTILINE)
    assert explained == [field.name for field in fields(Measure)]
    assert [
        field.name for kind in (Limit, Mark) for field in fields(kind) if field.name not in head
    ] == []


def test_words_that_name_a_constant_have_its_value() -> None:
    improbable = read_definitions(SHARED).select("flags")["improbable"]
    assert f" {LEAST_PROBABILITY:g} " in improbable.meaning
    about = read_definitions("groups").about
    assert f"In the mode {EACH_CASE} " in about
    assert f"in the mode {ALL_CASES} " in about


def test_a_file_that_is_not_yaml_is_named(tmp_path: Path) -> None:
    file = tmp_path / DEFINITIONS_FILE
    file.write_text("measures: [gap")
    with pytest.raises(YAMLError, match=re.escape(str(file))):
        read_mapping(file)


ENTRY = {
    "title": "gap",
    "meaning": "largest less smallest",
    "is_not": "a cause",
    "source": "",
    "unit": "distance",
}
LIMIT = {"value": 1, "problem": "{value} is too much", "remedy": "ask more"}


def read(entry: Any, shared: Any = None, defaults: Any = None) -> Measure:
    content = {"defaults": defaults or {}, "measures": {"gap": entry}}
    return check_definitions(content, "measures.yaml", shared or {}).select("measures")["gap"]


def test_a_measure_has_the_fields_of_its_entry() -> None:
    mark = {"letter": "A", "low": 0, "high": 0.1, "harm": "none"}
    measure = read(
        {**ENTRY, "fair": 0, "headline": "", "design": ["item"], "marks": [mark], "limit": LIMIT}
    )
    words = ("gap", "gap", "largest less smallest", "a cause", "", "distance")
    marks, limit = (Mark("A", 0, 0.1, "none"),), Limit(1, "{value} is too much", "ask more")
    assert measure == Measure(
        *words, fair=0, headline="", design=("item",), marks=marks, limit=limit
    )


def test_an_entry_takes_what_it_leaves_out_from_the_shared_one_and_that_from_defaults() -> None:
    shared = {"flags": {"gap": {"title": "shared gap", "meaning": "shared"}}}
    defaults = {key: ENTRY[key] for key in ("is_not", "source", "unit")} | {"meaning": "by default"}
    assert (read(None, shared, defaults).title, read(None, shared, defaults).meaning) == (
        "shared gap",
        "shared",
    )
    assert read({"title": "own"}, shared, defaults).title == "own"


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (
            {"titel": "x"},
            (
                "measures.yaml, measures.gap.titel: unknown key (did you mean 'title'?); expected "
                "one of"
            ),
        ),
        (
            {"unit": "shares"},
            "measures.yaml, measures.gap.unit: 'shares'; expected one of correlation, count",
        ),
        ({"unit": 1}, "measures.gap.unit: 1; expected one of"),
        ({"fair": "0"}, "measures.gap.fair: '0'; expected a number"),
        ({"fair": True}, "measures.gap.fair: true; expected a number"),
        ({"headline": None}, "measures.gap.headline: null; expected a text"),
        ({"design": "item"}, "measures.gap.design: 'item'; expected a list"),
        ({"limit": 3}, "measures.gap.limit: 3; expected a mapping"),
        (
            {"limit": {"value": 3, "problem": "x"}},
            "measures.gap.limit.remedy: missing; expected a text",
        ),
        (
            {"limit": {**LIMIT, "under": True}},
            "measures.gap.limit.under: unknown key; expected one of above_zero",
        ),
        ({"marks": [{"letter": "A"}]}, "measures.gap.marks[0].low: missing; expected a number"),
    ],
)
def test_faults_name_file_and_measure(changed: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=re.escape(fault)):
        read({**ENTRY, **changed})


@pytest.mark.parametrize("key", ENTRY)
def test_a_missing_field_is_named(key: str) -> None:
    with pytest.raises(
        InputError, match=re.escape(f"measures.yaml, measures.gap.{key}: missing; expected")
    ):
        read({name: value for name, value in ENTRY.items() if name != key})


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (
            {"source": "Li et al."},
            "measures.yaml, source: 'Li et al.'; expected a mapping of measures",
        ),
        (
            {"measures": {"gap": "largest"}},
            "measures.yaml, measures.gap: 'largest'; expected a mapping of fields",
        ),
    ],
)
def test_what_is_no_section_or_entry_is_named(content: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=re.escape(fault)):
        check_definitions(content, "measures.yaml", {})


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_search_for_the_name_of_a_measure_finds_how_it_is_made(folder: str) -> None:
    sections = definition_sections(read_mapping(PACKAGE / folder / DEFINITIONS_FILE))
    names = {
        name
        for section, entries in sections.items()
        if section not in KINDS_OF_METRICS
        for name in entries
    }
    code = "\n".join(file.read_text() for file in PACKAGE.rglob("*.py"))
    assert names
    # A formula has its name as a text, a computation of its own as that of its function.
    assert {name for name in names if not re.search(rf'"{name}"|def {name}\(', code)} == set()


def test_functions_in_modules_of_measures_say_what_they_are() -> None:
    names = {
        name
        for folder in FOLDERS
        for entries in read_definitions(folder).sections.values()
        for name in entries
    }
    for file in [*PACKAGE.rglob("measure.py"), *PACKAGE.rglob("measures.py")]:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.FunctionDef) and node.name in names:
                assert ast.get_docstring(node), f"{file}: {node.name}"


def test_a_measure_of_use_with_a_limit_alone_must_have_one() -> None:
    with pytest.raises(ValueError, match="control: expected a limit"):
        _ = replace(CONTROLS["control"], limit=None).required_limit
