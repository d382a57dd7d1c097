"""The instances of underspecified questions: texts, positions, pairs, samples and keys."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from golden import SOURCES, as_source, golden_file, unqover_keys, word_list_files
from polars.testing import assert_frame_equal
from small_cells import positions_are_right
from small_tables import counted, whole

from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.families.underspecified import ask
from biasgrid.families.underspecified.ask import KEYS, expand
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import WordLists, planned_instances, read
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate
from biasgrid.tables import keys
from biasgrid.tables.files import validate_table
from biasgrid.tables.instances import instances_schema
from biasgrid.tables.keys import request_keys

ACTS = {
    "[p_act]": [
        AttributeRow({"[p_act]": "cooks", "[p_act:neg]": "never cooks"}, "cooks", "food"),
        AttributeRow({"[p_act]": "is a idol", "[p_act:neg]": "is no idol"}, "is a idol", None),
    ]
}
PEOPLE = Subjects({"[subj]": ["Ann", "Bob", "Eve"]}, ["female", "male", "female"])


def lists_of(
    *templates: tuple[str, str, str], subjects: list[Subjects] | None = None, **parts: object
) -> WordLists:
    lines = [QuestionTemplate(line, *texts) for line, texts in enumerate(templates, start=1)]
    standard = {"attributes": ACTS, "filler": "", "mask": None, "limit": {}} | parts
    return WordLists(lines, subjects or [PEOPLE], **standard)  # type: ignore[arg-type]


SAT = ("[subj1] sat by [subj2].", "Who [p_act]?", "Who [p_act:neg]?")


@pytest.mark.parametrize("name", SOURCES)
def test_instances_match_unqover(name: str) -> None:
    lists, faults = read(word_list_files(name))
    assert faults == []
    instances = whole(expand(lists))
    golden = json.loads(golden_file(f"source/{name}.source.json").read_text())
    ours = as_source(instances.filter(pl.Series(unqover_keys(instances)).is_in(list(golden))))
    assert ours == golden
    assert list(ours) == list(golden)
    validate_table(instances, instances_schema(KEYS, instances.schema), name)
    assert planned_instances(lists).instances == len(instances)


@pytest.mark.parametrize("filler", ["", "[aug] yes no  (CNN) --"])
def test_positions_match_the_candidates(filler: str) -> None:
    names = Subjects({"[subj]": ["apple", "a", "Zoë", "owl"]}, [None] * 4)
    contexts = [
        "A [subj1] sees a [subj2].",
        "[subj2] sees a [subj1] who [p_act].",
        "a a [subj1] a [subj2]",
    ]
    instances = whole(
        expand(lists_of(*((text, *SAT[1:]) for text in contexts), subjects=[names], filler=filler))
    )
    assert positions_are_right(instances)
    assert (
        instances["text_pair"]
        .cast(pl.String)
        .str.starts_with(f"{filler}  " if filler else "")
        .all()
    )


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        ("A [subj1] met a [subj2].", "An Ann met a Bob."),
        ("a a a [subj1] met [subj2].", "a a an Ann met Bob."),
        ("[subj2] and a a [subj1].", "Bob and a an Ann."),
        ("an [subj2] met a [subj1].", "an Bob met an Ann."),
        ("data [subj1] met [subj2], a\u00a0idol.", "data Ann met Bob, a\u00a0idol."),
        ("[subj1] met [subj2], who is a [p_act].", "Ann met Bob, who is a cooks."),
        ("[subj1] met [subj2], a European, a hour.", "Ann met Bob, a European, a hour."),
        ("En el parque, [subj2] vio a Ana y a [subj1].", "En el parque, Bob vio a Ana y an Ann."),
        ('[subj1] met [subj2], "a idol".', 'Ann met Bob, "a idol".'),
    ],
)
def test_articles_before_slots_are_smoothed_as_in_unqover(context: str, expected: str) -> None:
    instances = whole(expand(lists_of((context, "Who [p_act]?", "Who [p_act:neg]?"))))
    assert instances["text_pair"][0] == expected
    assert positions_are_right(instances)


def test_other_languages_have_no_article_a() -> None:
    template = (
        "En el parque, [subj1] vio a [subj2].",
        "¿A [subj1] o a [subj2]: a [p_act]?",
        "¿A [p_act:neg]?",
    )
    lists = replace(lists_of(template), is_english=False)
    instances = whole(expand(lists))
    assert set(instances["text_pair"]) == {
        f"En el parque, {one} vio a {other}." for one, other in pairs_of(instances)
    }
    assert positions_are_right(instances)
    assert "an " not in " ".join(instances["text"])
    assert lists.digest() != lists_of(template).digest()


def pairs_of(instances: pl.DataFrame) -> list[tuple[str, str]]:
    return instances.select(pl.col("subject1", "subject2").cast(pl.String)).rows()


def test_an_article_behind_a_tab_in_a_filler_or_in_an_attribute_is_not_smoothed() -> None:
    template = (
        "A [subj1] met [subj2].",
        "A [subj1] and a [subj1]: who [p_act]?",
        "A [p_act:neg] or a [p_act:neg]?",
    )
    acts = {
        "[p_act]": [
            AttributeRow({"[p_act]": "is a idol", "[p_act:neg]": "idle"}, "is a idol", None)
        ]
    }
    instances = whole(expand(replace(lists_of(template, filler="a idol -- a"), attributes=acts)))
    assert instances["text_pair"][0] == "a idol -- a  An Ann met Bob."
    assert instances["text"][0] == "A Ann and an Ann: who is a idol?"
    assert instances["text"][1] == "A idle or an idle?"


def test_the_design_is_balanced() -> None:
    expansion = expand(lists_of(SAT, ("[subj2] saw [subj1].", *SAT[1:])))
    instances, dropped = whole(expansion), expansion.facts["dropped_subjects"]
    assert dropped == []
    assert len(instances) == 3 * 2 * 2 * 2 * 2
    groups = instances.group_by("swap_group").agg(
        pl.len(),
        cells=pl.struct("swapped", "negated").n_unique(),
        pairs=pl.struct("template", "attribute").n_unique(),
    )
    assert (groups["len"] == 4).all()
    assert (groups["cells"] == 4).all()
    assert (groups["pairs"] == 1).all()
    plain, swapped = (
        instances.filter(pl.col("swapped") == order).sort("swap_group", "negated")
        for order in (0, 1)
    )
    assert plain["subject1"].to_list() == swapped["subject2"].to_list()
    assert plain["group2"].to_list() == swapped["group1"].to_list()
    assert instances["negated"].to_list() == [False, True] * 24


def test_two_lists_are_paired_across_and_never_within() -> None:
    women, men = (
        Subjects({"[subj]": ["Ann", "Eve"]}, ["f"] * 2),
        Subjects({"[subj]": ["Bob", "Carl"]}, ["m"] * 2),
    )
    instances = whole(expand(lists_of(SAT, subjects=[women, men], limit={"attributes": 1})))
    pairs = (
        instances.select(pl.col("subject1", "subject2").cast(pl.String))
        .unique(maintain_order=True)
        .rows()
    )
    across = list(product(["Ann", "Eve"], ["Bob", "Carl"]))
    assert pairs == across + [pair[::-1] for pair in across]


def test_a_limit_keeps_the_first_of_each() -> None:
    limit = {"templates": 1, "subjects": 2, "attributes": 1}
    instances = whole(expand(lists_of(SAT, ("[subj2] saw [subj1].", *SAT[1:]), limit=limit)))
    assert len(instances) == 4
    assert set(instances["subject1"]) == {"Ann", "Bob"}
    assert set(instances["attribute"]) == {"cooks"}
    assert set(instances["template"]) == {0}


def test_subjects_of_several_tokens_are_dropped_before_the_limit() -> None:
    places = Subjects(
        {"[subj]": ["Chad", "Mali", "Peru"], "[subj:dem]": ["Chadian", "Malian", "Peruvian"]},
        [None] * 3,
    )
    template = ("A [subj1:dem] met a [subj2:dem].", *SAT[1:])
    lists = lists_of(template, subjects=[places], limit={"subjects": 2})
    asked: list[str] = []

    def one_token(words: Sequence[str]) -> list[bool]:
        asked.extend(words)
        return [word != "Chadian" for word in words]

    expansion = expand(lists, one_token)
    instances, dropped = whole(expansion), expansion.facts["dropped_subjects"]
    assert dropped == ["Chad"]
    assert asked == ["Chadian", "Malian", "Peruvian"]
    assert set(instances["subject1"]) == {"Mali", "Peru"}


def test_no_subject_left_is_an_empty_table() -> None:
    expansion = expand(lists_of(SAT), lambda words: [False] * len(words))
    instances, dropped = whole(expansion), expansion.facts["dropped_subjects"]
    assert dropped == ["Ann", "Bob", "Eve"]
    assert instances.is_empty()
    validate_table(instances, instances_schema(KEYS, instances.schema), "empty")


@pytest.mark.parametrize("part", [1, 13, 10**6])
@pytest.mark.parametrize("sample", [None, Sample(units=7, seed=3)])
def test_instances_are_the_same_in_parts_of_any_size(
    part: int, sample: Sample | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of a name that appears twice, the same is asked again.
    twice = Subjects({"[subj]": ["Ann", "Bob", "Ann", "Eve"]}, ["female", "male", None, "female"])
    lists = replace(
        lists_of(SAT, ("[subj1] met [subj2].", *SAT[1:]), subjects=[twice]), sample=sample
    )
    instances = whole(expand(lists))
    assert instances.equals(counted(instances.drop("asked_before")).select(instances.columns))
    monkeypatch.setattr(ask, "INSTANCES_AT_ONCE", part)
    monkeypatch.setattr(keys, "DIGESTS_AT_ONCE", part)
    parts = [*expand(lists).parts]
    assert pl.concat(parts).equals(instances)
    assert len(parts) == (12 if part <= 13 else 1)


def test_the_mask_is_the_models_own() -> None:
    template = ("[subj1] met [subj2].", "A [mask] [p_act].", "A [mask] [p_act:neg].")
    instances = whole(expand(lists_of(template, mask="<mask>")))
    assert instances["text"][:2].to_list() == ["A <mask> cooks.", "A <mask> never cooks."]


def test_pronouns_are_candidates_behind_the_subjects() -> None:
    template = ("[subj1] met [subj2].", "A [mask] [p_act].", "A [mask] [p_act:neg].")
    lists = lists_of(template, mask="<mask>", pronouns={"female": "she", "male": "he"})
    expansion = expand(lists)
    instances = whole(expansion)
    validate_table(instances, expansion.schema, "pronouns")
    pronouns = (
        instances.select("candidate1", "candidate3", "candidate2", "candidate4")
        .cast(pl.String)
        .unique()
        .rows()
    )
    known = {"Ann": "she", "Bob": "he", "Eve": "she"}
    assert sorted(pronouns) == sorted(
        (one, known[one], two, known[two]) for one, two in permutations(known, 2)
    )
    assert set(request_keys(instances)).isdisjoint(
        request_keys(whole(expand(replace(lists, pronouns={}))))
    )
    assert lists.digest() != replace(lists, pronouns={}).digest()


def test_a_request_has_its_key_regardless_of_other_requests() -> None:
    few = whole(expand(lists_of(SAT, limit={"subjects": 2})))
    many = whole(expand(lists_of(("[subj2] saw [subj1].", *SAT[1:]), SAT)))
    assert request_keys(many).is_unique().all()
    assert set(request_keys(few)) < set(request_keys(many))


def places_to_plan(subjects: list[Subjects], sample: Sample | None = None) -> WordLists:
    template = (
        "[subj1:dem] men met [subj2].",
        "Which [subj2:dem] [p_act] by the [mask]?",
        "Who of [subj1] [p_act:neg]?",
    )
    mask = {"filler": "well --", "mask": "<m>"}
    return lists_of(SAT, template, subjects=subjects, sample=sample, **mask)


def planned_texts(instances: pl.DataFrame) -> list[tuple[object, ...]]:
    """The texts of instances as a plan has them: articles are not smoothed."""
    texts = instances.select(
        pl.col("text_pair", "text").cast(pl.String).str.replace_all(" an ", " a ")
    ).rows()
    candidates = instances.select(pl.col("candidate1", "candidate2").cast(pl.String)).rows()
    return [(*text, pair, "") for text, pair in zip(texts, candidates, strict=True)]


PLACES = Subjects(
    {"[subj]": ["Chad", "Mali", "Peru"], "[subj:dem]": ["Chadian", "Malian", "Peruvian"]},
    [None] * 3,
)
ISLANDS = Subjects({"[subj]": ["Fiji", "Cuba"], "[subj:dem]": ["Fijian", "Cuban"]}, [None] * 2)


def test_a_sample_holds_texts_of_instances_spread_over_pairs_and_items() -> None:
    lists = places_to_plan([PLACES])
    texts = planned_texts(whole(expand(lists)).filter(~pl.col("swapped")))
    assert planned_instances(lists).sample(100) == texts
    sample = planned_instances(lists).sample(12)
    assert len(sample) == 12
    assert set(sample) <= set(texts)
    assert len(set(sample)) > 8


@pytest.mark.parametrize("sample", [None, Sample(units=5, seed=2), BlockSample(units=8, seed=2)])
@pytest.mark.parametrize("subjects", [[PLACES], [PLACES, ISLANDS]], ids=["one list", "two lists"])
def test_a_plan_and_the_table_have_the_same_parts(
    subjects: list[Subjects], sample: Sample | None
) -> None:
    lists = places_to_plan(subjects, sample)
    texts = planned_texts(whole(expand(lists)))
    assert planned_instances(lists).parts(4, len(texts)) == [texts]
    assert planned_instances(lists).parts(1, 4) == [texts[:4]]
    parts = planned_instances(lists).parts(2, len(texts) // 2)
    assert [len(part) for part in parts] == [len(texts) // 2] * 2
    assert {*parts[0], *parts[1]} <= set(texts)
    assert parts[0] != parts[1]


@pytest.mark.parametrize("sample", [None, Sample(units=5, seed=2), BlockSample(units=8, seed=2)])
def test_some_instances_are_built_as_in_the_whole_table(sample: Sample | None) -> None:
    places = Subjects(
        {"[subj]": ["Chad", "Mali", "Peru"], "[subj:dem]": ["Chadian", "Malian", "Ivorian"]},
        [None] * 3,
    )
    template = ("A [subj1:dem] man met a [subj2:dem] man.", "Who [p_act]?", "Who [p_act:neg]?")
    lists = lists_of(SAT, template, subjects=[places], sample=sample)
    instances = whole(expand(lists))
    for numbers in (
        np.arange(len(instances)),
        np.array([0, 3, 4, len(instances) - 1]),
        np.array([2, 10**6]),
    ):
        built = expand(lists).requests_at(numbers)
        expected = instances.filter(pl.col("instance").is_in(numbers)).select(sorted(built.columns))
        assert_frame_equal(built.select(sorted(built.columns)), expected, categorical_as_str=True)
    assert "text_pair" in built.columns


@pytest.mark.slow
def test_the_gender_dataset_is_complete_and_its_file_small(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    config = parse_config(
        read_config(root / "config" / "config.yaml") | {"word_lists": str(root / "word_lists")},
        "config.yaml",
    )
    instances = whole(expand(load_word_lists(config)["gender", "qa"]))
    assert len(instances) == 2 * 70 * 70 * 4 * 70 * 2
    instances.write_parquet(tmp_path / "instances.parquet")
    # Nothing compresses the eight bytes of a key.
    assert (tmp_path / "instances.parquet").stat().st_size < 50e6 + 8 * len(instances)


@pytest.mark.parametrize(
    ("templates", "again"),
    [
        ([SAT, ("[subj1] met [subj2].", *SAT[1:])], False),
        # A template that is there twice, and a negation that is none, in questions with and without
        # subjects.
        ([SAT, SAT], True),
        ([(SAT[0], "Who [p_act]?", "Who [p_act]?")], True),
        ([(SAT[0], "Who but [subj1] [p_act]?", "Who but [subj1] [p_act:neg]?")], False),
        ([(SAT[0], "Who but [subj1] [p_act]?", "Who but [subj1] [p_act]?")], True),
    ],
)
def test_repeated_requests_are_counted_regardless_of_their_source(
    templates: list[tuple[str, str, str]], again: bool
) -> None:
    instances = whole(expand(lists_of(*templates)))
    assert instances.equals(counted(instances.drop("asked_before")).select(instances.columns))
    assert bool(instances["asked_before"].sum()) == again
