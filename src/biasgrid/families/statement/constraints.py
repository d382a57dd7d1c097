"""Constraints: which values of a template's parameters go together in a statement.

`neq(#1, #2)` drops the statements whose parameters 1 and 2 have the same name,
`neq(#1_class, #2_class)` those of the same class, `eq` those that differ. A set of words in braces
may stand in place of the second: `eq(#1_class, {old, young})` keeps both classes. Of tests with
`or` between them one must hold; of parts that `|` separates, all must.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from typing import Literal, NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.base.faults import Problem, nearest_name, one_of

COMBINATIONS_AT_ONCE = 2**18


class DomainValue(NamedTuple):
    """A value of a parameter, and the class that it belongs to."""

    name: str
    group: str


ParameterValues = Sequence[Sequence[DomainValue]]
"""The values of each parameter of a template."""
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
        equal: whether it holds if they are the same; else it holds if they differ.
    """

    left: Reference
    right: Reference | tuple[str, ...]
    equal: bool


Constraint = tuple[tuple[Test, ...], ...]
"""Alternatives, of each of which one test must hold; empty to keep all combinations."""


class ConstraintError(Problem):
    """A constraint that cannot be read."""


# Texts of constraints


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


# Combinations that satisfy them


def count_combinations(values: ParameterValues) -> int:
    """Returns how many combinations of values there are, whether they go together or not."""
    return prod(len(domain) for domain in values)


def places_of_values(values: ParameterValues, combinations: IntArray) -> list[IntArray]:
    """Returns for each parameter the places of its values in its domain, shape (combinations,)."""
    # A combination is a number whose digits are places; the last parameter varies fastest.
    places, rest = [], combinations
    for domain in reversed(values):
        places.append(rest % len(domain))
        rest = rest // len(domain)
    return places[::-1]


def allowed_combinations(values: ParameterValues, constraint: Constraint) -> IntArray:
    """Returns the combinations of values that keep to a constraint, ascending."""
    count = count_combinations(values)
    if not constraint:
        return np.arange(count)
    slices = [np.zeros(0, np.int64)]
    # Slice by slice: few of very many may go together.
    for start in range(0, count, COMBINATIONS_AT_ONCE):
        combinations = np.arange(start, min(start + COMBINATIONS_AT_ONCE, count))
        slices.append(combinations[satisfies(values, constraint, combinations)])
    return np.concatenate(slices)


def satisfies(values: ParameterValues, constraint: Constraint, combinations: IntArray) -> BoolArray:
    """Returns which combinations keep to a constraint, shape (combinations,)."""
    places = places_of_values(values, combinations)
    holds = np.ones(len(combinations), dtype=np.bool_)
    for alternatives in constraint:
        is_passed = np.zeros(len(combinations), dtype=np.bool_)
        for test in alternatives:
            is_passed |= passes(values, test, places)
        holds &= is_passed
    return holds


def passes(values: ParameterValues, test: Test, places: Sequence[IntArray]) -> BoolArray:
    """Returns for which combinations a test holds, shape (combinations,).

    Args:
        values: the values of each parameter.
        test: the test.
        places: for each parameter, the place of its value in each combination.
    """
    is_same: BoolArray
    left = attributes_of_values(values, test.left)
    place = places[test.left.place]
    if isinstance(test.right, Reference):
        right = attributes_of_values(values, test.right)
        # Numbers are compared faster than texts, and there may be millions of combinations.
        codes = {text: number for number, text in enumerate(dict.fromkeys([*left, *right]))}
        left_codes = np.array([codes[text] for text in left])
        right_codes = np.array([codes[text] for text in right])
        is_same = left_codes[place] == right_codes[places[test.right.place]]
    else:
        is_word = np.array([text in test.right for text in left], dtype=np.bool_)
        is_same = is_word[place]
    return is_same if test.equal else ~is_same


def attributes_of_values(values: ParameterValues, reference: Reference) -> list[str]:
    """Returns the names or classes of the values of a parameter."""
    return [getattr(value, reference.attribute) for value in values[reference.place]]
