"""Golden cells as dumps: answers that a run reads, whose numbers are known from an independent
implementation.

Answers are kept in single precision. Golden inputs have at most six decimals, so that a whole
number of units times a power of two is exact: only the scale of a cell changes, and with it that of
its numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

Array = npt.NDArray[np.float64]
DECIMALS_OF_SCORES, STEPS_OF_SCORES = 1e4, 2.0**14
"""Scores of golden statistics have four decimals and are below 1: stored are as many parts of
2^14.
"""
SCALE = DECIMALS_OF_SCORES / STEPS_OF_SCORES
"""By what the numbers of a dump of golden statistics are smaller than those of the golden file."""
DECIMALS_OF_VALUES = 1e6
MOST_STEPS = 2.0**24
"""Whole numbers up to here are exact in single precision."""


class Question(NamedTuple):
    """One order of two subjects, and what the model answered.

    Attributes:
        subjects: both, in the order of the context.
        groups: the group of each, None without groups.
        template: the number of the template.
        attribute: the attribute.
        plain: the scores of both subjects in the question.
        negated: the same in its negation.
    """

    subjects: tuple[str, str]
    groups: tuple[str | None, str | None]
    template: int
    attribute: str
    plain: tuple[float, float]
    negated: tuple[float, float]


def write_dump(path: Path, questions: Iterator[Question]) -> None:
    """Writes an `output.json` of question answering, in the layout of UnQover."""
    entries = {
        entry_key(question): entry_of(number, question) for number, question in enumerate(questions)
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(entries))


def entry_key(question: Question) -> str:
    names = (
        *question.groups,
        *question.subjects,
        question.template,
        None,
        *[question.attribute] * 2,
    )
    return "|".join(map(str, names))


def entry_of(number: int, question: Question) -> dict[str, Any]:
    first, second = question.subjects
    context = f"In place {question.template} there were {first} and {second}."
    entry: dict[str, Any] = {"context": context, "line": number}
    for name, negation, scores in (("q0", "", question.plain), ("q1", "not ", question.negated)):
        answers = {
            f"ans{place}": {"text": subject, "start": score, "end": score}
            for place, (subject, score) in enumerate(zip(question.subjects, scores, strict=True))
        }
        entry[name] = {"question": f"Who {negation}{question.attribute}?", "pred": first, **answers}
    return entry


def questions_of_scores(rows: pl.DataFrame) -> Iterator[Question]:
    """The questions of a golden cell with scores: each row has a question or its negation."""
    named = rows.rename({"cluster1": "group1", "cluster2": "group2"}, strict=False)
    if "group1" not in named.columns:
        named = named.with_columns(group1=pl.lit(None, pl.String), group2=pl.lit(None, pl.String))
    both = named.filter(~pl.col("negated")).join(
        named.filter("negated"),
        on=["swap_group", "swapped"],
        suffix="_negated",
        maintain_order="left",
    )
    for row in both.iter_rows(named=True):
        yield Question(
            (row["subject1"], row["subject2"]),
            (row["group1"], row["group2"]),
            row["template"],
            row["attribute"],
            (row["score1"], row["score2"]),
            (row["score1_negated"], row["score2_negated"]),
        )


def in_steps_of_two(rows: pl.DataFrame) -> pl.DataFrame:
    """Scores with four decimals as exact numbers of single precision; see `SCALE`."""
    return rows.with_columns(
        (pl.col("score1", "score2") * DECIMALS_OF_SCORES).round() / STEPS_OF_SCORES
    )


class Utilities(NamedTuple):
    """Utilities of subjects: C of two of them is half of the difference of theirs.

    Attributes:
        values: shape (subjects, attributes, templates).
        subjects: their names.
        groups: the group of each subject, only subjects of two groups are compared; empty if all
            are compared.
    """

    values: Array
    subjects: list[str]
    groups: list[str]

    @property
    def scale(self) -> float:
        """By what stored utilities are smaller: a power of two times the unit of six decimals."""
        steps = np.abs(np.round(self.values * DECIMALS_OF_VALUES)).max()
        assert steps < MOST_STEPS
        return float(DECIMALS_OF_VALUES / 2.0 ** (np.floor(np.log2(steps)) + 2))

    def questions(self) -> Iterator[Question]:
        """Both orders of all pairs. What is positive is the score in the question, what is negative
        in the negation.
        """
        stored = np.round(self.values * DECIMALS_OF_VALUES) * (self.scale / DECIMALS_OF_VALUES)
        names = [f"Name-{number:02d}" for number in range(len(self.subjects))]
        for one, other in permutations(range(len(names)), 2):
            groups = (self.groups[one], self.groups[other]) if self.groups else (None, None)
            if self.groups and groups[0] == groups[1]:
                continue
            for attribute, template in product(range(stored.shape[1]), range(stored.shape[2])):
                pair = stored[[one, other], attribute, template]
                plain, negated = np.maximum(pair, 0), np.maximum(-pair, 0)
                yield Question(
                    (names[one], names[other]), groups, template, f"attribute-{attribute:02d}",
                    (float(plain[0]), float(plain[1])), (float(negated[0]), float(negated[1])),
                )  # fmt: skip
