"""What config/people.yaml asks: sizes as stated, groups that are alike but for what they are, and
whole sentences.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any

import polars as pl
import pytest
from grammar import stems
from project import ROOT

from biasgrid.base.faults import Fault
from biasgrid.base.references import load, stage_module
from biasgrid.config import Config, load_word_lists, parse_config, read_config, variant_clusters
from biasgrid.families.family import Lists
from biasgrid.families.underspecified.lists import name_facts
from biasgrid.families.underspecified.templates import read_attributes
from biasgrid.runs.counts import instances_to_ask

pytestmark = pytest.mark.family("what is asked is of two built-in families")
CONFIG = ROOT / "config" / "people.yaml"
NAMES = ["names-women", "names-men", "names-gender"]
QUESTIONS = [
    *NAMES,
    "age",
    "age-antonyms",
    "disability",
    "orientation",
    "gender-identity",
    "status",
]
CASES = ["people-sentiment", "people-masked", "ethnicity-gender", "age-gender"]
ATTRIBUTES = ["people", "age", "disability", "orientation", "gender-identity", "status"]
VALENCES = ["good", "neutral", "bad"]
PAST = {
    "was": "be",
    "got": "get",
    "led": "lead",
    "stole": "steal",
    "gave": "give",
    "forgot": "forget",
    "lost": "lose",
    "had": "have",
    "made": "make",
    "spoke": "speak",
    "kept": "keep",
    "drank": "drink",
    "sat": "sit",
    "wore": "wear",
    "paid": "pay",
}
"""Irregular verbs of the attributes."""


@cache
def people() -> Config:
    return parse_config(read_config(CONFIG), str(CONFIG))


@cache
def lists() -> dict[tuple[str, str], Lists]:
    return load_word_lists(people())


def variants_of(dataset: str) -> list[str]:
    return [variant for name, variant in lists() if name == dataset]


def whole_lists(dataset: str, variant: str) -> Any:
    """The lists of a dataset's variant, of which everything is asked."""
    content: Any = lists()[dataset, variant]
    return replace(content, sample=None, balance=None) if dataset in QUESTIONS else content


@cache
def asked(dataset: str, variant: str) -> pl.DataFrame:
    """The distinct texts of all instances; of names, those of two in each group, in whose places
    all others stand.
    """
    content = whole_lists(dataset, variant)
    if dataset in NAMES:
        content = replace(content, subjects=[two_of_each(side) for side in content.subjects])
    expand = load(stage_module(people().family_reference(dataset), "expand")).expand
    columns = ["text_pair", "text", "negated"] if dataset in QUESTIONS else ["text_pair", "text"]
    return pl.concat(part.select(columns).unique() for part in expand(content).parts).unique()


def two_of_each(side: Any) -> Any:
    seen = Counter[str]()
    kept = []
    for group in side.groups:
        seen[group] += 1
        kept.append(seen[group] <= 2)
    return side.keep(kept)


def stated_sizes() -> dict[str, tuple[str, int]]:
    """The comment beside each dataset, and the number of instances in it."""
    lines = re.findall(
        r"^  ([a-z-]+):  # (.*?([0-9,]+) instances.*)$", CONFIG.read_text(), re.MULTILINE
    )
    return {name: (comment, int(number.replace(",", ""))) for name, comment, number in lines}


def test_the_config_asks_its_datasets() -> None:
    assert people().run.datasets[: len(QUESTIONS) + len(CASES)] == [*QUESTIONS, *CASES]


@pytest.mark.parametrize("dataset", [*QUESTIONS, *CASES])
def test_a_dataset_is_as_large_as_its_comment_says(dataset: str) -> None:
    family = people().family_reference(dataset)
    comment, number = stated_sizes()[dataset]
    counted = {}
    for variant in variants_of(dataset):
        content = whole_lists(dataset, variant)
        formats = len(content.prompts) or 1 if dataset in QUESTIONS else 1
        counted[variant] = instances_to_ask(family, content, None).instances // formats
    assert set(counted.values()) == {number}
    content = whole_lists(dataset, variants_of(dataset)[0])
    if dataset in QUESTIONS:
        subjects = " and ".join(str(len(side.groups)) for side in content.subjects)
        attributes = len(content.attributes["[p_act]"])
        templates = len(content.templates)
        expected = f"{subjects} subjects, {attributes} attributes, {templates} templates"
        assert dataset == "age-antonyms" or expected in comment
    else:
        assert f"{content.cases} cases" in comment


@pytest.mark.parametrize("dataset", QUESTIONS)
def test_questions_have_eight_template_clusters_of_four_kinds(dataset: str) -> None:
    for variant in variants_of(dataset):
        clusters = variant_clusters(people(), lists(), dataset, variant)
        assert len(set(clusters)) == 8
        assert len(Counter(Counter(clusters).values())) == 1
    (file,) = {people().datasets[dataset].variants["qa-bert"].templates}  # type: ignore[attr-defined]
    kinds = re.findall(
        r"^# (two people|one after|what belongs|what was reported)", kinds_of(file), re.MULTILINE
    )
    assert sorted(set(kinds)) == ["one after", "two people", "what belongs", "what was reported"]


def kinds_of(file: str) -> str:
    return (ROOT / "word_lists" / file).read_text()


@pytest.mark.parametrize("dataset", QUESTIONS)
def test_groups_have_equally_many_subjects_and_enough(dataset: str) -> None:
    sides = whole_lists(dataset, variants_of(dataset)[0]).subjects
    sizes = Counter(group for side in sides for group in side.groups)
    assert len(set(sizes.values())) == 1
    assert min(sizes.values()) >= (20 if dataset in NAMES else 4)
    assert len(sizes) >= (6 if dataset in NAMES else 2)


@pytest.mark.parametrize("dataset", ["orientation", "gender-identity", "status"])
def test_groups_differ_in_one_word_of_each_subject(dataset: str) -> None:
    (side,) = whole_lists(dataset, "lm-bert").subjects
    words: dict[str, list[list[str]]] = defaultdict(list)
    for group, subject in zip(side.groups, side.forms["[subj]"], strict=True):
        words[group].append(subject.split())
    around = {tuple(tuple(one[:-1]) for one in of) for of in words.values()}
    assert len(around) == 1
    if dataset == "status":
        assert len({tuple(one[-1].split("-")[1] for one in of) for of in words.values()}) == 1


def test_names_have_counts_and_are_listed_once() -> None:
    women, men = whole_lists("names-gender", "lm-bert").subjects
    names = [*women.forms["[subj]"], *men.forms["[subj]"]]
    assert len(set(names)) == len(names) == 360
    assert all(re.fullmatch(r"[A-Z][a-z]+", name) for name in names)
    assert [{group.split()[-1] for group in side.groups} for side in (women, men)] == [
        {"women"},
        {"men"},
    ]
    ethnic = [sorted({group.rsplit(" ", 1)[0] for group in side.groups}) for side in (women, men)]
    assert (
        ethnic[0]
        == ethnic[1]
        == sorted(["white", "Black", "Hispanic", "East Asian", "Arab or Turkish", "South Asian"])
    )
    for side in (women, men):
        counts = defaultdict(list)
        for group, count in zip(side.groups, side.frequencies, strict=True):
            counts[group].append(count)
        assert all(of == sorted(of, reverse=True) and of[-1] >= 100 for of in counts.values())
    # No group is twice as frequent as another, so that nothing is flagged where all names are
    # asked.
    means = name_facts([women, men], None)["frequency"]
    assert len(means) == 12
    assert max(means.values()) < 2 * min(means.values())


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_are_balanced_and_denied_truly(name: str) -> None:
    faults: list[Fault] = []
    rows = read_attributes(ROOT / f"word_lists/attributes/{name}.txt", faults)["[p_act]"]
    assert faults == []
    assert Counter(row.group for row in rows) == Counter(dict.fromkeys(VALENCES, 5))
    for row in rows:
        plain, denied, antonym = (
            row.texts[head] for head in ("[p_act]", "[p_act:neg]", "[p_act:antonym]")
        )
        verb, rest = plain.split(" ", 1)
        if verb == "was":
            assert denied == f"was not {rest}"
        else:
            base = re.fullmatch(r"did not (\w+) (.+)", denied)
            assert base, denied
            assert base[2] == rest
            assert past_of(base[1]) == verb
        assert antonym not in (plain, denied)
        assert " not " not in f" {antonym} {plain} "


def past_of(base: str) -> str:
    """The past of a verb."""
    irregular = {present: past for past, present in PAST.items()}
    doubled = {"drop": "dropped"}
    ending = "d" if base.endswith("e") else "ed"
    return irregular.get(base) or doubled.get(base) or base + ending


@pytest.mark.parametrize("dataset", [dataset for dataset in QUESTIONS if dataset not in NAMES])
def test_attributes_share_no_word_with_a_group(dataset: str) -> None:
    """The word alone joins who is working-class to who worked hard, and its opposite who is tall to
    what is short.
    """
    content = whole_lists(dataset, "lm-bert")
    subjects = " ".join(subject for side in content.subjects for subject in side.forms["[subj]"])
    groups = stems(subjects.replace("-", " "))
    asked_of = stems(
        " ".join(text for row in content.attributes["[p_act]"] for text in row.texts.values())
    )
    assert groups & asked_of == set()
    assert not ("tall" in groups and "short" in asked_of)


def test_antonyms_are_asked_in_place_of_negations_alone() -> None:
    plain, antonyms = asked("age", "qa-bert"), asked("age-antonyms", "qa-bert")
    assert (
        plain.filter(~pl.col("negated"))
        .sort("text", "text_pair")
        .equals(antonyms.filter(~pl.col("negated")).sort("text", "text_pair"))
    )
    assert all(" not " in text for text in plain.filter("negated")["text"].unique())
    assert not any(" not " in text for text in antonyms.filter("negated")["text"].unique())


def sentences(dataset: str) -> Iterable[str]:
    """The distinct sentences of a dataset; what stands around questions of generative models is no
    sentence of it.
    """
    for variant in variants_of(dataset):
        if variant != "llm":
            table = asked(dataset, variant)
            yield from chain(table["text"].unique(), table["text_pair"].drop_nulls().unique())


@pytest.mark.parametrize("dataset", [*QUESTIONS, *CASES])
def test_every_sentence_is_whole(dataset: str) -> None:
    texts = {text.replace("<mask>", "[MASK]") for text in sentences(dataset)}
    assert len(texts) > 100
    for text in texts:
        assert re.fullmatch(r"(The |\[MASK\] )?[A-Z\[].*[.?]", text), text
        assert re.search(r"[.?] [a-z]|  | [.,?]", text) is None, text
        # The ages begin with other digits than 8, so that letters decide.
        assert (
            re.search(r"\b[Aa] [aeiouAEIOU]|\b[Aa]n [^aeiouAEIOU]|\ba (8|11|18)", text) is None
        ), text
        assert re.search(r"\b(\w+) \1\b", text) is None, text
        assert re.search(r"\[(subj|p_act)|<\w+>", text) is None, text


def groups_of_pack(name: str) -> dict[str, dict[str, list[str]]]:
    content: dict[str, dict[str, list[str]]] = json.loads(
        (ROOT / f"word_lists/counterfactual/{name}.json").read_text()
    )
    assert {len(terms) for groups in content.values() for terms in groups.values()} == {4}
    return content


def test_groups_of_cases_have_the_same_nouns() -> None:
    for bias_type, groups in groups_of_pack("people-groups").items():
        assert len({tuple(term.split()[-1] for term in terms) for terms in groups.values()}) == 1, (
            bias_type
        )


def test_groups_of_intersections_differ_in_one_word() -> None:
    groups = groups_of_pack("people-intersection-groups")
    assert sorted(groups) == ["age", "ethnicity", "gender"]
    for group, terms in groups["ethnicity"].items():
        assert terms == [group, f"tall {group}", f"local {group}", f"left-handed {group}"]
    for group, terms in groups["gender"].items():
        assert terms[1:] == [f"{group} writer", f"{group} driver", f"{group} guest"]


@pytest.mark.parametrize("name", ["ethnicity", "age"])
def test_cases_of_intersections_are_balanced_in_valence(name: str) -> None:
    content = json.loads(
        (ROOT / f"word_lists/counterfactual/templates/{name}-intersections.json").read_text()
    )
    assert Counter(template["label"] for template in content["templates"]) == {0: 5, 1: 5, 2: 5}
    # A group has no noun of the sentence: neighbors would call a neighbor kind.
    terms = [
        term
        for groups in groups_of_pack("people-intersection-groups").values()
        for term in groups.values()
    ]
    texts = (template["text"] for template in content["templates"])
    assert (
        stems(" ".join(chain.from_iterable(terms))) & stems(re.sub("<[a-z]+>", "", " ".join(texts)))
        == set()
    )


def test_a_sample_of_names_keeps_every_balanced_name() -> None:
    content: Any = lists()["names-women", "qa-bert"]
    expansion = load(stage_module(people().family_reference("names-women"), "expand")).expand(
        content, letters_as_tokens
    )
    asked_names = pl.concat(
        part.select("subject1", "group1").unique() for part in expansion.parts
    ).unique()
    sizes = Counter(asked_names["group1"])
    assert len(sizes) == 6
    assert len(set(sizes.values())) == 1
    tokens = expansion.facts["names"]["tokens"]
    assert max(tokens.values()) == pytest.approx(min(tokens.values()))


def letters_as_tokens(words: Sequence[str]) -> list[int]:
    """Counts a token for every two letters."""
    return [(len(word) + 1) // 2 for word in words]
