"""Groups of names that are made alike in tokens and frequency, and what is said of those that are
not.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pipeline import Pipeline
from small_config import CONTENT, changed, faults_of
from small_lists import LISTS, read
from small_tables import whole
from tiny_checkpoints import make_tokenizer

from biasgrid.base.faults import InputError, UserError
from biasgrid.config import load_word_lists, parse_config
from biasgrid.families.sampling import Balance, Sample, balanced_rows
from biasgrid.families.underspecified.ask import expand
from biasgrid.families.underspecified.read import WordLists, planned_instances
from biasgrid.inference.models.masked.one_token import token_counts
from biasgrid.runs.checks import refuse_unknown_subjects
from biasgrid.runs.counts import token_counter
from biasgrid.runs.layout import Layout

Row = tuple[str, int, float]
ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 3), st.floats(1, 1e6)), max_size=30
)
"""Group, tokens and frequency of names."""


def balanced(rows: Sequence[Row], by_frequency: bool) -> list[int]:
    groups, tokens, frequencies = zip(*rows, strict=True) if rows else ((), (), ())
    return balanced_rows(
        groups, [(count,) for count in tokens], frequencies if by_frequency else None
    )


@given(ROWS, st.booleans())
def test_balanced_groups_have_the_same_tokens_and_lose_no_name_in_vain(
    rows: list[Row], by_frequency: bool
) -> None:
    places = balanced(rows, by_frequency)
    assert places == sorted(set(places)) == balanced(rows, by_frequency)
    groups = {group for group, _, _ in rows}
    of_group = {
        group: Counter(rows[place][1] for place in places if rows[place][0] == group)
        for group in groups
    }
    before = {group: Counter(count for own, count, _ in rows if own == group) for group in groups}
    # As many of each number of tokens as the smallest group has; none with an unknown token.
    expected = (
        {count: min(before[group][count] for group in groups) for count in (1, 2, 3)}
        if groups
        else {}
    )
    assert all(
        of == Counter({count: few for count, few in expected.items() if few})
        for of in of_group.values()
    )


@given(
    st.lists(st.floats(1, 1e6), min_size=1, max_size=3),
    st.lists(st.floats(1, 1e6), min_size=3, max_size=6),
)
def test_names_are_kept_whose_frequencies_are_closest(few: list[float], many: list[float]) -> None:
    rows = [*[("few", 1, one) for one in few], *[("many", 1, one) for one in many]]
    kept = [
        rows[place][2] for place in balanced(rows, by_frequency=True) if rows[place][0] == "many"
    ]

    def apart(chosen: Sequence[float]) -> float:
        orders = permutations(chosen)
        return min(
            sum(abs(log(one) - log(other)) for one, other in zip(few, order, strict=True))
            for order in orders
        )

    assert apart(kept) == pytest.approx(min(map(apart, combinations(many, len(few)))))


NAMES = {
    "x": ["Al", "Bo", "Cy", "Dan", "Eve", "Alexander"],
    "y": ["Xi", "Yo", "Zoltan", "Wim", "Alexandra"],
}
COMMON = {"Al": 100, "Bo": 10, "Cy": 1, "Xi": 1.2, "Yo": 90}


def by_length(words: Sequence[str]) -> list[int]:
    """Counts tokens of three letters; that of Wim is unknown."""
    return [0 if word == "Wim" else -(-len(word) // 3) for word in words]


def lists_of(folder: Path, one_token: bool = False, **balance: Any) -> WordLists:
    lines = [
        f"[subj] {group} | {name} | {COMMON.get(name, 5)}"
        for group, names in NAMES.items()
        for name in names
    ]
    lists, faults = read(folder, subjects="\n".join(lines))
    assert faults == []
    return replace(lists, one_token=one_token, balance=Balance(**balance) if balance else None)


def test_a_dataset_keeps_names_of_as_many_tokens(tmp_path: Path) -> None:
    lists = lists_of(tmp_path, by=["tokens"], least=3)
    design = planned_instances(lists, by_length)
    assert design.subjects[0].forms == {
        "[subj]": ["Al", "Bo", "Alexander", "Xi", "Yo", "Alexandra"]
    }
    assert design.subjects[0].groups == ["x"] * 3 + ["y"] * 3
    assert design.dropped_subjects == ["Cy", "Dan", "Eve", "Zoltan", "Wim"]
    assert design.refusal is None
    # Without the tokenizer a plan counts all names: at most so many are asked.
    assert len(planned_instances(lists).subjects[0].groups) == 11


def test_names_of_closest_frequency_are_kept(tmp_path: Path) -> None:
    lists = lists_of(tmp_path, by=["tokens", "frequency"], least=3)
    assert planned_instances(lists, by_length).subjects[0].forms["[subj]"] == [
        "Al",
        "Cy",
        "Alexander",
        "Xi",
        "Yo",
        "Alexandra",
    ]
    of_frequency = lists_of(tmp_path, by=["frequency"])
    assert Counter(planned_instances(of_frequency).subjects[0].groups) == {"x": 5, "y": 5}


def test_names_of_one_token_are_dropped_before_groups_are_made_alike(tmp_path: Path) -> None:
    design = planned_instances(
        lists_of(tmp_path, one_token=True, by=["tokens"], least=2), by_length
    )
    assert design.subjects[0].forms["[subj]"] == ["Al", "Bo", "Xi", "Yo"]


def test_groups_of_two_lists_are_made_alike(tmp_path: Path) -> None:
    lists, faults = read(
        tmp_path, subjects="[subj] x | Al\n[subj] x | Alexander\n", others="[subj] y | Xi\n"
    )
    assert faults == []
    design = planned_instances(replace(lists, one_token=False, balance=Balance(least=1)), by_length)
    assert [side.forms["[subj]"] for side in design.subjects] == [["Al"], ["Xi"]]


def test_too_few_names_are_refused_when_they_are_counted(tmp_path: Path) -> None:
    lists = lists_of(tmp_path, by=["tokens"], least=4)
    expected = (
        r"3 subjects are left in each group after balancing by tokens; expected at least 4 "
        r"\(`balance.least`\): use lists with more subjects of each group"
    )
    with pytest.raises(UserError, match=expected):
        expand(lists, by_length)
    nobody = replace(lists, subjects=[replace(lists.subjects[0], groups=["x"] * 10 + ["z"])])
    with pytest.raises(UserError, match="0 subjects are left"):
        expand(nobody, lambda words: [len(words)] * 10 + [1])


def test_the_digest_shows_what_is_balanced(tmp_path: Path) -> None:
    plain, faults = read(tmp_path)
    assert faults == []
    known, by_tokens, alike = (
        lists_of(tmp_path),
        lists_of(tmp_path, least=2),
        lists_of(tmp_path, by=["frequency"]),
    )
    of_few = replace(known, subjects=[replace(known.subjects[0], frequencies=None)])
    digests = [
        lists.digest()
        for lists in (plain, known, of_few, by_tokens, alike, replace(alike, one_token=True))
    ]
    assert len(set(digests)) == len(digests)
    assert replace(known, one_token=True).digest() == known.digest()


@pytest.mark.parametrize("kind", ["word pieces", "bytes", "metaspace"])
def test_tokens_are_counted_as_in_a_sentence(kind: str, tmp_path: Path) -> None:
    architecture = {"word pieces": "bert", "bytes": "gpt2", "metaspace": "albert"}[kind]
    tokenizer = make_tokenizer(kind, architecture)
    tokenizer.save_pretrained(tmp_path / "tokenizer")
    words = ["Ann", "Carl", "Zoë", "African-American", "Ann Carl", "cooked"]
    counts = token_counts(tokenizer, words)
    around = len(tokenizer("met and", add_special_tokens=False)["input_ids"])
    in_sentence = [
        len(tokenizer(f"met {word} and", add_special_tokens=False)["input_ids"]) for word in words
    ]
    assert counts == [length - around for length in in_sentence]
    assert counts[0] == 1
    assert counts[4] == 2
    # A plan counts alike, without transformers; a tokenizer without mask token needs none.
    entry = {"folder": str(tmp_path / "tokenizer")} | (
        {"mask": tokenizer.mask_token} if architecture != "gpt2" else {}
    )
    config = parse_config(
        CONTENT | {"tokenizers": CONTENT["tokenizers"] | {"own": entry}}, "c.yaml"
    )
    counter = token_counter(Layout(config), "own")
    assert counter is not None
    assert counter(words) == counts


def test_unknown_tokens_are_none() -> None:
    assert token_counts(make_tokenizer("word pieces", "bert"), ["日本", "Ann 日本", "Ann"]) == [
        0,
        0,
        1,
    ]


BALANCED = changed("datasets/religion/balance", {"by": ["tokens"]})


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            BALANCED,
            (
                "c.yaml, datasets.religion.variants.qa.tokenizer: none, although the dataset "
                "balances by tokens; expected one of bert"
            ),
        ),
        (
            changed("datasets/religion/variants/qa/tokenizer", "bret", BALANCED),
            (
                "c.yaml, datasets.religion.variants.qa.tokenizer: unknown name 'bret' (did you "
                "mean 'bert'?); expected one of bert"
            ),
        ),
        (
            changed("datasets/religion/variants/qa/tokenizer", "bert"),
            (
                "c.yaml, datasets.religion.variants.qa.tokenizer: 'bert', but the dataset does "
                "not balance by tokens; expected no `tokenizer` here"
            ),
        ),
        (
            changed("datasets/religion/variants/lm-bert/tokenizer", "bert"),
            (
                "c.yaml, datasets.religion.variants.lm-bert.tokenizer: 'bert', but a variant of "
                "masked language models has its own tokenizer; expected no `tokenizer` here"
            ),
        ),
        (
            changed("tokenizers/bert/mask", None),
            (
                "c.yaml, tokenizers.bert.mask: missing; expected the key, because masked language "
                "models answer the variant lm-bert"
            ),
        ),
    ],
)
def test_a_config_names_the_tokenizer_that_counts(content: dict[str, Any], expected: str) -> None:
    assert expected in faults_of(content)


def config_of(folder: Path, subjects: str, tokenizer: Path | None = None, **balance: Any) -> Any:
    contents = LISTS | {"subjects": subjects}
    for name, text in contents.items():
        (folder / f"{name}.txt").write_text(text)
    variant = {"templates": "templates.txt"} | ({"tokenizer": "own"} if tokenizer else {})
    dataset = {
        "title": "Names",
        "subjects": ["subjects.txt"],
        "attributes": "attributes.txt",
        "balance": balance,
    }
    content = {
        "word_lists": str(folder),
        "results": str(folder / "results"),
        "tokenizers": {"own": {"folder": str(tokenizer)}} if tokenizer else {},
        "models": {"answers": CONTENT["models"]["answers"]},
        "datasets": {"names": dataset | {"variants": {"qa": variant}}},
        "run": {"models": ["answers"], "datasets": ["names"]},
    }
    return parse_config(content, "c.yaml")


@pytest.mark.parametrize(
    ("subjects", "balance", "expected"),
    [
        (
            "[subj] Ann\n[subj] Bob\n",
            {"by": ["frequency"]},
            (
                "balance: subjects without a group; expected a group of each subject: [subj] "
                "group | term"
            ),
        ),
        (
            "[subj] x | Ann\n[subj] y | Bob\n",
            {"by": ["frequency"]},
            (
                "balance.by: subjects without a frequency; expected lists with `[subj] group | "
                "term | frequency`, or `by: [tokens]`"
            ),
        ),
        (
            "[subj] x | Ann | 5\n[subj] y | Bob | 7\n",
            {"by": ["frequency"], "least": 2},
            (
                "balance: 1 subjects are left in each group after balancing by frequency; "
                "expected at least 2"
            ),
        ),
    ],
)
def test_lists_that_cannot_be_balanced_are_refused_before_the_run(
    tmp_path: Path, subjects: str, balance: dict[str, Any], expected: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_word_lists(config_of(tmp_path, subjects, **balance))
    (fault,) = caught.value.faults
    assert str(fault).startswith(f"c.yaml, datasets.names.{expected}")


def test_a_tokenizer_at_hand_refuses_too_few_names_before_the_run(tmp_path: Path) -> None:
    make_tokenizer("bytes", "gpt2").save_pretrained(tmp_path / "tokenizer")
    config = config_of(
        tmp_path, "[subj] x | Ann\n[subj] y | Qfgzpt\n", tmp_path / "tokenizer", least=1
    )
    with pytest.raises(
        InputError, match=r"0 subjects are left in each group .* \(tokenizer 'own'\)"
    ):
        refuse_unknown_subjects(config, load_word_lists(config))
    alike = config_of(
        tmp_path, "[subj] x | Ann\n[subj] y | Carl\n", tmp_path / "tokenizer", least=1
    )
    refuse_unknown_subjects(alike, load_word_lists(alike))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "[subj] x | Eve | 0",
            "'0' is no frequency; expected a number above 0: group | term | frequency",
        ),
        (
            "[subj] x | Eve | -3",
            "'-3' is no frequency; expected a number above 0: group | term | frequency",
        ),
        (
            "[subj] x | Eve | nan",
            "'nan' is no frequency; expected a number above 0: group | term | frequency",
        ),
        ("[subj] x | Eve | 3 | 4", "3 '|' signs; expected at most two: group | term | frequency"),
        ("[subj] x |  | 3", "no term after [subj]; expected a term"),
        (
            "[subj] x | Eve",
            (
                "has no frequency, unlike other [subj] lines; expected a frequency and '|' in all "
                "[subj] lines or in none"
            ),
        ),
    ],
)
def test_frequencies_are_numbers_in_all_lines_or_in_none(
    tmp_path: Path, line: str, expected: str
) -> None:
    lists, faults = read(tmp_path, subjects=f"[subj] x | Ann | 5\n{line}\n[subj] y | Bob | 2.5\n")
    assert faults == [f"subjects.txt, line 2: {expected}"]
    assert lists.subjects[0].forms["[subj]"][0] == "Ann"


def facts_of(
    lists: WordLists, counter: Callable[[Sequence[str]], list[int]] | None = None
) -> Mapping[str, Any]:
    expansion = expand(lists, counter)
    whole(expansion)
    return expansion.facts


def test_what_is_known_of_the_names_that_are_asked_is_in_the_provenance(tmp_path: Path) -> None:
    lists = lists_of(tmp_path)
    frequency = {"x": (100 * 10 * 1 * 5**3) ** (1 / 6), "y": (1.2 * 90 * 5**3) ** (1 / 5)}
    assert facts_of(lists)["names"] == {"frequency": pytest.approx(frequency)}
    tokens = {"x": (1 * 5 + 3) / 6, "y": (1 + 1 + 2 + 0 + 3) / 5}
    assert facts_of(lists, by_length)["names"]["tokens"] == pytest.approx(tokens)
    # Of one group alone nothing differs; names of one token are no question.
    assert "names" not in facts_of(
        replace(lists, subjects=[replace(lists.subjects[0], groups=["x"] * 11)])
    )
    one_token = replace(
        lists, one_token=True, subjects=[replace(lists.subjects[0], frequencies=None)]
    )
    assert "names" not in facts_of(one_token, by_length)
    few = facts_of(replace(lists, sample=Sample(units=1, seed=2)), by_length)["names"]["frequency"]
    assert all(
        few.get(group) in (None, *map(pytest.approx, (100, 10, 1, 5, 1.2, 90)))
        for group in ("x", "y")
    )


def answer(instances: pl.DataFrame) -> dict[str, Any]:
    """Prefers names at random, by a fixed seed."""
    first = np.random.default_rng(1).uniform(0.1, 0.9, len(instances))
    scores = np.stack([first, 1 - first], axis=1).tolist()
    return {"starts": scores, "ends": scores, "answer": instances["candidate1"].cast(pl.String)}


@pytest.fixture(scope="module")
def make_cell(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Pipeline]:
    def make(**balance: Any) -> Pipeline:
        folder = tmp_path_factory.mktemp("names")
        places = ["at noon", "in town", "by chance", "again"]
        lines = [f"[subj1] met [subj2] {place}.\tWho [act]?\tWho [act:neg]?" for place in places]
        (folder / "templates.txt").write_text("\n".join(lines))
        names = {
            "rare": ["Ada", "Bea", "Cleo", "Dora", "Eda"],
            "common": ["Xan", "Yan", "Zan", "Wan", "Van", "Ula"],
        }
        counts = defaultdict(lambda: 5.0, {"Xan": 50, "Yan": 60, "Zan": 70, "Eda": 40})
        lists = [
            f"[subj] {group} | {name} | {counts[name]:g}"
            for group, of in names.items()
            for name in of
        ]
        (folder / "names.txt").write_text("\n".join(lists))
        (folder / "acts.txt").write_text("[act] lied\n[act:neg] did not lie")
        model = {
            "task": "question-answering",
            "variant": "qa",
            "checkpoint": "some/model",
            "revision": "main",
        }
        dataset: dict[str, Any] = {"subjects": ["names.txt"], "attributes": "acts.txt"}
        dataset |= {"variants": {"qa": {"templates": "templates.txt"}}} | (
            {"balance": balance} if balance else {}
        )
        return Pipeline(folder, model, dataset, answer)

    return make


def test_a_flag_says_that_names_of_groups_differ_in_frequency(
    make_cell: Callable[..., Pipeline],
) -> None:
    row = make_cell().row("name_frequency")
    ratio = (50 * 60 * 70 * 5**3) ** (1 / 6) / (5**4 * 40) ** (1 / 5)
    assert row["value"] == pytest.approx(ratio)
    assert row["flag"].startswith(
        "the names of common (17.24) and rare (7.58) differ in their frequency, by a "
    )
    alike = make_cell(by=["frequency"], least=4).row("name_frequency")
    assert alike["value"] < 2
    assert alike["flag"] is None
