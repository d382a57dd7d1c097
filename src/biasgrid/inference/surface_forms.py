"""The surface forms of options: the ways in which a model may write an option.

A family gives an option as a text or a letter. How a model may write it at the start of its answer
is decided here alone, for local models, servers and the cost of requests. Plans import this module,
so that it imports neither torch nor polars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, TypeVar

Form = TypeVar("Form", bound=str | tuple[Any, ...])
Alternatives = Sequence[str | None]
"""The options of a prompt in their order; None for an option that is not there."""
LEADS = ("", " ")
"""White space before an option."""
NEW_LINE = "\n"
"""White space before an option if the chat template leaves the line break to the model."""


def option_letter(place: int) -> str:
    """Returns the letter of an option: `a` for the place 0."""
    return chr(ord("a") + place)


def are_lettered(options: Alternatives) -> bool:
    """Whether options are letters of a list: single letters that differ in more than their case."""
    letters = [option for option in options if option is not None]
    are_letters = all(len(letter) == 1 and letter.lower() != letter.upper() for letter in letters)
    return are_letters and len({letter.lower() for letter in letters}) == len(letters)


def plain_forms(options: Alternatives) -> list[list[str]]:
    """Returns the forms of each option without marks: its cases (`option_cases`) after each lead.

    The first form is the option itself. An option that is not there has no forms.
    """
    forms = []
    for words in option_cases(options):
        forms.append([f"{lead}{word}" for word in words for lead in LEADS])
    return forms


def surface_forms(options: Alternatives, leads: Sequence[str] = LEADS) -> list[list[str]]:
    """Returns all forms of each option: its cases after each lead and, for letters, with marks.

    Args:
        options: the options of a prompt.
        leads: white space that may come before an option; `NEW_LINE` is not among the default.

    Returns:
        The forms of each option, among them those of `plain_forms` if the leads are the same. A
        form may begin with another one (`A)` with `A`), see `without_continuations`. An option
        that is not there has no forms.
    """
    is_lettered = are_lettered(options)
    forms = []
    for words in option_cases(options):
        forms_of_option: list[str] = []
        for word in words:
            with_marks = marked_letters(word) if is_lettered else [word]
            forms_of_option += [f"{lead}{form}" for form in with_marks for lead in leads]
        forms.append(forms_of_option)
    return forms


def sent_forms(options: Alternatives) -> list[tuple[str, ...]]:
    """Returns the forms of each option that a server scores: all without continuations.

    Plain forms are among them.
    """
    return [without_continuations(forms) for forms in surface_forms(options)]


def without_continuations(forms: Iterable[Form]) -> tuple[Form, ...]:
    """Leaves out duplicates, and forms that begin with another form.

    The probability of a form contains the probabilities of all its continuations, so that these
    would count twice.

    Args:
        forms: the forms of one option, as texts or as tokens.

    Returns:
        The other forms, in their order.
    """
    distinct = tuple(dict.fromkeys(forms))
    form_set = set(distinct)
    shortest = []
    for form in distinct:
        if not any(form[:end] in form_set for end in range(1, len(form))):
            shortest.append(form)
    return tuple(shortest)


def option_cases(options: Alternatives) -> list[list[str]]:
    """Returns each option as it is and in other cases, without cases that several options share.

    Options that differ in case alone therefore keep their case. The first case is the option
    itself. An option that is not there has no cases.
    """
    is_lettered = are_lettered(options)
    all_cases = []
    for option in options:
        all_cases.append([] if option is None else word_cases(option, is_lettered=is_lettered))
    counts = Counter(chain.from_iterable(all_cases))
    own_cases = []
    for words in all_cases:
        own_cases.append([word for word in words if counts[word] == 1 or word == words[0]])
    return own_cases


def word_cases(option: str, *, is_lettered: bool) -> list[str]:
    """Returns an option as it is, in lower case, in upper case and capitalised, each once.

    Args:
        option: the option.
        is_lettered: whether the options are letters of a list. Other single letters keep their
            case, because `a` is a word of its own.
    """
    if len(option) == 1 and not is_lettered:
        return [option]
    return list(dict.fromkeys([option, option.lower(), option.upper(), option.capitalize()]))


def marked_letters(letter: str) -> list[str]:
    """Returns a letter without and with marks."""
    return [letter, f"{letter})", f"{letter}.", f"({letter}", f"({letter})"]
