"""The ways to write an option of a prompt, for local models, servers, the cost of requests, and
families.

A family names an option by its text or by its letter. How a model may write that at the start of
its answer is decided here alone. Plans read this module, so that it imports neither torch nor
polars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
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

    Options that differ in case alone keep their case, and so does a single letter that is not in a
    list, as `a` is a word of its own. An option that is not there has no forms.
    """
    forms = []
    for words in option_cases(options):
        forms.append([f"{lead}{word}" for word in words for lead in LEADS])
    return forms


def surface_forms(options: Alternatives, leads: Sequence[str] = LEADS) -> list[list[str]]:
    """Returns all ways to write each option: also letters with marks, and behind other leads.

    Args:
        options: the options of a prompt.
        leads: the white space that may stand before an option.

    Returns:
        The forms of each option; none for an option that is not there.
    """
    lettered = are_lettered(options)
    forms = []
    for words in option_cases(options):
        written: list[str] = []
        for word in words:
            marked = lettered_forms(word) if lettered else [word]
            written += [f"{lead}{form}" for form in marked for lead in leads]
        forms.append(written)
    return forms


def sent_forms(options: Alternatives) -> list[tuple[str, ...]]:
    """Returns the forms of each option that a server must score; see `without_continuations`."""
    return [without_continuations(forms) for forms in surface_forms(options)]


def without_continuations(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Leaves out duplicates, and forms that begin with another form of the same option.

    The probability of a form contains the probabilities of all its continuations.
    """
    distinct = tuple(dict.fromkeys(forms))
    known = set(distinct)
    kept = []
    for form in distinct:
        if not any(form[:end] in known for end in range(1, len(form))):
            kept.append(form)
    return tuple(kept)


def option_cases(options: Alternatives) -> list[list[str]]:
    """Returns each option as it is and in other cases, without cases that several options share.

    An option that is not there has no cases.
    """
    lettered = are_lettered(options)
    written = [[] if option is None else cases(option, lettered) for option in options]
    counts = Counter(chain.from_iterable(written))
    own_cases = []
    for words in written:
        own_cases.append([word for word in words if counts[word] == 1 or word == words[0]])
    return own_cases


def cases(option: str, lettered: bool) -> list[str]:
    """Returns an option as it is, and in other cases; see `plain_forms` for single letters."""
    if len(option) == 1 and not lettered:
        return [option]
    return list(dict.fromkeys([option, option.lower(), option.upper(), option.capitalize()]))


def lettered_forms(letter: str) -> list[str]:
    """Returns a letter without and with marks; behind an open bracket the letter alone decides."""
    return [letter, f"{letter})", f"{letter}.", f"({letter}", f"({letter})"]
