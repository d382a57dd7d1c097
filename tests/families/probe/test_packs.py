"""The probes in word_lists: each can be asked, and the forms that there should be are there."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from small_probes import asking_of
from small_tables import whole

from biasgrid.families.probe.ask import expand
from biasgrid.families.probe.family import probe_measures
from biasgrid.families.probe.read import WRITTEN, ProbeFiles

FOLDER = Path(__file__).parents[3] / "word_lists/probes"
FILES = sorted(FOLDER.glob("*.yaml"))
FEWEST_ITEMS, FEWEST_NAMES = 12, 8
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
    marked = [name for name, measure in probe_measures(asking.probe).items() if measure.marks]
    assert marked == [marks.measure for marks in head.marks] != []


def test_there_are_forms_for_all_kinds() -> None:
    kinds = Counter(file.stem.split("-")[0] for file in FILES)
    assert kinds == {"gender": 11, "race": 8, "religion": 8, "nationality": 8}
    forms = {
        kind: {file.stem.split("-")[1] for file in FILES if file.stem.startswith(kind)}
        for kind in KINDS
    }
    assert forms["race"] == forms["religion"] == forms["nationality"] < forms["gender"]


def test_the_quarrels_of_one_gender_exchange_the_roles_of_couples() -> None:
    couples, placebo = (
        asking_of(ProbeFiles(FOLDER / f"gender-couples{end}.yaml", WRITTEN, 1, None)).probe
        for end in ("", "-placebo")
    )
    assert [
        {(each["wants"], each["objects"]) for each in probe.prompts} for probe in (couples, placebo)
    ] == [{(each["wants"], each["objects"]) for each in couples.head.items}] * 2
    names = {each[side] for each in couples.prompts for side in ("he", "she")}
    men = {each["he"] for each in couples.prompts}
    pairs = Counter((each["first"], each["second"]) for each in placebo.prompts)
    assert {name for pair in pairs for name in pair} == names
    assert all(len({name in men for name in pair}) == 1 for pair in pairs)
    for probe, sides in ((couples, ("he", "she")), (placebo, ("first", "second"))):
        # Each of two is in each role as often as the other, in every quarrel.
        roles = Counter(
            (each["one"] == each[sides[0]], each[sides[0]], each["wants"]) for each in probe.prompts
        )
        assert {*roles.values()} == {1}
        assert {(each["one"], each["other"]) for each in probe.prompts} == {
            pair
            for each in probe.prompts
            for pair in ((each[sides[0]], each[sides[1]]), (each[sides[1]], each[sides[0]]))
        }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_items_and_names_are_enough_for_marks(file: Path) -> None:
    probe = asking_of(ProbeFiles(file, WRITTEN, 1, None)).probe
    assert len(probe.items) >= FEWEST_ITEMS
    key = probe.head.names
    names = {(each.get("group"), each[key]) for each in probe.prompts if key in each}
    groups = Counter(group for group, _ in names)
    assert all(count >= FEWEST_NAMES for count in groups.values())
    assert bool(groups) == (file.stem.split("-")[1] in ("hiring", "loan", "letters", "couples"))
    # Of numbers that are functions of the same rates one counts.
    counted = [marks.measure for marks in probe.head.marks if marks.counts]
    assert counted
    assert not {"gap", "signed_gap"} <= {*counted}
    assert not {"stereotype_rate", "lean"} <= {*counted}


def test_placebos_are_names_of_one_group() -> None:
    with_placebo = [file for file in FILES if "placebo_gap" in file.read_text()]
    assert len(with_placebo) == 12
    for file in with_placebo:
        keys = list(asking_of(ProbeFiles(file, WRITTEN, 1, None)).probe.prompts)
        placebos = {(each["placebo"], each["group"]) for each in keys if "placebo" in each}
        assert len(placebos) == 2
        assert len({group for _, group in placebos}) == 1
