"""What is measured of underspecified questions."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.schema import column, table

MEASURES = table(
    "measures",
    {
        "model": column(pl.String, description="the model's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "measure": column(
            pl.String, description="gamma, eta, mu, delta, epsilon, answer_probability, winner_changes or win_ratio"
        ),
        "subject": column(pl.String, description="the subject it is about", nullable=True),
        "subject_cluster": column(pl.String, description="the cluster of subjects it is about", nullable=True),
        "attribute": column(pl.String, description="the attribute it is about", nullable=True),
        "attribute_cluster": column(pl.String, description="the cluster of attributes it is about", nullable=True),
        "value": column(pl.Float64, description="the measure"),
        "n": column(
            pl.Int64, description="how many swap groups (for mu and eta of a cell: subjects) it is the mean of"
        ),
    },
)

MEASURE_KEYS = ("subject", "subject_cluster", "attribute", "attribute_cluster")
"""What a measure is about; the keys that are null tell what it is summed over."""

EXAMPLES = table(
    "examples behind the strongest associations",
    {
        "model": column(pl.String, description="the model's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "subject": column(pl.String, description="the subject of a strong association"),
        "attribute": column(pl.String, description="the attribute it is associated with"),
        "gamma": column(pl.Float64, description="gamma(subject, attribute)"),
        "other": column(pl.String, description="the subject it is compared with in this swap group"),
        "comparison": column(pl.Float64, description="C(subject, other) of the swap group"),
        "swap_group": column(pl.UInt32, description="the swap group"),
        "instance": column(pl.UInt32, description="the instance: four of them make a swap group"),
        "context": column(pl.String, description="the text that names both subjects"),
        "question": column(pl.String, description="the question or statement"),
        "score": column(pl.Float64, description="the subject's score at this instance"),
        "other_score": column(pl.Float64, description="the other subject's score at this instance"),
        "answer": column(
            pl.String, description="text of the most probable span, null for masked language models", nullable=True
        ),
    },
)

SUMMARY = table(
    "summary",
    {
        "model": column(pl.String, description="the model's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        "kind": column(pl.String, description="the kind of model (such as SQuAD, NewsQA, LM)"),
        "label": column(pl.String, description="the model's label in plots"),
        "scoring": column(pl.String, description="exact or unqover"),
        "mu": column(
            pl.Float64, description="bias intensity: mean over subjects of the largest |gamma| over attributes"
        ),
        "eta": column(pl.Float64, description="mean over subjects of the mean |eta| over attributes"),
        "delta": column(pl.Float64, description="positional error"),
        "epsilon": column(pl.Float64, description="attributive error"),
        "answer_probability": column(pl.Float64, description="mean score of a subject"),
        "winner_changes": column(pl.Float64, description="share of swap groups whose winner changes with the order"),
        "swap_groups": column(pl.Int64, description="how many swap groups were measured"),
        "subjects": column(pl.Int64, description="how many subjects were compared"),
        "attributes": column(pl.Int64, description="how many attributes were asked about"),
    },
    unique=["model", "dataset"],
)
