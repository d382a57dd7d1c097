"""Digests of values whose fields have names."""

from __future__ import annotations

from dataclasses import dataclass, field, make_dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from biasgrid.base.digests import digest_fields


@dataclass(frozen=True)
class Sentence:
    text: str
    group: str | None = None
    forms: tuple[str, ...] = ()
    labels: dict[str, str] = field(default_factory=dict)
    where: str = field(default="", compare=False)


class Person(NamedTuple):
    name: str
    age: float = 0.0


OLD = Sentence("Old", forms=("a", "b"), where="line 1")


def test_a_digest_matches_json_with_names() -> None:
    text = '[{"forms": ["a", "b"], "text": "Old"}, "prompt", null]'
    assert digest_fields(OLD, "prompt", None) == sha256(text.encode()).hexdigest()[:16]


def test_a_new_field_with_a_default_changes_no_digest() -> None:
    added = make_dataclass("Sentence", ["text", ("forms", tuple, ()), ("language", str, "en")])
    assert digest_fields(added("Old", ("a", "b"))) == digest_fields(OLD)
    assert digest_fields(added("Old", ("a", "b"), "de")) != digest_fields(OLD)


def test_fields_may_change_places_but_not_names() -> None:
    swapped = make_dataclass("Sentence", ["forms", "text"])
    assert digest_fields(swapped(("a", "b"), "Old")) == digest_fields(OLD)
    renamed = make_dataclass("Sentence", ["forms", "sentence"])
    assert digest_fields(renamed(("a", "b"), "Old")) != digest_fields(OLD)


def test_fields_that_are_not_compared_do_not_count() -> None:
    moved = Sentence("Old", forms=("a", "b"), where="line 2")
    assert digest_fields([moved]) == digest_fields([OLD])


@pytest.mark.parametrize(
    "other",
    [
        Sentence("Young", forms=("a", "b")),
        Sentence("Old", forms=("b", "a")),
        Sentence("Old", "age", ("a", "b")),
        Sentence("Old", forms=("a", "b"), labels={"x": "y"}),
    ],
)
def test_every_other_field_counts(other: Sentence) -> None:
    assert digest_fields({"nested": (other,)}) != digest_fields({"nested": (OLD,)})


def test_named_tuples_go_by_names_and_other_tuples_are_lists() -> None:
    assert digest_fields(Person("Ann")) == digest_fields({"name": "Ann"})
    assert digest_fields(Person("Ann", 3)) == digest_fields({"age": 3, "name": "Ann"})
    assert digest_fields(("Ann", 3)) == digest_fields(["Ann", 3])


def test_the_order_of_parts_and_entries_counts() -> None:
    assert digest_fields("a", "b") != digest_fields("b", "a") != digest_fields(["b", "a"])
    assert digest_fields({"a": 1, "b": 2}) != digest_fields({"b": 2, "a": 1})


@pytest.mark.parametrize("value", [Path("file"), {"a"}, object(), Sentence])
def test_what_has_no_place_in_json_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        digest_fields(OLD, [value])
