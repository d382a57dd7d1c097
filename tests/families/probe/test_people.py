"""The probes of more groups: sizes, balance, grammar, and what they measure of models whose answers
are known.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from grammar import grammar_faults, stems
from small_probes import asking_of, estimated, instances_of
from small_tables import predictions_of
from worlds_of_probes import SHIPPED, answers_to, measured_cell, shipped

from biasgrid.families.probe.family import probe_measures
from biasgrid.families.probe.observe import observe
from biasgrid.families.probe.read import SCORED, ProbeFiles
from biasgrid.families.probe.synthetic import (
    known_effects,
    option_probabilities,
    with_option_probability,
)
from biasgrid.families.synthetic import SyntheticBias

ITEMS, NAMES = 24, 8
GROUPS = {
    "age": 3,
    "class": 3,
    "disability": 3,
    "ethnicity": 4,
    "gender": 3,
    "nationality": 4,
    "orientation": 4,
    "religion": 4,
}
DECISIONS = ("hiring", "loan", "medical")
OF_ALL = ("acts", "views", *DECISIONS, "references", "implicit", "lists")
KINDS = (*OF_ALL, "guise")
NAMED = sorted(
    f"{kind}/{file.stem}"
    for kind in KINDS
    for file in (SHIPPED / kind).glob("*.yaml")
    if "question" in yaml.safe_load(file.read_text())
)
ROOT = SHIPPED.parents[1]


def keys_of(name: str) -> list[dict[str, Any]]:
    """The keys of all prompts of a probe."""
    return list(asking_of(shipped(name)).probe.prompts)


def size_of(name: str) -> int:
    """How many prompts a probe should have."""
    kind, about = name.split("/")
    groups = GROUPS.get(about, 2)
    pairs = 2 * (groups - 1) * NAMES
    sizes = {"acts": 6 * NAMES, "implicit": pairs, "lists": pairs, "guise": 3}
    return ITEMS * sizes.get(kind, groups * NAMES)


def test_every_kind_is_asked_about_all_groups() -> None:
    others = {
        "implicit/gender-work",
        "lists/gender-work",
        "guise/hiring",
        "guise/court",
        "guise/traits",
    }
    assert {*NAMED} == {f"{kind}/{about}" for kind in OF_ALL for about in GROUPS} | others


@pytest.mark.parametrize("name", NAMED)
def test_each_can_be_asked_says_whom_it_harms_and_warns(name: str) -> None:
    requests = asking_of(shipped(name))
    head = requests.probe.head
    assert all((head.about, head.warning, head.harm, head.section))
    assert len(requests.probe.items) == ITEMS
    assert requests.count == size_of(name) == len(instances_of(shipped(name)))
    declared = probe_measures(requests.probe)
    assert any(mark.counts for measure in declared.values() for mark in measure.marks)


@pytest.mark.parametrize(
    "file", sorted(SHIPPED.glob("**/*.yaml")), ids=lambda file: f"{file.parent.name}-{file.stem}"
)
def test_every_prompt_is_grammatical(file: Path) -> None:
    if "question" in yaml.safe_load(file.read_text()):
        texts = (
            instances_of(ProbeFiles(file, "written", 1, None))["text"]
            .cast(pl.String)
            .unique()
            .to_list()
        )
        assert [fault for text in texts for fault in grammar_faults(text)] == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A apple is red.", "A apple"),
        ("He has an used car.", "an used"),
        ("She waits an hour at a university.", None),
        ("He is a 80-year-old man.", "a 80"),
        ("She is an 20-year-old woman.", "an 20"),
        ("An 18-year-old meets an 8-year-old and a 110-year-old.", None),
        ("Give his three pieces of advice.", "Give his three"),
        ("Give him three pieces of his advice.", None),
        ("The the cat sleeps.", "The the"),
        ("It rains. the cat sleeps.", "the cat sleeps."),
        ("It rains , and pours.", " ,"),
        ("Who is it", "Who is it"),
    ],
)
def test_the_rules_of_grammar_find_what_they_should(text: str, fault: str | None) -> None:
    found = grammar_faults(text)
    assert found == ([] if fault is None else found)
    assert fault is None or any(fault in one for one in found)


@pytest.mark.parametrize("about", GROUPS)
def test_groups_have_eight_names_each_and_one_is_halved_for_the_placebo(about: str) -> None:
    people = yaml.safe_load((SHIPPED / f"people/{about}.yaml").read_text())["prompts"]
    for key in ("name", "people"):
        assert Counter(
            group for group, _ in {(each["group"], each[key]) for each in people}
        ) == Counter(dict.fromkeys({each["group"] for each in people}, NAMES))
    assert len({each["group"] for each in people}) == GROUPS[about]
    halves = Counter((each["group"], each["placebo"]) for each in people if "placebo" in each)
    assert [*halves.values()] == [NAMES // 2] * 2
    assert len({group for group, _ in halves}) == 1
    # What is not said of a group is the same of all: nouns, and first names where these do not
    # stand for groups.
    said: list[Callable[[dict[str, str]], str]] = [lambda each: each["people"].split()[-1]]
    said += [lambda each: each["name"].split()[0]] if about != "ethnicity" else []
    for word in said:
        of_groups = {
            group: [word(each) for each in people if each["group"] == group] for group, _ in halves
        }
        assert all(
            [word(each) for each in people if each["group"] == group]
            == next(iter(of_groups.values()))
            for group in {each["group"] for each in people}
        )


@pytest.mark.parametrize("about", GROUPS)
def test_what_is_said_of_people_has_no_word_of_what_is_asked(about: str) -> None:
    """A baker's child knows what a loan for a bakery is for, and who is rich makes a place richer
    by the word alone.
    """
    people = yaml.safe_load((SHIPPED / f"people/{about}.yaml").read_text())["prompts"]
    said = {key: stems(" ".join(each[key] for each in people)) for key in ("name", "people")}
    for kind, key in [
        *((kind, "name") for kind in (*DECISIONS, "references")),
        ("views", "people"),
    ]:
        items = yaml.safe_load((SHIPPED / f"{kind}/items.yaml").read_text())["items"]
        asked = stems(
            " ".join(text for item in items for field, text in item.items() if field not in SCORING)
        )
        assert said[key] & asked == set(), kind
    acts = yaml.safe_load((SHIPPED / f"acts/{about}.yaml").read_text())
    groups = stems(
        " ".join([*acts["options"].values(), *(each["noun"] for each in acts["prompts"])])
    )
    assert groups & stems(" ".join(item["act"] for item in acts["items"])) == set()


SCORING = ("level", "expected", "valence")
"""Fields of items that no prompt has."""


@pytest.mark.parametrize("about", GROUPS)
def test_good_and_bad_acts_are_crossed_with_groups(about: str) -> None:
    probe = asking_of(shipped(f"acts/{about}")).probe
    acts = {(each["expected"], each["valence"], each["act"]) for each in probe.prompts}
    cells = Counter((group, valence) for group, valence, _ in acts)
    groups = {group for group, _ in cells}
    assert len(groups) >= 2
    assert cells == Counter(
        {
            (group, valence): ITEMS // (2 * len(groups))
            for group in groups
            for valence in ("good", "bad")
        }
    )
    # An item says where its stereotype was found, or that it is nobody's but ours.
    assert all(("at" in each) == (each["source"] != "own") for each in probe.prompts)
    assert {each["source"] for each in probe.prompts} == {*probe.head.sources}


@pytest.mark.parametrize("about", GROUPS)
def test_who_follows_every_stereotype_blames_no_group(about: str) -> None:
    """Bad acts of all groups are as many as good ones, so that a stereotype of each is no blame of
    one.
    """
    files = shipped(f"acts/{about}")
    right = answers_to(files, lambda row: letter(row, str(row["expected"])))
    values = values_of(measured_cell(files, right))
    assert values["stereotype_rate"] == values["good_stereotypes"] == values["bad_stereotypes"] == 1
    assert {round(each, 9) for name, each in values.items() if name.startswith("blame_")} == {0}
    assert values["most_blamed"] == pytest.approx(0)


def test_who_blames_one_group_is_found_out() -> None:
    files = shipped("acts/religion")
    random = np.random.default_rng(1)
    others = ["Christian", "Jewish", "Hindu"]

    def said(row: dict[str, Any]) -> str:
        is_bad = json.loads(str(row["keys"]))["valence"] == "bad"
        group = (
            "Muslim" if random.random() < (0.7 if is_bad else 0.1) else others[random.integers(3)]
        )
        return letter(row, group)

    found = measured_cell(files, answers_to(files, said))
    values = values_of(found)
    assert values["blame_muslim"] == pytest.approx(0.6, abs=0.06)
    assert values["most_blamed"] == values["blame_muslim"]
    row = found.row(by_predicate=pl.col("measure") == "blame_muslim", named=True)
    assert 0.5 < row["low"] < 0.6 < row["high"] < 0.7
    assert all(values[f"blame_{group.lower()}"] < 0 for group in others)


def letter(row: dict[str, Any], option: str) -> str:
    """The letter of an option of an instance."""
    return f"({chr(ord('a') + [str(each) for each in row['options']].index(option))})"


def values_of(rows: pl.DataFrame) -> dict[str, float]:
    """The measures of a cell by name."""
    whole = rows.filter(pl.col("group").is_null(), options="").filter(pl.col("other").is_null())
    return dict(whole.select("measure", "value").iter_rows())


@pytest.mark.parametrize("kind", ["views", *DECISIONS])
@pytest.mark.parametrize("about", ["disability", "orientation"])
def test_a_fair_coin_has_no_gap_beyond_chance(kind: str, about: str) -> None:
    files = shipped(f"{kind}/{about}")
    random = np.random.default_rng(3)
    found = measured_cell(files, answers_to(files, lambda row: str(random.choice(["Yes", "No"]))))
    signed = found.filter(pl.col("measure").str.contains("_less_"))
    assert (len(signed) == GROUPS[about] - 1) == (kind != "views")
    assert (signed["low"] < 0).all()
    assert (signed["high"] > 0).all()
    gaps = found.filter(pl.col("measure").str.ends_with("gap"), pl.col("method").is_not_null())
    # A gap without a sign is above 0 by chance; its interval begins there.
    assert (gaps["low"] <= 0.06).all()


@pytest.mark.parametrize(
    ("kind", "label"), [("hiring", "age"), ("loan", "class"), ("medical", "ethnicity")]
)
def test_a_known_gap_between_groups_is_measured(kind: str, label: str) -> None:
    files = shipped(f"{kind}/{label}")
    random, chosen = np.random.default_rng(4), keys_of(f"{kind}/{label}")[-1]["group"]
    reference = keys_of(f"{kind}/{label}")[0]["group"]

    def said(row: dict[str, Any]) -> str:
        is_right = random.random() < (0.3 if str(row["group"]) == chosen else 0.8)
        right = str(row["expected"]) if row["expected"] is not None else "yes"
        return {"yes": "Yes", "no": "No"}[right if is_right else {"yes": "no", "no": "yes"}[right]]

    rows = measured_cell(files, answers_to(files, said))
    name = f"{reference}_less_{chosen}".lower().replace("-", "_")
    row = rows.row(by_predicate=pl.col("measure") == name, named=True)
    assert 0.2 < row["low"] < 0.5 < row["high"]
    gap = rows.row(by_predicate=pl.col("measure") == "gap", named=True)
    assert gap["value"] >= row["value"] - 1e-9
    assert gap["low"] > 0.2


def test_who_agrees_with_prejudice_about_one_group_favours_it_less() -> None:
    files, random = shipped("views/religion"), np.random.default_rng(9)

    def said(row: dict[str, Any]) -> str:
        is_bad = json.loads(str(row["keys"]))["valence"] == "bad"
        agrees = 0.6 if is_bad and row["group"] == "Jewish" else 0.1 if is_bad else 0.8
        return "Yes" if random.random() < agrees else "No"

    values = values_of(measured_cell(files, answers_to(files, said)))
    assert values["bad_gap"] == pytest.approx(0.5, abs=0.1)
    assert values["favour_jewish"] == pytest.approx(0.2, abs=0.1)
    assert values["favour_muslim"] == pytest.approx(0.7, abs=0.1)
    assert abs(values["bad_placebo"]) < 0.15


def test_letters_with_other_words_for_one_group_are_reported_by_the_gap() -> None:
    files = shipped("references/disability")
    values = values_of(
        measured_cell(
            files,
            answers_to(
                files,
                lambda row: (
                    f"A {'kind' if row['group'] == 'mental' else 'capable'} and friendly person."
                ),
            ),
        )
    )
    assert values["non_disabled_less_mental"] == values["doing_gap"] == pytest.approx(0.5)
    assert (values["non_disabled_less_physical"], values["placebo_gap"]) == (0, 0)


@pytest.mark.parametrize(
    "name", ["hiring/religion", "acts/class", "views/age", "implicit/ethnicity", "guise/traits"]
)
@pytest.mark.parametrize("strength", [0.0, 0.6])
def test_a_synthetic_effect_is_known_and_measured(name: str, strength: float) -> None:
    files = ProbeFiles(SHIPPED / f"{name}.yaml", SCORED, 1, None)
    options = {"probe": str(files.probe), "mode": None}
    instances, bias = (
        instances_of(files),
        SyntheticBias("demo", "some", strength, 60, 5, measure_options=options),
    )
    known = known_effects(instances, bias)
    rows = with_option_probability(instances, bias).sort("instance")
    shares = [option_probabilities(row) for row in rows.iter_rows(named=True)]
    said = predictions_of("choice", instances, probabilities=shares)
    found = estimated(observe(instances, said, options), options)
    keys = ["measure", "options", "group"]
    both = known.join(found.select(*keys, found="value"), on=keys, nulls_equal=True)
    assert len(both) == len(known)
    assert both["found"].to_list() == pytest.approx(both["value"].to_list(), abs=1e-6)
    metrics = dict(known.filter(pl.col("group").is_null()).select("measure", "value").iter_rows())
    if name == "hiring/religion":
        assert metrics["gap"] == pytest.approx(strength)
    if name == "guise/traits" and strength == 0:
        assert {round(value, 9) for value in metrics.values()} == {0}


@pytest.mark.parametrize("about", [*GROUPS, "gender-work"])
def test_who_keeps_two_lists_apart_has_an_association_of_one(about: str) -> None:
    files = shipped(f"implicit/{about}")
    first = "career" if about == "gender-work" else "pleasant"

    def sorted_words(row: dict[str, Any]) -> str:
        return letter(row, "first" if json.loads(str(row["keys"]))["list"] == first else "second")

    values = values_of(measured_cell(files, answers_to(files, sorted_words)))
    found = {name: value for name, value in values.items() if name.startswith("association_")}
    assert len(found) == GROUPS.get(about, 2) - 1
    assert {*found.values()} == {1}
    always = values_of(measured_cell(files, answers_to(files, lambda row: letter(row, "first"))))
    # An answer that does not depend on the words is no association of them.
    assert {value for name, value in always.items() if name in found} == {None}


def at_random(name: str, random: np.random.Generator) -> Callable[[dict[str, Any]], str]:
    """Returns what answers the prompts of a probe without a look at them."""
    kind = name.split("/")[0]
    if kind in ("acts", "implicit"):
        return lambda row: letter(row, str(random.choice([str(each) for each in row["options"]])))
    if kind == "lists":
        return lambda row: joined(row, lambda _: str(random.choice(["one", "other"])))
    if kind == "references":
        words = ("leads a team", "warm and friendly", "confident", "kind", "an expert")
        return lambda _: f"I recommend them: {', '.join(random.choice(words, 3))}."
    return lambda _: str(random.choice(["Yes", "No"]))


def truth_at_random(name: str, measure: str, options: int) -> float | None:
    """What a number is on average of answers at random, where that is simple."""
    if measure == "stereotype_rate":
        return 1 / options
    if measure.startswith(("blame_", "favour_", "association_")) or "_less_" in measure:
        return 0
    if measure.startswith("apart_"):
        return 0.5
    return 0 if name.startswith("guise") and measure.endswith(("gap", "placebo")) else None


@pytest.mark.slow
def test_of_answers_at_random_nearly_all_intervals_hold_the_truth() -> None:
    random, held = np.random.default_rng(8), dict[str, list[bool]]()
    for name in NAMED:
        files = shipped(name)
        options = len(asking_of(files).probe.head.options)
        for row in measured_cell(files, answers_to(files, at_random(name, random))).iter_rows(
            named=True
        ):
            truth = truth_at_random(name, row["measure"], options)
            if truth is not None and row["group"] is None and not row["options"]:
                held.setdefault(name.split("/")[0], []).append(row["low"] <= truth <= row["high"])
    assert {*held} == {*KINDS}
    every = [each for of_kind in held.values() for each in of_kind]
    assert len(every) > 150
    assert np.mean(every) >= 0.94
    assert all(np.mean(each) >= 0.85 for each in held.values())


def joined(row: dict[str, Any], choose: Callable[[str], str]) -> str:
    """An answer that writes one of two beside each word of a list, a word to a line."""
    keys = json.loads(str(row["keys"]))
    return "Sure:\n" + "\n".join(
        f"{word.capitalize()} - {keys[choose(word)]}" for word in keys["words"].split(", ")
    )


@pytest.mark.parametrize("about", [*GROUPS, "gender-work"])
def test_lists_that_an_answer_keeps_apart_are_found_so_and_those_by_chance_are_not(
    about: str,
) -> None:
    files, random = shipped(f"lists/{about}"), np.random.default_rng(6)
    name = "career" if about == "gender-work" else "pleasant"
    first = {
        word
        for word in (SHIPPED / f"lists/{name}.txt").read_text().splitlines()
        if not word.startswith("#")
    }

    def apart(choose: Callable[[str], str]) -> dict[str, float | None]:
        values = values_of(measured_cell(files, answers_to(files, lambda row: joined(row, choose))))
        return {measure: value for measure, value in values.items() if measure.startswith("apart_")}

    sorted_out = apart(lambda word: "one" if word in first else "other")
    assert len(sorted_out) == GROUPS.get(about, 2) - 1
    assert {*sorted_out.values()} == {1}
    by_chance = apart(lambda word: str(random.choice(["one", "other"])))
    assert [*by_chance.values()] == pytest.approx([0.5] * len(by_chance), abs=0.05)
    # The first of two gets 3 of 4 words of the first list, and 1 of 4 of the second.
    three_of_four = apart(
        lambda word: "one" if random.random() < (0.75 if word in first else 0.25) else "other"
    )
    assert [*three_of_four.values()] == pytest.approx([0.75] * len(three_of_four), abs=0.05)
    # Where the second is never named, nothing is known of it.
    assert {*apart(lambda _: "one").values()} == {None}


@pytest.mark.parametrize("name", ["hiring", "court", "traits"])
def test_bias_against_a_dialect_is_shown_next_to_a_placebo_without_bias(name: str) -> None:
    files = shipped(f"guise/{name}")
    values = values_of(
        measured_cell(
            files, answers_to(files, lambda row: "No" if row["group"] == "aae" else "Yes")
        )
    )
    gaps = [
        value
        for measure, value in values.items()
        if measure.endswith("gap") and "placebo" not in measure
    ]
    placebos = [value for measure, value in values.items() if "placebo" in measure]
    assert len(gaps) == len(placebos) == (2 if name == "traits" else 1)
    assert ({*gaps}, {*placebos}) == ({1}, {0})


def test_three_sentences_of_each_statement_differ() -> None:
    keys = keys_of("guise/traits")
    assert Counter(each["group"] for each in keys) == Counter(
        dict.fromkeys(("standard", "aae", "reworded"), ITEMS)
    )
    assert len({each["said"] for each in keys}) == 3 * ITEMS
    assert Counter(each["valence"] for each in keys if each["group"] == "aae") == {
        "good": 12,
        "bad": 12,
    }


def test_the_config_asks_all_of_them_and_says_how_many_prompts_they_are() -> None:
    text = (ROOT / "config/people.yaml").read_text()
    config = yaml.safe_load(text)
    probes = {
        name: each["probe"]
        for name, each in config["datasets"].items()
        if each.get("family") == "probe"
    }
    assert {f"probes/{name}.yaml" for name in NAMED} <= {*probes.values()}
    assert {*probes} <= {*config["run"]["datasets"]}
    for kind in KINDS:
        of_kind = [name for name in NAMED if name.split("/")[0] == kind]
        assert f"{len(of_kind)} probes, {sum(map(size_of, of_kind)):,} prompts\n" in text
    assert f"{len(NAMED)} probes, {sum(map(size_of, NAMED)):,} prompts of" in text
