"""The ways to write options: each string counts once, and neither order nor style of the letters matters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.inference.option_ways import are_lettered, option_letter, option_ways, plain_ways, sent_ways

ALPHABET = " (aAbB)."
LENGTH = 4
STRINGS = ["".join(characters) for characters in product(ALPHABET, repeat=LENGTH)]
LISTS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True)


def test_words_are_written_in_several_cases_and_a_letter_beside_words_in_one() -> None:
    assert option_ways(["A", "No"]) == [["A", " A"], ["No", " No", "no", " no", "NO", " NO"]]
    assert option_ways(["us", "US"]) == [["us", " us"], ["US", " US"]]
    assert option_ways(["Yes", None])[1] == []


def test_letters_of_a_list_are_written_in_both_cases_and_with_marks() -> None:
    plain = ["A", " A", "a", " a"]
    assert plain_ways(["A", None, "B"])[:2] == [plain, []]
    marked = {f"{lead}{mark}" for lead in ("", " ") for mark in ("A)", "A.", "(A", "(A)", "a)", "a.", "(a", "(a)")}
    assert {*option_ways(["A", None, "B"])[0]} == {*plain} | marked
    assert {*sent_ways(["A", "B"])[0]} == {*plain, "(A", " (A", "(a", " (a"}
    assert "\nA" in option_ways(["A", "B"], ("", " ", "\n"))[0]


@pytest.mark.parametrize("options", [["a", "A"], ["1", "2"], ["A", "No"], ["是", "否"]])
def test_other_options_are_no_letters_of_a_list(options: list[str]) -> None:
    assert not are_lettered(options)


@given(LISTS, st.randoms(use_true_random=False))
def test_order_and_case_of_the_letters_do_not_matter(letters: list[str], random: object) -> None:
    ways = {letter: {*own} for letter, own in zip(letters, option_ways(letters), strict=True)}
    shuffled = sorted(letters, key=lambda _: random.random())  # type: ignore[attr-defined]
    upper = option_ways([letter.upper() for letter in shuffled])
    assert {letter: {*own} for letter, own in zip(shuffled, upper, strict=True)} == ways


@given(LISTS)
def test_no_way_is_written_by_two_options(letters: list[str]) -> None:
    ways = [way for own in option_ways(letters) for way in own]
    assert len(ways) == len({*ways})
    assert [option_letter("abcdefg".index(letter)) for letter in letters] == letters


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_ways_add_up_to_the_probability_of_all_strings_that_begin_with_an_option(seed: int, upper: bool) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.full(len(STRINGS), 0.01))
    probability = dict(zip(STRINGS, weights.tolist(), strict=True))

    def begins_with(*ways: str) -> float:
        return sum(value for text, value in probability.items() if text.startswith(ways))

    options = ["A", "B"] if upper else ["a", "b"]
    sums = [sum(begins_with(way) for way in ways) for ways in sent_ways(options)]
    assert sums == pytest.approx([begins_with(*ways) for ways in option_ways(options)], abs=1e-12)
    assert sum(sums) <= 1 + 1e-12
