"""The family's own columns of instances: the case, its social group, and the right response."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "case": column(
        pl.UInt32,
        description="template and fillings; the instances of a case differ only in the term",
    ),
    "swapped_case": column(
        pl.UInt32,
        description=(
            "the case in which the fillings of each placeholder (<x>, <x:2>) are in reversed "
            "order; null if that is the same case"
        ),
        nullable=True,
    ),
    "template": column(pl.UInt16, description="the template, numbered from 0"),
    "bias_type": column(
        pl.Categorical,
        description=(
            "what the groups have in common, such as religion; ` & ` joins those of an intersection"
        ),
    ),
    "group": column(
        pl.Categorical,
        description="the group, or those of an intersection",
    ),
    "term": column(
        pl.Categorical,
        description="the group's identity term, or those of an intersection",
    ),
    "label": column(pl.Int16, description="classifiers: the right class", nullable=True),
    "answer": column(pl.String, description="question answering: the right answer", nullable=True),
}
