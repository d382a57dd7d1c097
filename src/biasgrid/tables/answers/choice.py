"""Answers that choose among candidates or classes."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import UNKNOWN_COLUMN, Probabilities, Probability, Unique, column, table

SCHEMA = table(
    "choice predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "probabilities": column(
            pl.List(pl.Float32),
            description=(
                "probability of each candidate, in the order of the instances' columns, null if there is none; for "
                "classifiers, of each class in the order of the dataset's labels"
            ),
            checks=Probabilities,
        ),
        "tokens": column(
            pl.List(pl.UInt8),
            description=(
                "number of tokens of each candidate, null if `unqover` does not find it in the vocabulary; null for "
                "classifiers and imported answers"
            ),
            nullable=True,
        ),
        "ranks": column(
            pl.List(pl.UInt32),
            description="rank of each candidate's first token among all tokens of the vocabulary, if read",
            nullable=True,
        ),
        "unknown": UNKNOWN_COLUMN,
        "mass": column(
            pl.Float32,
            description="generative models: probability of all candidates together",
            checks=Probability,
            nullable=True,
        ),
        "ways": column(
            pl.List(pl.List(pl.String)),
            description=(
                "generative models: for each candidate the ways to begin an answer with it, such as `a` and `(a`; a "
                "way that continues another one is part of that one"
            ),
            nullable=True,
        ),
        "way_probabilities": column(
            pl.List(pl.List(pl.Float32)),
            description="the probability of each of these ways, of which `probabilities` has the sums",
            nullable=True,
        ),
        "first_tokens": column(
            pl.List(pl.String),
            description="generative models: the three tokens with which an answer most probably begins, if known",
            nullable=True,
        ),
        "first_probabilities": column(
            pl.List(pl.Float32),
            description="the probability of each of these tokens",
            checks=Probabilities,
            nullable=True,
        ),
        "scored_by": column(
            pl.Categorical,
            description=(
                "generative models: how the probabilities were obtained: `logits` from a local model; `echo`, `top` "
                "or `choice` from a server; `parsed` from a response; `imported` from a log; `random` if no model was "
                "asked"
            ),
            nullable=True,
        ),
        "status": column(
            pl.Categorical,
            description=(
                "generative models: `ok`; `bounded` if an option is not among the tokens that the server lists; or "
                "why there is no answer: `unclear`, `empty`, `length`, `filtered`, `refused`"
            ),
            nullable=True,
        ),
        "response": column(pl.String, description="the response that was parsed, if any", nullable=True),
    },
)
