"""The family's own columns of instances: the case, the social group that it is asked about, and what is right."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column

KEYS = {
    "case": column(pl.UInt32, description="template and fillings: its instances differ in nothing but the term"),
    "swapped_case": column(
        pl.UInt32,
        description="the case in which the fillings of each placeholder (<x>, <x:2>) stand in reversed order, null "
        "where that is the same",
        nullable=True,
    ),
    "template": column(pl.UInt16, description="0-based index of the template in reading order"),
    "bias_type": column(
        pl.Categorical,
        description="what its groups have in common (such as religion); an intersection joins several by ` & `",
    ),
    "group": column(
        pl.Categorical,
        description="the social group (such as muslim), of an intersection one of each bias type, joined by ` & `",
    ),
    "term": column(
        pl.Categorical,
        description="the group's identity term, of an intersection one of each group, joined by ` & `",
    ),
    "label": column(pl.Int16, description="the right class, of classifiers", nullable=True),
    "answer": column(pl.String, description="the right answer, of question answering", nullable=True),
}
