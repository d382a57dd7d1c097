"""The key columns of measures and all that follows from a number having one.

A number is about its keys that are not null, and pooled over all others. A family that has a new
kind of number takes the key that fits, if there is one:

- *who*: `subject` for a single name or person, `subject_group` for a group of such names, `group`
  for any other social group, `other` for the one that it is compared with, and `bias_type` for what
  the groups have in common.
- *what*: `attribute` or `attribute_group` for what is said about them or asked, such as an
  activity, a task, or whether a question has an answer.
- *how*: `template` for the wording in which it was asked.

If none fits, add a `Key` to `KEYS` and choose its `aspect` first, because most follows from it:
`who` if a fair model treats its values alike; `what` if its values are different things that are
asked about the same people, each of interest in itself; `how` if its values are only ways to ask
the same, such as the source of a sentence, and the number over all of them is the claim. Numbers
with a *how* are shown with intervals, but their tests are never counted as findings. All other
fields have defaults, for a key of parts whose numbers are not tested one by one. Tables, page and
documents follow from `KEYS`. Only a pair of keys that is tested needs more: words in the report,
see `TESTED_PAIRS`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import polars as pl

Aspect = Literal["who", "what", "how"]
TestedAs = Literal["association", "difference"]
Sentences = Literal["own", "own and pooled"]
PageText = Literal["name", "text", "template"]


@dataclass(frozen=True)
class Key:
    """A key column.

    Attributes:
        name: the name of the column.
        description: the meaning of its values, for documents.
        aspect: `who` a number is about, `what` is said about them, or `how` it was asked. Numbers
            that differ only in `what` are about the same names. A gain of clusters is estimated
            from all numbers of a measure in a table of `who` by `what`. Tests of numbers with a
            `how` are not counted.
        dtype: the type of its values.
        is_part: whether its values are parts of a whole. A number without such keys is about a
            whole; only such numbers are headlines, stand in the summary and rank models.
        is_corrected_together: whether tests that differ in it are corrected together, for the
            verdict on a cell and for models compared by wholes. Where models are compared by parts,
            all parts that have the same keys are corrected together.
        is_crossed: whether one of its values, over all of `what`, shares the effects of clusters.
            Values of other keys are a single list.
        has_agreement: whether the agreement of two models on the order of its values is measured.
        group_of: the key whose values it groups, such as `subject` for `subject_group`; None for
            a key of single things. Tests of a key and of its groups are not both counted: in a cell
            that has tested groups, only theirs are.
        tested_as: how numbers of it are tested one by one; None if they are not. An `association`
            is relative: numbers of one `tested_with` sum to 0, so a number below 0 repeats those
            above 0. A `difference` is between the groups in it and in `tested_with`; one key alone
            has such numbers. A tested number is set against those numbers of the dataset's control
            that are tested by the same key.
        tested_with: the second key of a tested number.
        sentences: the sentences that show a number of it: those of its `own` value, or also those
            that are `pooled` over the key. If None, sentences are not selected by it, and its value
            does not name a number for `biasgrid explain`.
        counted_as: the noun for the number of its values in a table of a report; "" if they are
            not counted.
        on_page: how a page shows its values: as a `name`, a `text` that is hidden until a reader
            asks for it, or the number of a `template` beside the text of the template.
    """

    name: str
    description: str
    aspect: Aspect
    dtype: type[pl.DataType] = pl.String
    is_part: bool = True
    is_corrected_together: bool = True
    is_crossed: bool = False
    has_agreement: bool = False
    group_of: str | None = None
    tested_as: TestedAs | None = None
    tested_with: str | None = None
    sentences: Sentences | None = None
    counted_as: str = ""
    on_page: PageText = "name"


KEYS = (
    Key(
        "subject",
        "the subject",
        "who",
        is_crossed=True,
        has_agreement=True,
        tested_as="association",
        tested_with="attribute",
        sentences="own",
        counted_as="subjects",
    ),
    Key(
        "subject_group",
        "the group of subjects",
        "who",
        group_of="subject",
        tested_as="association",
        tested_with="attribute",
    ),
    Key(
        "attribute",
        "the attribute",
        "what",
        sentences="own",
        counted_as="attributes",
        on_page="text",
    ),
    Key("attribute_group", "the group of attributes", "what", group_of="attribute", on_page="text"),
    Key(
        "bias_type",
        "what the groups have in common, such as religion; ` & ` joins those of an intersection",
        "who",
        is_part=False,
        is_corrected_together=False,
        sentences="own",
    ),
    Key(
        "group",
        "the group, or those of an intersection",
        "who",
        tested_as="difference",
        tested_with="other",
        sentences="own and pooled",
        counted_as="groups",
    ),
    Key("other", "the group or subject that it is compared with", "who"),
    Key(
        "template",
        "the template, numbered from 0",
        "how",
        dtype=pl.UInt16,
        counted_as="templates",
        on_page="template",
    ),
)
"""All key columns, in the order in which tables have them and rows are sorted by them."""
KEY_NAMED = {key.name: key for key in KEYS}


class KeyPair(NamedTuple):
    """The two keys of numbers that are tested one by one; `Key.tested_as` says how."""

    key: str
    other_key: str


# Findings have words for these pairs alone; a test checks that they are those of `KEYS`.
SUBJECT_ASSOCIATION = KeyPair("subject", "attribute")
SUBJECT_GROUP_ASSOCIATION = KeyPair("subject_group", "attribute")
GROUP_PAIR = KeyPair("group", "other")
"""Keys of differences of two groups."""
ASSOCIATIONS = (SUBJECT_GROUP_ASSOCIATION, SUBJECT_ASSOCIATION)
"""Keys of associations, those of groups of names first: they are what is claimed if a cell has
both.
"""
TESTED_PAIRS = (*ASSOCIATIONS, GROUP_PAIR)


def claimed_keys() -> list[str]:
    """Returns the keys that a claim may have, in the order of `KEYS`.

    Claims are made of wholes and of numbers that are tested one by one.
    """
    tested = {name for pair in TESTED_PAIRS for name in pair}
    return [key.name for key in KEYS if not key.is_part or key.name in tested]


def find_tested_pair(row: Mapping[str, Any]) -> KeyPair | None:
    """Returns the two keys of a number that is tested one by one; None for any other number.

    Args:
        row: all key columns; null and "" both mean that the number does not have a key.
    """
    for pair in TESTED_PAIRS:
        if row[pair.key] and row[pair.other_key]:
            return pair
    return None


def group_keys(aspect: Aspect) -> list[str]:
    """Returns the keys of an aspect that group the values of another key, such as
    `subject_group`.
    """
    return [key.name for key in KEYS if key.aspect == aspect and key.group_of]


def all_known(*keys: str) -> pl.Expr:
    """Whether each row has all of some keys; it may have others."""
    return pl.all_horizontal(pl.col(key).is_not_null() for key in keys)


def is_about(keys: Collection[str]) -> pl.Expr:
    """Whether each row has exactly these keys; with no keys, whether it is about a whole cell."""
    conditions = []
    for key in KEYS:
        column = pl.col(key.name)
        conditions.append(column.is_not_null() if key.name in keys else column.is_null())
    return pl.all_horizontal(conditions)


def is_about_whole() -> pl.Expr:
    """Whether each row is about a whole: a cell or a bias type, see `Key.is_part`."""
    return pl.all_horizontal(pl.col(key.name).is_null() for key in KEYS if key.is_part)


def is_pooled_over(aspect: Aspect) -> pl.Expr:
    """Whether each row is pooled over all keys of an aspect: it has none of them."""
    return pl.all_horizontal(pl.col(key.name).is_null() for key in KEYS if key.aspect == aspect)
