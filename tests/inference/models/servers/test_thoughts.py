"""Thoughts in what servers write: in texts, and where options are looked for."""

from __future__ import annotations

import pytest

from biasgrid.inference.models.generation.thoughts import KNOWN, Thoughts
from biasgrid.inference.models.servers.methods import Choice, ParsedText, text_without_thoughts
from biasgrid.inference.models.servers.requests import Answer

MARKS = [*KNOWN, ("<mull>", "</mull>")]


def answer(text: str, finish: str = "stop") -> Answer:
    return Answer(text, finish, 1, 1, "small")


@pytest.mark.parametrize(("begin", "end"), MARKS, ids=[begin for begin, _ in MARKS])
def test_thoughts_are_never_the_answer(begin: str, end: str) -> None:
    thoughts = Thoughts.from_setting({"begin": begin, "end": end})
    for text, finish, expected in (
        (f"{begin}Yes? {end}\n\nNo", "stop", ("No", "ok")),
        (f"Yes? {end}\n\nNo", "stop", ("No", "ok")),
        (f"{begin}Yes? {end}\n\nNo", "length", ("No", "length")),
        (f"{begin}Yes", "length", ("", "length")),
        (f"{begin}Yes", "stop", ("", "length")),
        (f"{begin}Yes", "content_filter", ("", "filtered")),
        (f"{begin}Yes{end}", "stop", ("", "empty")),
    ):
        assert text_without_thoughts(answer(text, finish), thoughts) == expected
        for way in (ParsedText, Choice):
            said = way({}, thoughts).read_answers("Is it?", ("Yes", "No"), [answer(text, finish)])
            chosen = [0.0, 1.0] if expected == ("No", "ok") else [None, None]
            assert said.probabilities == chosen, (way, text, finish)
