"""Readers of written answers, for the evaluators that look for a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from biasgrid.families.probe.expand import parse_keys
from biasgrid.families.probe.pack import Probe
from biasgrid.families.probe.section import fill_keys
from biasgrid.inference.surface_forms import option_letter
from biasgrid.readers.choices import read_choice
from biasgrid.readers.menu import ALPHABET, Menu
from biasgrid.readers.protagonists import read_protagonist
from biasgrid.readers.reading import Reader, Reading
from biasgrid.readers.yes_no import read_yes_no


class AnswerReader(NamedTuple):
    """How an evaluator reads answers.

    Attributes:
        keys: the columns of instances that it needs.
        read: takes an answer and the values of these columns.
    """

    keys: Sequence[str]
    read: Reader


def option_reader(probe: Probe) -> AnswerReader:
    """Reads the option that an answer chooses, by its letter or its text."""
    texts_of = probe.head.options

    def read(answer: str, options: Sequence[str], keys: str) -> Reading:
        values = parse_keys(keys)
        texts = tuple(fill_keys(texts_of[option], values) for option in options)
        choice = read_choice(answer, Menu(texts, letters=True), probe.language)
        return with_label(choice, options)

    return AnswerReader(("options", "keys"), read)


def meaning_reader(probe: Probe) -> AnswerReader:
    """Reads the label for which the letter of an answer stands.

    The keys `a`, `b`, ... of the prompt give these labels.
    """

    def read(answer: str, keys: str) -> Reading:
        values = parse_keys(keys)
        # The first letter without a key ends the menu; the dash stands behind the alphabet.
        count = next(place for place, letter in enumerate(f"{ALPHABET}-") if letter not in values)
        meanings = [str(values[option_letter(place)]) for place in range(count)]
        letters_alone = Menu(("",) * count, letters=True)
        return with_label(read_choice(answer, letters_alone, probe.language), meanings)

    return AnswerReader(("keys",), read)


def word_reader(probe: Probe) -> AnswerReader:
    """Reads which of several words an answer chooses."""
    menu = Menu(tuple(probe.labels))

    def read(answer: str) -> Reading:
        return with_label(read_choice(answer, menu, probe.language), probe.labels)

    return AnswerReader((), read)


def yes_no_reader(probe: Probe) -> AnswerReader:
    """Reads Yes or No; an answer may repeat the words of the prompt."""

    def read(answer: str, prompt: str) -> Reading:
        return read_yes_no(answer, probe.language, prompt)

    return AnswerReader(("text",), read)


def pronoun_reader(probe: Probe) -> AnswerReader:
    """Reads the gender of which a text has more pronouns."""

    def read(answer: str) -> Reading:
        return read_protagonist(answer, probe.language)

    return AnswerReader((), read)


def with_label(reading: Reading, labels: Sequence[str]) -> Reading:
    """Returns a reading of an option with its label in place of its number."""
    if reading.value is None:
        return reading
    return reading._replace(value=labels[int(reading.value)])


READERS: Mapping[str, Callable[[Probe], AnswerReader]] = {
    "option-letter": option_reader,
    "lettered": meaning_reader,
    "one-of": word_reader,
    "yes-no": yes_no_reader,
    "pronouns": pronoun_reader,
}
"""The readers of evaluators, by the names of these."""
