"""Expansion against BiaXposer's own, and where ours differs on purpose."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from golden import GOLDEN
from small_packs import make_pack, read_pack, targets_of
from small_tables import whole

from biasgrid.base.faults import InputError
from biasgrid.families.counterfactual.ask import expand, schema_of_pack
from biasgrid.families.counterfactual.pack import CasePackFiles
from biasgrid.tables.files import validate_table

BIAXPOSER = GOLDEN / "biaxposer"

OURS: dict[str, list[str] | str] = {
    "pipe in template text shifts fields": ["p|q a", "p|q b"],
    "pipe in text shifts the next field": ["p|q a", "p|q b"],
    "pipe in a filling": ["a|b"],
    "unknown placeholder": "templates[0].text: nothing fills <nope>",
    "hyphenated placeholder is left literally": "templates[0].text: <j-f> is not a placeholder",
    'placeholder starting with "group" is never filled': ["a"],
    "other group token of the form <word> crashes": ["TERM a", "TERM b"],
    "<group:1> is left literally": ["TERM a TERM", "TERM b TERM"],
    "duplicate lines are kept": ["a"],
    "duplicate on a last line without newline raises": ["a"],
    "same word in two files, newline-terminated: both kept under the folder token": ["a"],
    "blank line gives an empty filling": ["[a]", "[b]"],
    "a trailing tab is not stripped": ["[a]", "[b]"],
    "file with the same name as its folder doubles the fillings": ["a"],
    "dot in a folder name truncates the path": ["a"],
    "missing label": "templates[0]: no 'label'",
    "filling that contains a placeholder of another token": "fillings/x, line 1: '<y:1>' contains a placeholder",
}
"""Where we differ from BiaXposer on purpose: the texts, or the beginning of the fault."""


def golden_cases() -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = json.loads((BIAXPOSER / "template_cases.json").read_text())
    return cases


def texts_with_term(
    spec: dict[str, Any], fillings: dict[str, str], folder: Path
) -> list[tuple[Any, ...]]:
    """Expands a golden spec; returns template, text and label, with TERM for its group token.

    Most of these templates hold no group token, which is a fault of ours: their texts get one, and
    lose it again.
    """
    token = spec["group_token"]
    for template in spec["templates"]:
        template["text"] = (
            template["text"] if token in template["text"] else f"{token}::{template['text']}"
        )
    cases = whole(expand(make_pack(folder, spec, fillings, {"b": {"g": ["TERM"], "h": ["other"]}})))
    rows = cases.filter(pl.col("term") == "TERM")
    return [
        (row["template"], row["text"].removeprefix("TERM::"), label_of(row))
        for row in rows.iter_rows(named=True)
    ]


def label_of(row: dict[str, Any]) -> Any:
    """What is right: a class, target words or an answer."""
    known = (each for each in (row["label"], targets_of(row), row["answer"]) if each is not None)
    return next(known, None)


@pytest.mark.parametrize("case", golden_cases(), ids=lambda case: case["name"])
def test_cases_match_biaxposer_where_it_has_no_bug(case: dict[str, Any], tmp_path: Path) -> None:
    ours = OURS.get(case["name"])
    if isinstance(ours, str):
        with pytest.raises(InputError) as caught:
            texts_with_term(case["spec"], case["fillings"], tmp_path)
        assert ours in str(caught.value)
        return
    rows = texts_with_term(case["spec"], case["fillings"], tmp_path)
    if ours is not None:
        assert [text for _, text, _ in rows] == ours
        return
    token = case["spec"]["group_token"]
    expected = [
        (row["t_id"], row["text"].replace(token, "TERM"), row["label"]) for row in case["result"]
    ]
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))


def test_all_golden_cases_that_differ_are_named() -> None:
    assert OURS.keys() <= {case["name"] for case in golden_cases()}
    assert len(golden_cases()) == 30


@pytest.mark.parametrize(("name", "label"), [("single", "label"), ("mlm", "mask")])
def test_instances_match_biaxposer(name: str, label: str) -> None:
    inputs = BIAXPOSER / "inputs"
    pack = read_pack(
        CasePackFiles(
            inputs / "templates" / f"{name}.json", inputs / "fillings", inputs / "biases.json"
        )
    )
    ours = whole(expand(pack))
    validate_table(ours, schema_of_pack(pack), name)
    golden = json.loads((BIAXPOSER / f"cases_{name}.json").read_text())
    man = ours.filter(pl.col("term") == "man").select(
        "template",
        pl.col("text")
        .str.replace_all("man(go)?", "<group>$1")
        .str.replace_all("<group>go", "mango"),
    )
    assert Counter(man.rows()) == Counter((case["t_id"], case["text"]) for case in golden)
    passes = [
        json.loads(line) for line in (BIAXPOSER / f"raw_{name}.jsonl").read_text().splitlines()
    ]
    assert len(passes) == len(ours) == pack.instances
    keys = ("template_id", "bias_type", "group", "term")
    expected = Counter(
        (*(one[key] for key in keys), one["inputs"]["text"], str(golden[one["case_id"]][label]))
        for one in passes
    )
    gold = (
        ours["label"].to_list()
        if name == "single"
        else [targets_of(row) for row in ours.iter_rows(named=True)]
    )
    rows = ours.select("template", "bias_type", "group", "term", "text").rows()
    assert Counter((*row, str(one)) for row, one in zip(rows, gold, strict=True)) == expected
