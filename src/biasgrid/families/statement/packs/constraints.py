"""The language of constraints: which values of a template's parameters go together.

`neq(#1, #2)` drops the statements whose parameters 1 and 2 have the same name, `neq(#1_class, #2_class)` those of the
same class, `eq` those that differ. A set of words in braces may stand in place of the second: `eq(#1_class, {old,
young})` keeps both classes. Of tests with `or` between them one must hold; of what `|` separates, all must.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from biasgrid.base.faults import Problem, nearest, one_of

Attribute = Literal["name", "group"]
FUNCTIONS = {"eq": True, "neq": False}
SUFFIXES: Mapping[str, Attribute] = {"": "name", "_name": "name", "_class": "group"}
TEST = re.compile(r"(\w*)\s*\((.*)\)")
REFERENCE = re.compile(r"#(\d+)(\w*)")
OUTSIDE_OF_SETS = r"(?![^{}]*\})"
FORM = "tests such as neq(#1, #2_class), with `or` or `|` between them"


class Reference(NamedTuple):
    """A value that a test looks at.

    Attributes:
        place: the place of the parameter among all, from 0.
        attribute: what of its value is compared.
    """

    place: int
    attribute: Attribute


class Test(NamedTuple):
    """A test of values.

    Attributes:
        left: what is compared.
        right: with what; words of a set with each of them.
        equal: whether it holds where they are the same, or where they differ.
    """

    left: Reference
    right: Reference | tuple[str, ...]
    equal: bool


Constraint = tuple[tuple[Test, ...], ...]
"""Of all of these, one test must hold; nothing is dropped where there are none."""


class ConstraintError(Problem):
    """A constraint that cannot be read."""


def parse(text: str, parameters: Sequence[str]) -> Constraint:
    """Reads a constraint.

    Args:
        text: the constraint, empty where there is none.
        parameters: the numbers of the parameters that the template has; empty for those that it leaves out.

    Raises:
        ConstraintError: a function is unknown or has another number of arguments, or an argument is none.
    """
    if not text.strip():
        return ()
    return tuple(
        tuple(parse_test(test.strip(), parameters) for test in re.split(rf"\bor\b{OUTSIDE_OF_SETS}", part))
        for part in re.split(rf"\|{OUTSIDE_OF_SETS}", text)
    )


def parse_test(text: str, parameters: Sequence[str]) -> Test:
    """Reads one test."""
    found = TEST.fullmatch(text)
    if found is None:
        raise ConstraintError(f"the constraint {text!r} cannot be read", FORM)
    function, inner = found[1], found[2]
    if function not in FUNCTIONS:
        raise ConstraintError(f"unknown function {function!r}{nearest(function, FUNCTIONS)}", one_of(FUNCTIONS))
    arguments = [argument.strip() for argument in re.split(rf",{OUTSIDE_OF_SETS}", inner)]
    if len(arguments) != 2:
        count = 0 if arguments == [""] else len(arguments)
        raise ConstraintError(f"{text!r} has {count} argument{'' if count == 1 else 's'}", "two")
    left, right = arguments
    in_set = right.startswith("{")
    return Test(
        parse_reference(left, parameters),
        parse_set(right) if in_set else parse_reference(right, parameters),
        FUNCTIONS[function],
    )


def parse_reference(text: str, parameters: Sequence[str]) -> Reference:
    """Reads an argument that is a parameter's name or class."""
    found = REFERENCE.fullmatch(text)
    if found is None or found[2] not in SUFFIXES:
        raise ConstraintError(
            f"the argument {text!r} cannot be read", "#1 or #1_name, #1_class, or a second one {a, b}"
        )
    if found[1] not in parameters:
        raise ConstraintError(
            f"{text!r}, but the template has no parameter {found[1]}", one_of(filter(None, parameters))
        )
    return Reference(parameters.index(found[1]), SUFFIXES[found[2]])


def parse_set(text: str) -> tuple[str, ...]:
    """Reads an argument that is a set of words."""
    words = [word.strip() for word in text[1:-1].split(",")]
    if not text.endswith("}") or not all(words):
        raise ConstraintError(f"the set {text!r} cannot be read", "words separated by commas, such as {old, young}")
    return tuple(words)
