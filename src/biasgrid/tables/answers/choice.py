"""Answers that choose among candidates or classes."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.answers import UNKNOWN
from biasgrid.tables.schema import Probabilities, Probability, Unique, column, table

SCHEMA = table(
    "choice predictions",
    {
        "instance": column(pl.UInt32, description="the instance's id", checks=Unique),
        "key": column(pl.UInt64, description="the instance's key"),
        "probabilities": column(
            pl.List(pl.Float32),
            description="probability of each candidate, in the order of the instances' columns, null where an instance "
            "has no such candidate; of classifiers that of each class, in the order of the dataset's labels",
            checks=Probabilities,
        ),
        "pieces": column(
            pl.List(pl.UInt8),
            description="how many tokens each candidate is made of, null where that is not known (of what the scoring "
            "`unqover` does not find in the vocabulary); null for classifiers and imported answers",
            nullable=True,
        ),
        "ranks": column(
            pl.List(pl.UInt32),
            description="1 + how many entries of the vocabulary are more probable than the candidate's first piece, "
            "where that was read; null for classifiers and imported answers",
            nullable=True,
        ),
        "unknown": UNKNOWN,
        "mass": column(
            pl.Float32,
            description="probability of all candidates together: how much of 1 was found; null for models that write "
            "no text",
            checks=Probability,
            nullable=True,
        ),
        "scored_by": column(
            pl.Categorical,
            description="how a model that writes text was asked: `logits` of all tokens, of a model on this machine; "
            "`echo`, `top` or `choice` of a server; `parsed`, the option was read in a response; `random` where nobody "
            "was asked; null for others",
            nullable=True,
        ),
        "status": column(
            pl.Categorical,
            description="how it has answered: `ok`; `bounded` where an option is not among the tokens that it "
            "lists; or why there is no answer: `unclear`, `empty`, `length`, `filtered`, `refused`; null for others",
            nullable=True,
        ),
        "response": column(
            pl.String, description="the response that was parsed; null where none was asked for", nullable=True
        ),
    },
)
