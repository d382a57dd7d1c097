"""The ways to write an option of a prompt, for local models, servers, the cost of requests, and
families.

A family names an option by its text or by its letter. How a model may write that at the start of
its answer is decided here alone. Plans read this module, so that it imports neither torch nor
polars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

Form = TypeVar("Form", bound=str | tuple[Any, ...])
Alternatives = Sequence[str | None]
"""Options of a prompt; None for one that is not there."""
LEADS = ("", " ")
"""White space before an option."""
NEW_LINE = "\n"
"""White space before an option where a chat template leaves the line break to the model."""


def option_letter(place: int) -> str:
    """Returns the letter of an option by its place, from `a` on."""
    return chr(ord("a") + place)


def are_lettered(options: Alternatives) -> bool:
    """Whether options are the letters of a list: all are single letters that differ in more than
    their case.
    """
    letters = [option for option in options if option is not None]
    are_letters = all(len(letter) == 1 and letter.lower() != letter.upper() for letter in letters)
    return are_letters and len({letter.lower() for letter in letters}) == len(letters)


def plain_forms(options: Alternatives) -> list[list[str]]:
    """Returns the ways to write each option without marks: in its cases, behind a space or nothing.

    Options that differ in case alone keep their case, and so does a single letter that is not one
    of a list, as `a` is a word of its own.
    """
    return [
        [f"{lead}{word}" for word in words for lead in LEADS] for words in option_cases(options)
    ]


def surface_forms(options: Alternatives, leads: Sequence[str] = LEADS) -> list[list[str]]:
    """Returns all ways to write each option: those of `plain_forms`, letters with marks, and all
    behind other leads.

    Args:
        options: the options of a prompt.
        leads: the white space that may stand before an option.
    """
    forms = lettered_forms if are_lettered(options) else unmarked_form
    return [
        [f"{lead}{form}" for word in words for form in forms(word) for lead in leads]
        for words in option_cases(options)
    ]


def sent_forms(options: Alternatives) -> list[tuple[str, ...]]:
    """Returns the ways that a server must score: a way that continues another one is part of that
    one's probability.
    """
    return [without_continuations(forms) for forms in surface_forms(options)]


def without_continuations(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Leaves out texts or tokens that continue others of the same option, whose probability
    contains theirs.
    """
    kept = tuple(dict.fromkeys(forms))
    known = set(kept)
    return tuple(
        form for form in kept if not any(form[:end] in known for end in range(1, len(form)))
    )


def option_cases(options: Alternatives) -> list[list[str]]:
    """Returns each option as it stands and in other cases; a case that several options share is
    written by none.
    """
    lettered = are_lettered(options)
    written = [[] if option is None else cases(option, lettered) for option in options]
    counts = Counter(word for words in written for word in words)
    return [[word for word in words if counts[word] == 1 or word == words[0]] for words in written]


def cases(option: str, lettered: bool) -> list[str]:
    """Returns an option as it stands, and in other cases."""
    others = (
        [option.lower(), option.upper(), option.capitalize()] if lettered or len(option) > 1 else []
    )
    return list(dict.fromkeys([option, *others]))


def lettered_forms(letter: str) -> list[str]:
    """Returns a letter with the marks around it; behind an open bracket the letter alone
    decides.
    """
    return [letter, f"{letter})", f"{letter}.", f"({letter}", f"({letter})"]


def unmarked_form(word: str) -> list[str]:
    """Returns a word that has no marks around it."""
    return [word]
