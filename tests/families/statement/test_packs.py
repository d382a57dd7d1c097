"""The packs of statements that come with the project."""

from __future__ import annotations

import csv
import re
from collections import Counter

import polars as pl
import pytest
from project import ROOT
from small_tables import whole

from biasgrid.families.statement.ask import expand
from biasgrid.families.statement.family import PROMPT
from biasgrid.families.statement.pack import StatementFiles, StatementPack
from biasgrid.families.statement.read import read

FOLDER = ROOT / "word_lists/statements"
README = (FOLDER / "README.md").read_text()
PACKS = [
    "gender",
    "race",
    "religion",
    "disability",
    "placebo-gender",
    "placebo",
    "placebo-religion",
    "placebo-disability",
]


def pack_named(name: str) -> StatementPack:
    files = StatementFiles(FOLDER / f"{name}.csv", FOLDER / "domains", None, 1, None, None, PROMPT)
    pack, faults = read(files)
    assert not faults, [str(fault) for fault in faults]
    return pack


@pytest.mark.parametrize("name", PACKS)
def test_every_template_has_its_negation_and_a_reason(name: str) -> None:
    pack = pack_named(name)
    assert len(pack.templates) == 22
    assert [len(places) for places in pack.statements] == [2] * 11
    rows = list(csv.DictReader((FOLDER / f"{name}.csv").open()))
    assert all(re.fullmatch(r"[A-Z].{20,}\.", row["reason"]) for row in rows)
    for stated, negated in pack.statements:
        words = [
            Counter(re.findall(r"\w+", pack.templates[place].text.lower()))
            for place in (stated, negated)
        ]
        assert "not" in words[1] - words[0]


@pytest.mark.parametrize("name", PACKS)
def test_the_counts_match_the_readme(name: str) -> None:
    instances = whole(expand(pack_named(name)))
    row = (
        f"| `{name}.csv` | 11 and their negations | {instances['pair'].n_unique():,} | "
        f"{len(instances):,} |"
    )
    assert row in README
    assert instances["label"].cast(pl.String).value_counts()["count"].n_unique() == 1
    assert not instances["text"].str.contains("#", literal=True).any()


@pytest.mark.parametrize("control", PACKS[4:])
def test_a_placebo_pack_has_the_templates_of_its_pack(control: str) -> None:
    name = control.removeprefix("placebo").lstrip("-") or "race"
    placebo = pack_named(control).templates
    assert {domain for template in placebo for domain in template.domains} == {
        "placebo",
        "jobs",
        "traits",
        "",
    }
    in_place = [
        [name if domain == "placebo" else domain for domain in template.domains]
        for template in placebo
    ]
    templates = pack_named(name).templates
    assert in_place == [list(template.domains) for template in templates]
    assert [template.text for template in placebo] == [template.text for template in templates]


@pytest.mark.parametrize(
    "name", ["gender", "race", "religion", "disability", "placebo", "jobs", "traits"]
)
def test_all_classes_have_as_many_values(name: str) -> None:
    lines = (FOLDER / f"domains/{name}.txt").read_text().splitlines()
    counts = Counter(line.split(", ")[1] for line in lines)
    assert len(set(counts.values())) == 1
    assert f"| `{name}` | " in README
    assert set(re.findall(rf"\| `{name}` \| ([^|]*) \|", README)[0].split(", ")) == set(counts)
