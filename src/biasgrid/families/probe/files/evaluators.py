"""What a probe may say of its evaluator: its name and, of some, what it looks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny

from biasgrid.base.sections import Section, named_section

YES_NO = ("yes", "no")
GENDERS = ("male", "female")
REFUSALS = ("refused", "answered")


class Evaluator(Section):
    """How answers are observed.

    Attributes:
        OF_OPTIONS: whether it says which of the options was chosen.
        LABELS: what it says, where that hangs on nothing else.
    """

    OF_OPTIONS: ClassVar[bool] = False
    LABELS: ClassVar[tuple[str, ...]] = ()

    name: str = Field(description="which one")

    @property
    def scorer(self) -> str | None:
        """The model of the config that reads the answers, None where none does."""
        return None

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns what it may say of an answer, nothing where it returns numbers or whatever it likes.

        Args:
            options: the names of the probe's options.
        """
        return tuple(options) if self.OF_OPTIONS else self.LABELS

    def candidates(self, options: Sequence[str]) -> dict[str, str]:
        """Returns the texts whose probability may be read in place of an answer, by label; none where there are none.

        Args:
            options: the names of the options in the order in which they are written.
        """
        return {}


class OptionLetter(Evaluator):
    """The one option whose letter stands in the answer, in parentheses, or alone."""

    OF_OPTIONS = True
    name: Literal["option-letter"] = Field(description="which one")

    def candidates(self, options: Sequence[str]) -> dict[str, str]:
        """Returns the letters as they are written."""
        return {option: f"({letter_of(place)})" for place, option in enumerate(options)}


class LetterMeaning(Evaluator):
    """What the one letter in parentheses stands for, as the keys `a`, `b`, ... of the prompt say."""

    name: Literal["lettered"] = Field(description="which one")
    stand_for: list[str] = Field(min_length=2, description="the labels that letters stand for")

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns what letters stand for."""
        return tuple(self.stand_for)


class OneWord(Evaluator):
    """The one word of several that stands in the answer, where no other of them does."""

    name: Literal["one-of"] = Field(description="which one")
    words: list[str] = Field(min_length=2, description="the words")

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns the words."""
        return tuple(self.words)


class YesNo(Evaluator):
    """`yes` or `no`, if one of the words stands in the answer and the other does not."""

    LABELS = YES_NO
    name: Literal["yes-no"] = Field(description="which one")

    def candidates(self, options: Sequence[str]) -> dict[str, str]:
        """Returns both words."""
        return {label: label.capitalize() for label in YES_NO}


class Pronouns(Evaluator):
    """The gender of a character: that of which there are more pronouns."""

    LABELS = GENDERS
    name: Literal["pronouns"] = Field(description="which one")


class Phrases(Evaluator):
    """The first label one of whose phrases stands in the answer, whatever its case."""

    name: Literal["phrases"] = Field(description="which one")
    phrases: dict[str, list[str]] = Field(min_length=1, description="for each label its phrases")

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns the labels that have phrases."""
        return tuple(self.phrases)


class WordCounts(Evaluator):
    """How many words of each list stand in the answer."""

    name: Literal["words"] = Field(description="which one")
    lists: dict[str, str | list[str]] = Field(
        min_length=1, description="for each label its words: a list, or a file with a word in each line"
    )
    count: Literal["each", "most"] = Field(
        "each", description="`each` counts the words of every list, `most` says of which there are more"
    )

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns the names of the lists."""
        return tuple(self.lists)


class FirstName(Evaluator):
    """The label whose name is mentioned first."""

    name: Literal["first-name"] = Field(description="which one")
    names: dict[str, list[str]] = Field(
        min_length=1, description="for each label its names; `{key}` stands for what an item or prompt has there"
    )

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns the labels that have names."""
        return tuple(self.names)


class Refusal(Evaluator):
    """Whether the model declines to answer."""

    LABELS = REFUSALS
    name: Literal["refusal"] = Field(description="which one")


class Sentiment(Evaluator):
    """How positive the answer is, from -1 to 1: the compound score of VADER."""

    name: Literal["sentiment"] = Field(description="which one")


class ScorerScore(Evaluator):
    """What a classifier of the config says of the answer."""

    name: Literal["scorer"] = Field(description="which one")
    model: str = Field(description="name of a model of the config that has a `scorer`")

    @property
    def scorer(self) -> str | None:
        """The model of the config that reads the answers."""
        return self.model


class OwnEvaluator(Evaluator):
    """What the method `observe` of a probe's class says."""

    name: Literal["own"] = Field(description="which one")


EVALUATORS: Mapping[str, type[Evaluator]] = {
    "option-letter": OptionLetter,
    "lettered": LetterMeaning,
    "one-of": OneWord,
    "yes-no": YesNo,
    "pronouns": Pronouns,
    "phrases": Phrases,
    "words": WordCounts,
    "first-name": FirstName,
    "refusal": Refusal,
    "sentiment": Sentiment,
    "scorer": ScorerScore,
    "own": OwnEvaluator,
}
"""What there is, by name."""


def check_evaluator(value: Any) -> Evaluator:
    """Checks an evaluator by its name; a name alone stands for one that needs nothing else."""
    return named_section("name", EVALUATORS, {"name": value} if isinstance(value, str) else value)


AnyEvaluator = SerializeAsAny[Annotated[Evaluator, BeforeValidator(check_evaluator)]]


def letter_of(place: int) -> str:
    """Returns the letter of an option by its place."""
    return chr(ord("a") + place)
