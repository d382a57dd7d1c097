"""The ways to write options: each string counts once, and neither order nor style of the letters
matters.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from biasgrid.inference.surface_forms import (
    are_lettered,
    option_letter,
    plain_forms,
    sent_forms,
    surface_forms,
)

ALPHABET = " (aAbB)."
LENGTH = 4
STRINGS = ["".join(characters) for characters in product(ALPHABET, repeat=LENGTH)]
LISTS = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5, unique=True)


def test_words_are_written_in_several_cases_and_letters_next_to_words_in_one() -> None:
    assert surface_forms(["A", "No"]) == [["A", " A"], ["No", " No", "no", " no", "NO", " NO"]]
    assert surface_forms(["us", "US"]) == [["us", " us"], ["US", " US"]]
    assert surface_forms(["Yes", None])[1] == []


def test_letters_of_a_list_are_written_in_both_cases_and_with_marks() -> None:
    plain = ["A", " A", "a", " a"]
    assert plain_forms(["A", None, "B"])[:2] == [plain, []]
    marked = {
        f"{lead}{mark}"
        for lead in ("", " ")
        for mark in ("A)", "A.", "(A", "(A)", "a)", "a.", "(a", "(a)")
    }
    assert {*surface_forms(["A", None, "B"])[0]} == {*plain} | marked
    assert {*sent_forms(["A", "B"])[0]} == {*plain, "(A", " (A", "(a", " (a"}
    assert "\nA" in surface_forms(["A", "B"], ("", " ", "\n"))[0]


@pytest.mark.parametrize("options", [["a", "A"], ["1", "2"], ["A", "No"], ["是", "否"]])
def test_other_options_are_no_letters_of_a_list(options: list[str]) -> None:
    assert not are_lettered(options)


@given(LISTS, st.randoms(use_true_random=False))
def test_order_and_case_of_the_letters_do_not_matter(letters: list[str], random: object) -> None:
    forms = {letter: {*own} for letter, own in zip(letters, surface_forms(letters), strict=True)}
    shuffled = sorted(letters, key=lambda _: random.random())  # type: ignore[attr-defined]
    upper = surface_forms([letter.upper() for letter in shuffled])
    assert {letter: {*own} for letter, own in zip(shuffled, upper, strict=True)} == forms


@given(LISTS)
def test_no_way_is_written_by_two_options(letters: list[str]) -> None:
    forms = [form for own in surface_forms(letters) for form in own]
    assert len(forms) == len({*forms})
    assert [option_letter("abcdefg".index(letter)) for letter in letters] == letters


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_ways_add_up_to_the_probability_of_all_strings_that_begin_with_an_option(
    seed: int, upper: bool
) -> None:
    weights = np.random.default_rng(seed).dirichlet(np.full(len(STRINGS), 0.01))
    probability = dict(zip(STRINGS, weights.tolist(), strict=True))

    def begins_with(*forms: str) -> float:
        return sum(value for text, value in probability.items() if text.startswith(forms))

    options = ["A", "B"] if upper else ["a", "b"]
    sums = [sum(begins_with(form) for form in forms) for forms in sent_forms(options)]
    assert sums == pytest.approx(
        [begins_with(*forms) for forms in surface_forms(options)], abs=1e-12
    )
    assert sum(sums) <= 1 + 1e-12
