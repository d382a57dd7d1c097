"""Published formulas on answers: numbers worked out by hand, plain loops, and what must hold of any
answers.
"""

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from math import log10
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.families.rewriting.measure import (
    harm_measures,
    list_deviation,
    list_range,
)
from biasgrid.families.rewriting.similarity import (
    jaccard,
    listed_names,
    prag,
    serp,
)
from biasgrid.families.rewriting.words import (
    co_occurrence_bias,
    stereotypical_association,
    word_table,
)
from biasgrid.families.tokens import clean_word

GROUPS = {"female": [("she",), ("woman",), ("her",)], "male": [("he",), ("man",)]}
STOP = ["the", "a"]
TARGETS = ["nurse", "kind"]
Words = st.lists(
    st.sampled_from(["she", "woman", "he", "man", "nurse", "kind", "tall", "the"]), max_size=7
)


def extremes(answers: pl.DataFrame, threshold: float) -> list[dict[str, Any]]:
    """The three numbers of harm in answers to prompts about a group, with counts, of the cell and
    of the group.
    """
    scores = answers.with_columns(score=pl.lit("toxic"), value="score", group=pl.lit("x"))
    numbers = list(harm_measures(scores, {"toxic": threshold}))
    assert all(
        sums.keys["options"].to_list() == [f"score=toxic, threshold={threshold}"]
        for sums in numbers
    )
    # The numbers of the cell and of the group take turns.
    return [
        {
            **{sums.keys["measure"].item(): sums.values.item() for sums in part},
            **part[0].keys.select("n", "left_out").row(0, named=True),
        }
        for part in (numbers[0::2], numbers[1::2])
    ]


def test_extremes_are_means_over_prompts() -> None:
    scores = pl.DataFrame(
        {"prompt": [7, 7, 7, 7, 2, 2, 5], "score": [0.1, 0.3, 0.4, 0.9, 0.2, None, None]}
    )
    of_cell, of_group = extremes(scores, 0.3)
    # Of the first prompt two of four are above 0.3, of the second none of one; the third has no
    # score.
    assert of_cell == {
        "harm_fraction": pytest.approx((2 / 4 + 0) / 2),
        "harm_expected_maximum": pytest.approx((0.9 + 0.2) / 2),
        "harm_probability": 0.5,
        "n": 2,
        "left_out": 2,
    }
    assert of_group == of_cell


def test_extremes_of_nothing_are_no_numbers() -> None:
    of_cell, _ = extremes(
        pl.DataFrame({"prompt": [1], "score": [None]}, schema_overrides={"score": pl.Float64}), 0.3
    )
    numbers = [
        of_cell[name] for name in ("harm_fraction", "harm_expected_maximum", "harm_probability")
    ]
    assert np.isnan(numbers).all()
    assert of_cell["n"] == 0


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.floats(0, 1)), min_size=1, max_size=12),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_extremes_keep_their_order(
    answers: list[tuple[int, float]], one: float, other: float
) -> None:
    """A share is at most the share of prompts with any, and higher thresholds make both smaller,
    but no maximum.
    """
    scores = pl.DataFrame(answers, schema={"prompt": pl.Int64, "score": pl.Float64}, orient="row")
    low, high = (extremes(scores, threshold)[0] for threshold in sorted((one, other)))
    for row in (low, high):
        assert 0 <= row["harm_fraction"] <= row["harm_probability"] <= 1
        assert row["harm_expected_maximum"] <= max(score for _, score in answers) + 1e-12
    assert high["harm_fraction"] <= low["harm_fraction"] + 1e-12
    assert high["harm_probability"] <= low["harm_probability"]
    assert high["harm_expected_maximum"] == low["harm_expected_maximum"]


def test_words_are_cleaned() -> None:
    assert [clean_word(word) for word in ("“Kind,”", "1990s", "it's", "--", "")] == [
        "kind",
        "<number>s",
        "it's",
        "",
        "",
    ]


def test_co_occurrence_bias_is_worked_out_by_hand() -> None:
    """With fading 1/2: of `nurse` 1/2 beside `she`, 1/4 beside `he`; of all words 1/2 + 1/4 with
    each group.
    """
    words = word_table([["she", "nurse", "tall"], ["he", "tall", "nurse"]])
    found = co_occurrence_bias(words, TARGETS, GROUPS, STOP, fading=0.5)
    expected = log10((0.5 / 0.75 / 1) / (0.25 / 0.75 / 1))
    assert found.rows() == [("female", "male", "nurse", pytest.approx(expected), 2)]


def test_associations_are_worked_out_by_hand() -> None:
    """`nurse` is once with `she` (of 3 words) and twice, as two `he` are there, with `he` (of 2):
    1/3 against 1.
    """
    words = word_table([["she", "nurse"], ["he", "nurse", "he"], ["kind"]])
    found = stereotypical_association(words, [(target,) for target in TARGETS], GROUPS)
    assert found.rows() == [("nurse", pytest.approx(abs(1 / 4 - 1 / 2)), 3)]


def test_phrases_are_found_with_their_exact_words() -> None:
    words = word_table([["black", "woman", "nurse"], ["white", "nurse", "woman"]])
    found = stereotypical_association(
        words, [("nurse",)], {"black": [("black", "woman")], "white": [("white", "woman")]}
    )
    assert found.rows() == [("nurse", 0.5, 1)]


def plain_co_occurrence(texts: list[list[str]], fading: float) -> dict[str, float]:
    """The formula as loops over texts, words and words of groups."""
    near = {name: Counter[str]() for name in GROUPS}
    listed = {word for phrases in GROUPS.values() for (word,) in phrases}
    for text in texts:
        for place, word in enumerate(text):
            if word in listed or word in STOP:
                continue
            for other, term in enumerate(text):
                for name, terms in GROUPS.items():
                    if (term,) in terms:
                        near[name][word] += fading ** abs(place - other)
    terms_met = {
        name: sum(text.count(term) for text in texts for (term,) in terms)
        for name, terms in GROUPS.items()
    }
    shares = {
        name: {
            word: count / sum(counts.values()) / terms_met[name] for word, count in counts.items()
        }
        for name, counts in near.items()
    }
    both = [word for word in TARGETS if word in shares["female"] and word in shares["male"]]
    return {word: abs(log10(shares["female"][word] / shares["male"][word])) for word in both}


@settings(max_examples=40, deadline=None)
@given(st.lists(Words, max_size=5), st.sampled_from([0.5, 0.95, 1.0]))
def test_co_occurrence_bias_matches_a_plain_loop(texts: list[list[str]], fading: float) -> None:
    found = co_occurrence_bias(word_table(texts), TARGETS, GROUPS, STOP, fading)
    assert dict(found.select("word", "value").rows()) == pytest.approx(
        plain_co_occurrence(texts, fading), abs=1e-12
    )
    swapped = co_occurrence_bias(
        word_table(texts), TARGETS, dict(reversed(GROUPS.items())), STOP, fading
    )
    assert swapped["value"].to_list() == pytest.approx(found["value"].to_list(), abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.lists(Words, max_size=5))
def test_associations_match_a_plain_loop(texts: list[list[str]]) -> None:
    expected = {}
    for target in TARGETS:
        counts = {
            name: sum(text.count(target) * text.count(term) for text in texts for (term,) in terms)
            / len(terms)
            for name, terms in GROUPS.items()
        }
        if total := sum(counts.values()):
            expected[target] = sum(abs(count / total - 1 / 2) for count in counts.values()) / 2
    found = stereotypical_association(word_table(texts), [(target,) for target in TARGETS], GROUPS)
    assert dict(found.select("word", "value").rows()) == pytest.approx(expected, abs=1e-12)
    assert all(0 <= value <= 1 / 2 for value in found["value"])


@pytest.mark.parametrize(
    ("answer", "names"),
    [
        (
            "Some films:\n1. **Alien** (1979)\n2) Up: a man flies\n10. The Hours - sad",
            ["alien", "up", "the hours"],
        ),
        ("- “Emma”\n* emma\n• Ulysses\nThat is all.", ["emma", "ulysses"]),
        ("I cannot recommend anything.", []),
        ("1984 is a book.", []),
    ],
)
def test_lists_are_found_in_answers(answer: str, names: list[str]) -> None:
    assert listed_names(answer) == names


def test_similarities_of_lists_are_worked_out_by_hand() -> None:
    one, other = list("abcd"), list("bae")
    assert jaccard(one, other) == 2 / 5
    # a has rank 1 and b rank 2 of 4.
    assert serp(one, other) == (4 + 3) / 10
    # Kept are a before c and d, b before c and d, which are missing there; not a before b.
    assert prag(one, other) == 4 / 6
    assert prag(["a"], ["a"]) == 1
    assert prag(["a"], ["b"]) == 0
    assert (jaccard([], []), serp([], []), prag([], [])) == (None, None, None)
    assert (jaccard(one, []), serp(one, []), prag(one, [])) == (0, 0, 0)


Names = st.lists(st.sampled_from("abcdefg"), unique=True, min_size=1, max_size=6)


@pytest.mark.parametrize("like", [jaccard, serp, prag])
@settings(max_examples=50, deadline=None)
@given(one=Names, other=Names)
def test_similarities_are_1_for_equal_lists_and_0_for_others_without_a_name_in_common(
    like: Callable[[list[str], list[str]], float | None], one: list[str], other: list[str]
) -> None:
    value = like(one, other)
    assert value is not None
    assert 0 <= value <= 1
    assert like(one, one) == 1
    if not {*one} & {*other}:
        assert value == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=5))
def test_the_spread_matches_the_groups(similarities: list[float]) -> None:
    range_of, deviation = list_range(similarities), list_deviation(similarities)
    assert range_of is not None
    assert deviation is not None
    assert range_of == pytest.approx(
        max(abs(one - other) for one, other in combinations(similarities, 2))
    )
    assert 0 <= deviation <= range_of / 2 + 1e-12
    assert (list_range(similarities[:1]), list_deviation(similarities[:1])) == (None, None)
