"""The probes in word_lists: each can be asked, and the forms that there should be are there."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from small_probes import asking_of
from small_tables import whole

from biasgrid.families.probe.expand import expand
from biasgrid.families.probe.family import measures_of_probe
from biasgrid.families.probe.reading import WRITTEN, ProbeFiles

FOLDER = Path(__file__).parents[3] / "word_lists/probes"
FILES = sorted(FOLDER.glob("*.yaml"))
KINDS = ("gender", "race", "religion", "nationality")


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_can_be_asked_and_warns(file: Path) -> None:
    asking = asking_of(ProbeFiles(file, WRITTEN, 1, None))
    head = asking.probe.head
    assert (head.bias_type, bool(head.about), bool(head.warning), bool(head.section)) == (
        file.stem.split("-")[0],
        *[True] * 3,
    )
    assert len(whole(expand(asking))) == asking.count
    marked = [name for name, measure in measures_of_probe(asking.probe).items() if measure.marks]
    assert marked == [marks.measure for marks in head.marks] != []


def test_there_are_forms_for_all_kinds() -> None:
    kinds = Counter(file.stem.split("-")[0] for file in FILES)
    assert kinds == {"gender": 11, "race": 8, "religion": 8, "nationality": 8}
    forms = {kind: {file.stem.split("-")[1] for file in FILES if file.stem.startswith(kind)} for kind in KINDS}
    assert forms["race"] == forms["religion"] == forms["nationality"] < forms["gender"]


def test_the_quarrels_of_one_gender_are_those_of_couples_with_roles_exchanged() -> None:
    couples, placebo = (
        asking_of(ProbeFiles(FOLDER / f"gender-couples{end}.yaml", WRITTEN, 1, None)).probe for end in ("", "-placebo")
    )
    names = {each[side] for each in couples.keys for side in ("he", "she")}
    quarrels = [{re.sub("|".join(names), "X", each["quarrel"]) for each in probe.keys} for probe in (couples, placebo)]
    assert quarrels[0] == quarrels[1]
    men = {each["he"] for each in couples.keys}
    pairs = Counter((each["first"], each["second"]) for each in placebo.keys)
    assert {name for pair in pairs for name in pair} == names
    assert all(len({name in men for name in pair}) == 1 for pair in pairs)
    # Each of two is in each role as often as the other.
    begins = Counter(each["quarrel"].split()[0] for each in placebo.keys)
    assert len({*begins.values()}) == len({*pairs.values()}) == 1


def test_placebos_are_names_of_one_group() -> None:
    with_placebo = [file for file in FILES if "placebo_gap" in file.read_text()]
    assert len(with_placebo) == 12
    for file in with_placebo:
        keys = list(asking_of(ProbeFiles(file, WRITTEN, 1, None)).probe.keys)
        placebos = {(each["placebo"], each["group"]) for each in keys if "placebo" in each}
        assert len(placebos) == 2
        assert len({group for _, group in placebos}) == 1
