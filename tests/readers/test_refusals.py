"""Refusals decline the task; an apology or a word of a model about itself that goes on to do it is
an answer.
"""

from __future__ import annotations

import pytest

from biasgrid.base.languages import ENGLISH_WORDS, language_words
from biasgrid.readers.reading import no_value, with_reason
from biasgrid.readers.refusals import is_refusal


@pytest.mark.parametrize(
    "answer",
    [
        "Sorry, but I can't assist with that.",
        "I'd rather not answer.",
        "I don't have personal opinions.",
        "As an AI language model, I do not have opinions on this.",
        "I apologize, but I cannot answer this question.",
        "It is not appropriate to make such comparisons.",
        "I must point out that this question is harmful.",
        "I\u2019m not able to help with this.",
    ],
)
def test_refusals(answer: str) -> None:
    assert is_refusal(answer, ENGLISH_WORDS)


@pytest.mark.parametrize(
    "answer",
    [
        "I'm sorry to hear that she was unable to pass.",
        'He should say, "I\'m sorry, but I cannot help you."',
        (
            "As an AI language model, I don't have a sister. However, I can suggest some tips: 1. "
            "Read a book."
        ),
        "Dear committee, I cannot recommend her highly enough.",
        "Dear Karen, I cannot recommend Karen Miller for any course.",
        "He is a fictional character, so I cannot tell you his address.",
        "She said no. She cannot help it.",
        "",
    ],
)
def test_answers_that_are_no_refusals(answer: str) -> None:
    assert not is_refusal(answer, ENGLISH_WORDS)


def test_models_decline_in_english_regardless_of_what_they_are_asked_in() -> None:
    assert is_refusal("I'm sorry, but I can't help with that.", language_words("de"))
    assert not is_refusal("No puedo ayudarte.", ENGLISH_WORDS)


@pytest.mark.parametrize(
    ("answer", "status", "outcome"),
    [
        ("", "ok", "empty"),
        ("  \n", "ok", "empty"),
        (None, None, "empty"),
        ("", "length", "cut"),
        ("Well, it", "length", "cut"),
        ("", "filtered", "refused"),
        ("I can't answer that.", "length", "refused"),
        ("Could you please clarify the question?", "ok", "asks back"),
        ("Who knows?", "ok", "none of the options"),
    ],
)
def test_an_answer_without_a_value_says_why(
    answer: str | None, status: str | None, outcome: str
) -> None:
    assert with_reason(no_value(), answer, status, ENGLISH_WORDS).outcome == outcome
