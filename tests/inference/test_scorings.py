"""The list of formulas, and how two sentences are aligned."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasgrid.inference.input_counts import InputCounts
from biasgrid.inference.models.estimates.texts import (
    ReadingModel,
    RequestText,
    TextSample,
    count_sentence_inputs,
)
from biasgrid.inference.models.registry import BACK_ENDS
from biasgrid.inference.scorings import (
    ANSWER_KIND,
    CAUSAL,
    MASKED,
    SCORINGS,
    align_tokens,
    scoring_names,
)

TOKENS = st.lists(st.integers(0, 6), max_size=12)


def test_planning_imports_nothing_heavy() -> None:
    check = "import sys, biasgrid.inference.scorings; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"torch", "transformers", "polars", "numpy"} & set(loaded)


def test_every_formula_is_of_one_kind_of_model() -> None:
    names = [
        *scoring_names(MASKED),
        *scoring_names(CAUSAL),
        *scoring_names(CAUSAL, is_served=True),
    ]
    assert sorted(SCORINGS) == sorted(names)
    assert all(
        (scoring.needs == "partner") == (scoring.reads != "all") for scoring in SCORINGS.values()
    )
    assert {task for (task, _), entry in BACK_ENDS.items() if ANSWER_KIND in entry.answers} == {
        MASKED,
        CAUSAL,
    }


@given(TOKENS, TOKENS)
def test_places_of_an_alignment_are_all_places_once(one: list[int], two: list[int]) -> None:
    first, second = [0, *one, 1], [0, *two, 1]
    found = align_tokens(first, second)
    shared = [
        [ids[place] for place in places]
        for ids, places in zip((first, second), found.shared, strict=True)
    ]
    assert shared[0] == shared[1]
    for ids, same, others in zip((first, second), found.shared, found.differing, strict=True):
        assert same == sorted(same)
        assert not {*same} & {*others}
        # Without the two that are the same at both ends.
        assert len(same) + len(others) == len(ids) - 2


@given(TOKENS)
def test_a_sentence_shares_all_tokens_with_itself(ids: list[int]) -> None:
    found = align_tokens([0, *ids, 1], [0, *ids, 1])
    assert found.shared == (list(range(1, len(ids) + 1)),) * 2
    assert found.differing == ([], [])


def test_the_order_of_sentences_can_change_what_they_share() -> None:
    one, two = [9, 1, 2, 8], [9, 2, 1, 8]
    assert align_tokens(one, two).shared[0] != align_tokens(two, one).shared[1]


def inputs_without_tokenizer(scoring: str, context: str, sentence: str) -> InputCounts:
    texts = [RequestText(context, sentence, ())]
    reader = ReadingModel(None, "likelihood", {"scoring": scoring})
    return count_sentence_inputs(reader, TextSample(texts)).mean


@pytest.mark.parametrize(
    ("scoring", "sequences", "tokens"),
    [
        # [CLS] The old cook lied . [SEP], once, or for each of the three that are shared without
        # the ends.
        ("aul", 1, 7),
        ("sss", 1, 7),
        ("cps", 3, 3 * 7),
        ("span-mean", 2, 2 * 7),
        ("pll", 5, 5 * 7),
        # The old cook lied ., behind a start token and without the last one.
        ("sum", 2, 2 * 5),
        ("mean", 2, 5),
        ("echo-sum", 1, 5),
        ("context-mean", 1, 4 + 5),
        ("next-sentence", 1, 7 + 5),
    ],
)
def test_the_cost_matches_all_inputs(scoring: str, sequences: int, tokens: int) -> None:
    inputs = inputs_without_tokenizer(scoring, "The man lied.", "The old cook lied.")
    assert inputs == (sequences, tokens)


def test_a_word_at_blank_costs_an_input_for_each_token() -> None:
    inputs = inputs_without_tokenizer("stereoset", "The BLANK lied.", "The old-cook lied.")
    assert inputs == (3, 3 * 8)
