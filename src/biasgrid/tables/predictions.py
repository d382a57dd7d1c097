"""What models say."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import Distribution, Probability, column, table

SPAN_PREDICTIONS = table(
    "predictions of extractive question answering",
    {
        "instance": column(pl.UInt32, description="the instance's id", unique=True),
        "start1": column(
            pl.Float32, description="probability that the answer starts where candidate1 does", checks=Probability
        ),
        "end1": column(
            pl.Float32, description="probability that the answer ends where candidate1 does", checks=Probability
        ),
        "start2": column(
            pl.Float32, description="probability that the answer starts where candidate2 does", checks=Probability
        ),
        "end2": column(
            pl.Float32, description="probability that the answer ends where candidate2 does", checks=Probability
        ),
        "answer": column(pl.Categorical, description="text of the most probable span"),
    },
)

MASK_PREDICTIONS = table(
    "predictions of masked language models",
    {
        "instance": column(pl.UInt32, description="the instance's id", unique=True),
        "probability1": column(pl.Float32, description="probability of candidate1 at the mask", checks=Probability),
        "probability2": column(pl.Float32, description="probability of candidate2 at the mask", checks=Probability),
        "pronoun1": column(
            pl.Float32,
            description="probability of the pronoun of subject1's cluster, where the dataset has pronouns",
            checks=Probability,
            nullable=True,
        ),
        "pronoun2": column(
            pl.Float32,
            description="probability of the pronoun of subject2's cluster",
            checks=Probability,
            nullable=True,
        ),
        "pieces1": column(
            pl.UInt8,
            description="how many tokens candidate1 is made of; null where that is not known (of imported predictions, "
            "and of what the scoring `unqover` does not find in the vocabulary)",
            nullable=True,
        ),
        "pieces2": column(pl.UInt8, description="how many tokens candidate2 is made of", nullable=True),
    },
)

CLASS_PREDICTIONS = table(
    "predictions of classifiers",
    {
        "instance": column(pl.UInt32, description="the instance's id", unique=True),
        "probabilities": column(
            pl.List(pl.Float32),
            description="probability of each class, in the order of the dataset's labels",
            checks=Distribution,
        ),
    },
)

TARGET_PREDICTIONS = table(
    "predictions of target words",
    {
        "instance": column(pl.UInt32, description="the instance's id"),
        "target": column(pl.UInt16, description="0-based index of the word among the instance's target words"),
        "word": column(pl.Categorical, description="the target word"),
        "probability": column(
            pl.Float32,
            description="probability of the word at the mask: the product of those of its pieces",
            checks=Probability,
        ),
        "rank": column(
            pl.UInt32,
            description="1 + how many entries of the vocabulary are more probable than the word's first piece, where "
            "that was read",
        ),
        "pieces": column(pl.UInt8, description="how many tokens the word is made of"),
    },
    unique=["instance", "target"],
)

ANSWER_PREDICTIONS = table(
    "predictions of answers",
    {
        "instance": column(pl.UInt32, description="the instance's id", unique=True),
        "answer": column(pl.Categorical, description="text of the most probable span"),
        "probability": column(
            pl.Float32,
            description="probability of that span: of its start, times that of its end",
            checks=Probability,
        ),
    },
)
