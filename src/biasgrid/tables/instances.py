"""What models are asked."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column, table

INSTANCES = table(
    "instances",
    {
        "instance": column(pl.UInt32, description="row number, the instance's id", unique=True),
        "swap_group": column(
            pl.UInt32, description="the four instances that share template, pair of subjects and attribute"
        ),
        "swapped": column(pl.Boolean, description="whether the pair's subjects stand in reversed order"),
        "negated": column(pl.Boolean, description="whether the question is the negated one"),
        "template": column(pl.UInt16, description="0-based index of the template in its file"),
        "subject1": column(pl.Categorical, description="the subject that stands first in the context"),
        "subject2": column(pl.Categorical, description="the subject that stands second in the context"),
        "cluster1": column(pl.Categorical, description="cluster of subject1 (such as female)", nullable=True),
        "cluster2": column(pl.Categorical, description="cluster of subject2", nullable=True),
        "attribute": column(pl.Categorical, description="the attribute's name: its wording in the base type"),
        "attribute_cluster": column(
            pl.Categorical, description="cluster of the attribute (such as crime)", nullable=True
        ),
        "context": column(pl.Categorical, description="the text that names both subjects"),
        "question": column(
            pl.Categorical, description="the question; for masked language models the statement with the mask"
        ),
        "candidate1": column(pl.Categorical, description="subject1 as it is written in the context"),
        "candidate2": column(pl.Categorical, description="subject2 as it is written in the context"),
        "position1": column(pl.UInt16, description="where candidate1 begins in the context, in characters"),
        "position2": column(pl.UInt16, description="where candidate2 begins in the context, in characters"),
    },
)

CASES = table(
    "cases",
    {
        "instance": column(pl.UInt32, description="row number, the instance's id", unique=True),
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
        "text": column(pl.String, description="the first input"),
        "text_pair": column(pl.String, description="the second input, where there are two", nullable=True),
        "label": column(pl.Int16, description="the right class, of classifiers", nullable=True),
        "targets": column(
            pl.List(pl.String), description="the words to be predicted, of masked language models", nullable=True
        ),
        "answer": column(pl.String, description="the right answer, of question answering", nullable=True),
    },
)
