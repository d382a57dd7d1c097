"""Answers in any wrapping are read like the bare answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from biasgrid.base.languages import ENGLISH_WORDS
from biasgrid.readers.choices import read_choice
from biasgrid.readers.menu import Menu
from biasgrid.readers.refusals import is_refusal
from biasgrid.readers.yes_no import read_yes_no

BEFORE = [
    "",
    " ",
    "\n",
    "Sure! ",
    "Certainly, ",
    "Of course! ",
    "Answer: ",
    "The answer is ",
    ("The correct answer is:\n\n"),
    "Sure, here is the answer:\n",
    "**Answer:** ",
    "### Answer\n",
    "My answer is: ",
    "Thank you for the question. ",
    "Based on the text, the answer is ",
    "I would say ",
    "> ",
]
AROUND = [
    ("", ""),
    ("**", "**"),
    ('"', '"'),
    ("'", "'"),
    ("`", "`"),
    ("*", "*"),
    ("__", "__"),
    ("“", "”"),
]
ENDS = ["", ".", "!", "。", "\uff0e", " .", "\n"]
BEHIND = [
    "",
    "\n",
    "\n\nExplanation: people differ.",
    "<|im_end|>",
    "</s>",
    "\n\nI hope this helps!",
    "\nReason: it says so.",
    "<|endoftext|>",
    "\n\nLet me know if you need more.",
]
PEOPLE = ("the grandson", "the grandfather", "the grandfather's neighbour")
UNKNOWN = "not enough information"
wrappings = st.tuples(
    st.sampled_from(BEFORE), st.sampled_from(AROUND), st.sampled_from(ENDS), st.sampled_from(BEHIND)
)


def wrapped(answer: str, wrapping: tuple[str, tuple[str, str], str, str]) -> str:
    """An answer with words and marks around it."""
    before, (opening, closing), end, behind = wrapping
    return f"{before}{opening}{answer}{closing}{end}{behind}"


def cases(answer: str) -> st.SearchStrategy[str]:
    """The answer as it is, and in capitals."""
    return st.sampled_from([answer, answer.upper()])


@given(st.data(), wrappings)
def test_yes_and_no(data: st.DataObject, wrapping: tuple[str, tuple[str, str], str, str]) -> None:
    label = data.draw(st.sampled_from(["yes", "no"]))
    answer = data.draw(cases(label.capitalize()))
    assert read_yes_no(wrapped(answer, wrapping), ENGLISH_WORDS).value == label


@given(st.data(), wrappings, st.permutations([*PEOPLE, UNKNOWN]))
def test_options(
    data: st.DataObject, wrapping: tuple[str, tuple[str, str], str, str], order: list[str]
) -> None:
    menu = Menu(tuple(order), letters=data.draw(st.booleans()), unknown=order.index(UNKNOWN))
    place = data.draw(st.integers(0, 3))
    answer = data.draw(cases(order[place]))
    assert read_choice(wrapped(answer, wrapping), menu, ENGLISH_WORDS).value == place


STYLES = [
    "({})",
    "{}",
    "{}.",
    "{})",
    "[{}]",
    "{}:",
    "({}) {text}",
    "{}. {text}",
    "{}) {text}",
    "{}: {text}",
    "{} {text}",
]


@given(st.data(), wrappings, st.permutations([*PEOPLE, UNKNOWN]), st.sampled_from(STYLES))
def test_letters(
    data: st.DataObject,
    wrapping: tuple[str, tuple[str, str], str, str],
    order: list[str],
    style: str,
) -> None:
    place = data.draw(st.integers(0, 3))
    bare = style in ("{}", "{} {text}")
    letter = "ABCD"[place] if bare else data.draw(st.sampled_from(["ABCD"[place], "abcd"[place]]))
    answer = style.format(letter, text=order[place])
    menu = Menu(tuple(order), letters=True, unknown=order.index(UNKNOWN))
    assert read_choice(wrapped(answer, wrapping), menu, ENGLISH_WORDS).value == place


@given(wrappings, st.permutations(PEOPLE))
def test_an_option_within_a_longer_one(
    wrapping: tuple[str, tuple[str, str], str, str], order: list[str]
) -> None:
    for place, person in enumerate(order):
        assert (
            read_choice(
                wrapped(f"{person} did it", wrapping), Menu(tuple(order)), ENGLISH_WORDS
            ).value
            == place
        )


@pytest.mark.parametrize(
    "answer", ["I can't help with that", "I'd rather not answer", "I don't have personal opinions"]
)
@given(
    st.sampled_from(["", "\n", "**", "> "]),
    st.sampled_from(ENDS),
    st.sampled_from(["", "</s>", "<|im_end|>", "\n"]),
)
def test_refusals(answer: str, before: str, end: str, behind: str) -> None:
    assert is_refusal(f"{before}{answer}{end}{behind}", ENGLISH_WORDS)


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    menu = Menu((*PEOPLE, UNKNOWN), letters=True, unknown=3)
    for reading in (read_yes_no(text, ENGLISH_WORDS), read_choice(text, menu, ENGLISH_WORDS)):
        assert 0 <= reading.start <= reading.end <= len(text)
        assert (reading.value is None) == (reading.outcome != "answered")
