"""A pack of statements: templates, domains of their parameters, and constraints.

Constraints say the last. `neq(#1, #2)` drops the statements whose parameters 1 and 2 have the same
name, `neq(#1_class, #2_class)` those of the same class, `eq` those that differ. A set of words in
braces may stand in place of the second: `eq(#1_class, {old, young})` keeps both classes. Of tests
with `or` between them one must hold; of what `|` separates, all must.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.base.faults import Problem, nearest_name, one_of
from biasgrid.base.languages import ENGLISH, language_words
from biasgrid.families.prompts import Prompt
from biasgrid.families.sampling import Sample

ValueAttribute = Literal["name", "group"]
FUNCTIONS = {"eq": True, "neq": False}
SUFFIXES: Mapping[str, ValueAttribute] = {"": "name", "_name": "name", "_class": "group"}
TEST = re.compile(r"(\w*)\s*\((.*)\)")
REFERENCE = re.compile(r"#(\d+)(\w*)")
OUTSIDE_OF_SETS = r"(?![^{}]*\})"
CONSTRAINT_FORM = "tests such as neq(#1, #2_class), with `or` or `|` between them"


class Reference(NamedTuple):
    """A value that a test looks at.

    Attributes:
        place: the place of the parameter among all, from 0.
        attribute: the attribute of its value that is compared.
    """

    place: int
    attribute: ValueAttribute


class Test(NamedTuple):
    """A test of values.

    Attributes:
        left: the first argument.
        right: the second argument: a value, or words of a set, of which any may be equal.
        equal: whether it holds where they are the same, or where they differ.
    """

    left: Reference
    right: Reference | tuple[str, ...]
    equal: bool


Constraint = tuple[tuple[Test, ...], ...]
"""Of all of these, one test must hold; nothing is dropped where there are none."""


class ConstraintError(Problem):
    """A constraint that cannot be read."""


def parse_constraint(text: str, parameters: Sequence[str]) -> Constraint:
    """Reads a constraint.

    Args:
        text: the constraint, empty where there is none.
        parameters: the numbers of the parameters that the template has; empty for those that it
            leaves out.

    Raises:
        ConstraintError: a function is unknown or has another number of arguments, or an argument is
            none.
    """
    if not text.strip():
        return ()
    constraint = []
    for alternatives in re.split(rf"\|{OUTSIDE_OF_SETS}", text):
        tests = re.split(rf"\bor\b{OUTSIDE_OF_SETS}", alternatives)
        constraint.append(tuple(parse_test(test.strip(), parameters) for test in tests))
    return tuple(constraint)


def parse_test(text: str, parameters: Sequence[str]) -> Test:
    """Reads one test; see `parse_constraint`."""
    match = TEST.fullmatch(text)
    if match is None:
        raise ConstraintError(f"the constraint {text!r} cannot be read", CONSTRAINT_FORM)
    function, inner = match.groups()
    if function not in FUNCTIONS:
        problem = f"unknown function {function!r}{nearest_name(function, FUNCTIONS)}"
        raise ConstraintError(problem, one_of(FUNCTIONS))
    arguments = [argument.strip() for argument in re.split(rf",{OUTSIDE_OF_SETS}", inner)]
    if len(arguments) != 2:
        # A split of nothing gives one empty text.
        count = 0 if arguments == [""] else len(arguments)
        plural = "" if count == 1 else "s"
        raise ConstraintError(f"{text!r} has {count} argument{plural}", "two")
    first, second = arguments
    left = parse_reference(first, parameters)
    is_set = second.startswith("{")
    right = parse_set(second) if is_set else parse_reference(second, parameters)
    return Test(left, right, FUNCTIONS[function])


def parse_reference(text: str, parameters: Sequence[str]) -> Reference:
    """Reads an argument that is a parameter's name or class; see `parse_constraint`."""
    match = REFERENCE.fullmatch(text)
    if match is None or match[2] not in SUFFIXES:
        problem = f"the argument {text!r} cannot be read"
        raise ConstraintError(problem, "#1 or #1_name, #1_class, or a second one {a, b}")
    number, suffix = match.groups()
    if number not in parameters:
        problem = f"{text!r}, but the template has no parameter {number}"
        raise ConstraintError(problem, one_of(filter(None, parameters)))
    return Reference(parameters.index(number), SUFFIXES[suffix])


def parse_set(text: str) -> tuple[str, ...]:
    """Reads an argument that is a set of words; see `parse_constraint`."""
    words = [word.strip() for word in text[1:-1].split(",")]
    if not text.endswith("}") or not all(words):
        problem = f"the set {text!r} cannot be read"
        raise ConstraintError(problem, "words separated by commas, such as {old, young}")
    return tuple(words)


UNUSED = ""
"""The domain of a parameter that a template leaves out: it has one value, without name and
class.
"""
STATEMENT = "{statement}"
"""Stands for the statement in what a model is asked."""


@dataclass(frozen=True)
class StatementFiles:
    """What makes the instances of a dataset.

    Attributes:
        templates: a CSV file.
        domains: a folder of files, one a domain.
        mode: as whose project they are read, None for ours.
        repetitions: how often each statement is asked.
        sample: which statements are asked, None for all.
        system: the system text, None where there is none.
        prompt: the prompt, with `STATEMENT` in it.
        prompts: files that say so in place of `prompt` and `system`, one for each prompt format.
        language: the language of statements and answers.
    """

    templates: Path
    domains: Path
    mode: str | None
    repetitions: int
    sample: Sample | None
    system: str | None
    prompt: str
    prompts: tuple[Path, ...] = ()
    language: str = ENGLISH


class DomainValue(NamedTuple):
    """A value of a parameter, and the class that it belongs to."""

    name: str
    group: str


@dataclass(frozen=True)
class StatementTemplate:
    """A template.

    Attributes:
        identifier: its `template_id`.
        text: its text, with `#1` where the value of parameter 1 stands.
        domains: the domain of each parameter of the file, `UNUSED` for those that it leaves out.
        constraint: which values go together.
        label: the right answer.
    """

    identifier: str
    text: str
    domains: tuple[str, ...]
    constraint: Constraint
    label: str


@dataclass(frozen=True)
class StatementPack:
    """What the files of a dataset hold.

    Attributes:
        parameters: the numbers of the parameters, as in the names of their columns.
        values: the values of each domain.
        templates: the templates.
        negations: of templates that have one, the place of their negation.
        files: where they come from, and how statements are asked.
        prompts: the prompt in each prompt format.
    """

    parameters: tuple[str, ...]
    values: Mapping[str, tuple[DomainValue, ...]]
    templates: tuple[StatementTemplate, ...]
    negations: Mapping[int, int]
    files: StatementFiles
    prompts: tuple[Prompt, ...]

    @property
    def repetitions(self) -> int:
        """How often each statement is asked, in all prompt formats together."""
        return self.files.repetitions * len(self.prompts)

    @cached_property
    def statements(self) -> list[tuple[int, ...]]:
        """The templates by place, each with its negation where it has one."""
        negations = set(self.negations.values())
        statements: list[tuple[int, ...]] = []
        for place in range(len(self.templates)):
            if place in self.negations:
                statements.append((place, self.negations[place]))
            elif place not in negations:
                statements.append((place,))
        return statements

    def requested_answers(self, prompt: Prompt) -> tuple[str, ...]:
        """Returns the two answers that a prompt asks for, such as Yes and No.

        See `Language.requested_answers`.
        """
        language = language_words(self.files.language)
        return language.requested_answers(f"{prompt.system or ''}\n{prompt.text}")

    def values_of(self, template: StatementTemplate) -> list[tuple[DomainValue, ...]]:
        """Returns the values of each parameter of a template."""
        return [self.values[domain] for domain in template.domains]

    def combinations(self, template: StatementTemplate) -> int:
        """Returns how many combinations of values there are, whether they go together or not."""
        return prod(len(values) for values in self.values_of(template))

    def digest(self) -> str:
        """Returns a digest of all that decides the instances."""
        files = self.files
        settings: list[Any] = [files.mode is not None, files.repetitions, files.sample]
        # One format has the digest that it had before there were several.
        if len(self.prompts) == 1:
            settings += [self.prompts[0].system, self.prompts[0].text]
        else:
            settings.append(self.prompts)
        if files.language != ENGLISH:
            for prompt in self.prompts:
                settings += self.requested_answers(prompt)
        used = sorted({domain for template in self.templates for domain in template.domains})
        values = [(domain, self.values[domain]) for domain in used]
        negations = sorted(self.negations.items())
        content = (self.parameters, values, self.templates, negations, tuple(settings))
        return sha256(repr(content).encode()).hexdigest()[:16]


COMBINATIONS_AT_ONCE = 2**18


def places_of_values(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> list[IntArray]:
    """Returns for each parameter the places of its values in its domain, shape (combinations,)."""
    # A combination is a number whose digits are places; the last parameter varies fastest.
    places, rest = [], combinations
    for values in reversed(pack.values_of(template)):
        places.append(rest % len(values))
        rest = rest // len(values)
    return places[::-1]


def allowed_combinations(pack: StatementPack, template: StatementTemplate) -> IntArray:
    """Returns the combinations of a template's values that keep to its constraint, ascending."""
    count = pack.combinations(template)
    if not template.constraint:
        return np.arange(count)
    return np.concatenate([np.zeros(0, np.int64), *allowed_slices(pack, template, count)])


def allowed_slices(
    pack: StatementPack, template: StatementTemplate, count: int
) -> Iterator[IntArray]:
    """Yields the allowed combinations slice by slice: few of very many may go together.

    Args:
        pack: the pack.
        template: the template, with a constraint.
        count: the number of all combinations of its values.
    """
    for start in range(0, count, COMBINATIONS_AT_ONCE):
        combinations = np.arange(start, min(start + COMBINATIONS_AT_ONCE, count))
        places = places_of_values(pack, template, combinations)
        holds = np.ones(len(combinations), dtype=np.bool_)
        for alternatives in template.constraint:
            passed = np.zeros(len(combinations), dtype=np.bool_)
            for test in alternatives:
                passed |= passing_combinations(pack, template, test, places)
            holds &= passed
        yield combinations[holds]


def passing_combinations(
    pack: StatementPack, template: StatementTemplate, test: Test, places: Sequence[IntArray]
) -> BoolArray:
    """Returns for which combinations a test holds; shape (combinations,).

    Args:
        pack: the pack.
        template: the template.
        test: one of its tests.
        places: for each parameter, the place of its value in each combination.
    """
    same: BoolArray
    left = attributes_of_values(pack, template, test.left)
    place = places[test.left.place]
    if isinstance(test.right, Reference):
        right = attributes_of_values(pack, template, test.right)
        # Numbers are compared faster than texts, and there may be millions of combinations.
        codes = {text: number for number, text in enumerate(dict.fromkeys([*left, *right]))}
        of_left = np.array([codes[text] for text in left])
        of_right = np.array([codes[text] for text in right])
        same = of_left[place] == of_right[places[test.right.place]]
    else:
        same = np.array([text in test.right for text in left], dtype=np.bool_)[place]
    return same if test.equal else ~same


def attributes_of_values(
    pack: StatementPack, template: StatementTemplate, reference: Reference
) -> list[str]:
    """Returns the names or classes of the values of a parameter."""
    values = pack.values_of(template)[reference.place]
    return [getattr(value, reference.attribute) for value in values]
