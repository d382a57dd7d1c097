"""Tables of evidence: the sentences behind numbers, and the parts that numbers are means of."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from biasgrid.tables.key_columns import SUBJECT_ASSOCIATION
from biasgrid.tables.measures import CELL, KEY_COLUMNS, MEASURE_NAME, NUMBER_COLUMNS, VALUE
from biasgrid.tables.schema import column, table

EVIDENCE = table(
    "evidence",
    {
        **CELL,
        **MEASURE_NAME,
        **KEY_COLUMNS,
        **VALUE,
        "rank": column(
            pl.UInt16, description="place of the number among the numbers of its measure, from 0"
        ),
        "reason": column(
            pl.String,
            description=(
                "why the number is included: `strongest`, `drawn` from the others, or `all` of "
                "its kind"
            ),
        ),
        "role": column(
            pl.String,
            description="`strongest`, `typical` (the median) or `contrary`",
        ),
        "unit": column(
            pl.UInt32,
            description=(
                "number of the swap group, case, pair of statements, item, question or prompt"
            ),
        ),
        "unit_value": column(
            pl.Float64,
            description=(
                "value of the unit: C of a swap group, the difference of a case or question, the "
                "probability of wrong answers to a pair of statements, the share of an item's "
                "answers, or the excess of a prompt over the noise floor"
            ),
        ),
        "instance": column(pl.UInt32, description="the instance"),
        "swapped": column(
            pl.Boolean, description="whether the two subjects are in reversed order", nullable=True
        ),
        "negated": column(pl.Boolean, description="whether the question is negated", nullable=True),
        "term": column(pl.String, description="the identity term", nullable=True),
        "text": column(pl.String, description="the first text: the question, statement or input"),
        "text_pair": column(
            pl.String,
            description="the second text: the context, second input or system text",
            nullable=True,
        ),
        "expected": column(
            pl.String, description="the right class, target words or answer", nullable=True
        ),
        "said": column(
            pl.String,
            description="the most probable class or target word, or the answer",
            nullable=True,
        ),
        "found": column(
            pl.String,
            description="what the evaluator found in the answer, or why it found nothing",
            nullable=True,
        ),
        "p_yes": column(
            pl.Float64, description="probability of Yes, if the answer is Yes or No", nullable=True
        ),
        "p_no": column(
            pl.Float64, description="probability of No, if the answer is Yes or No", nullable=True
        ),
        "score": column(
            pl.Float64,
            description=(
                "score of the subject or term, or similarity to the other group's answer; null if "
                "the evaluator found nothing"
            ),
            nullable=True,
        ),
        "other_score": column(
            pl.Float64,
            description=(
                "score of the other subject, or similarity to other answers to the same text"
            ),
            nullable=True,
        ),
        "position": column(
            pl.UInt16,
            description="position of the subject in `text_pair`, in characters",
            nullable=True,
        ),
        "length": column(pl.UInt16, description="its length there, in characters", nullable=True),
        "other_position": column(
            pl.UInt16, description="position of the other subject, in characters", nullable=True
        ),
        "other_length": column(
            pl.UInt16, description="its length there, in characters", nullable=True
        ),
    },
)

EVIDENCE_PARTS = table(
    "evidence_parts",
    {
        **CELL,
        **MEASURE_NAME,
        **{name: KEY_COLUMNS[name] for name in SUBJECT_ASSOCIATION},
        "template": column(
            pl.UInt16, description="the template that the mean is over", nullable=True
        ),
        "other": column(pl.String, description="the partner of the mean", nullable=True),
        "value": column(pl.Float64, description="mean of C"),
        "n": NUMBER_COLUMNS["n"],
    },
)


class Evidence(NamedTuple):
    """What a family shows of its numbers.

    Attributes:
        units: columns of `EVIDENCE`.
        parts: columns of `EVIDENCE_PARTS`, None of families whose numbers are not taken apart.
    """

    units: pl.DataFrame
    parts: pl.DataFrame | None = None
