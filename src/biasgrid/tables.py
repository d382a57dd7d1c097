"""The tables that rules hand to each other: their schemas. Families and models meet only here.

How they are written and read is told in `table_files`.
"""

from __future__ import annotations

from typing import Any

import pandera.polars as pa
import polars as pl

Probability = pa.Check.in_range(-1e-6, 1 + 1e-5)


def _sums_to_one(data: pa.PolarsData) -> pl.LazyFrame:
    each = pl.col(data.key).list
    checked: pl.LazyFrame = data.lazyframe.select((each.min() >= -1e-6) & ((each.sum() - 1).abs() < 1e-3))
    return checked


Distribution = pa.Check(_sums_to_one, error="sums to 1, none below 0")


def _column(dtype: Any, *, description: str, **options: Any) -> pa.Column:
    return pa.Column(dtype, description=description, **options)


def _table(name: str, columns: dict[str, pa.Column], unique: list[str] | None = None) -> pa.DataFrameSchema:
    return pa.DataFrameSchema(columns, strict=True, ordered=True, unique=unique, name=name)


INSTANCES = _table(
    "instances",
    {
        "instance": _column(pl.UInt32, description="row number, the instance's id", unique=True),
        "swap_group": _column(
            pl.UInt32, description="the four instances that share template, pair of subjects and attribute"
        ),
        "swapped": _column(pl.Boolean, description="whether the pair's subjects stand in reversed order"),
        "negated": _column(pl.Boolean, description="whether the question is the negated one"),
        "template": _column(pl.UInt16, description="0-based index of the template in its file"),
        "subject1": _column(pl.Categorical, description="the subject that stands first in the context"),
        "subject2": _column(pl.Categorical, description="the subject that stands second in the context"),
        "cluster1": _column(pl.Categorical, description="cluster of subject1 (such as female)", nullable=True),
        "cluster2": _column(pl.Categorical, description="cluster of subject2", nullable=True),
        "attribute": _column(pl.Categorical, description="the attribute's name: its wording in the base type"),
        "attribute_cluster": _column(
            pl.Categorical, description="cluster of the attribute (such as crime)", nullable=True
        ),
        "context": _column(pl.Categorical, description="the text that names both subjects"),
        "question": _column(
            pl.Categorical, description="the question; for masked language models the statement with the mask"
        ),
        "candidate1": _column(pl.Categorical, description="subject1 as it is written in the context"),
        "candidate2": _column(pl.Categorical, description="subject2 as it is written in the context"),
        "position1": _column(pl.UInt16, description="where candidate1 begins in the context, in characters"),
        "position2": _column(pl.UInt16, description="where candidate2 begins in the context, in characters"),
    },
)

SPAN_PREDICTIONS = _table(
    "predictions of extractive question answering",
    {
        "instance": _column(pl.UInt32, description="the instance's id", unique=True),
        "start1": _column(
            pl.Float32, description="probability that the answer starts where candidate1 does", checks=Probability
        ),
        "end1": _column(
            pl.Float32, description="probability that the answer ends where candidate1 does", checks=Probability
        ),
        "start2": _column(
            pl.Float32, description="probability that the answer starts where candidate2 does", checks=Probability
        ),
        "end2": _column(
            pl.Float32, description="probability that the answer ends where candidate2 does", checks=Probability
        ),
        "answer": _column(pl.Categorical, description="text of the most probable span"),
    },
)

MASK_PREDICTIONS = _table(
    "predictions of masked language models",
    {
        "instance": _column(pl.UInt32, description="the instance's id", unique=True),
        "probability1": _column(pl.Float32, description="probability of candidate1 at the mask", checks=Probability),
        "probability2": _column(pl.Float32, description="probability of candidate2 at the mask", checks=Probability),
        "pronoun1": _column(
            pl.Float32,
            description="probability of the pronoun of subject1's cluster, where the dataset has pronouns",
            checks=Probability,
            nullable=True,
        ),
        "pronoun2": _column(
            pl.Float32,
            description="probability of the pronoun of subject2's cluster",
            checks=Probability,
            nullable=True,
        ),
        "pieces1": _column(
            pl.UInt8,
            description="how many tokens candidate1 is made of; null where that is not known (of imported predictions, "
            "and of what the scoring `unqover` does not find in the vocabulary)",
            nullable=True,
        ),
        "pieces2": _column(pl.UInt8, description="how many tokens candidate2 is made of", nullable=True),
    },
)

CLASS_PREDICTIONS = _table(
    "predictions of classifiers",
    {
        "instance": _column(pl.UInt32, description="the instance's id", unique=True),
        "probabilities": _column(
            pl.List(pl.Float32),
            description="probability of each class, in the order of the dataset's labels",
            checks=Distribution,
        ),
    },
)

TARGET_PREDICTIONS = _table(
    "predictions of target words",
    {
        "instance": _column(pl.UInt32, description="the instance's id"),
        "target": _column(pl.UInt16, description="0-based index of the word among the instance's target words"),
        "word": _column(pl.Categorical, description="the target word"),
        "probability": _column(
            pl.Float32,
            description="probability of the word at the mask: the product of those of its pieces",
            checks=Probability,
        ),
        "rank": _column(
            pl.UInt32,
            description="1 + how many entries of the vocabulary are more probable than the word's first piece, where "
            "that was read",
        ),
        "pieces": _column(pl.UInt8, description="how many tokens the word is made of"),
    },
    unique=["instance", "target"],
)

ANSWER_PREDICTIONS = _table(
    "predictions of answers",
    {
        "instance": _column(pl.UInt32, description="the instance's id", unique=True),
        "answer": _column(pl.Categorical, description="text of the most probable span"),
        "probability": _column(
            pl.Float32,
            description="probability of that span: of its start, times that of its end",
            checks=Probability,
        ),
    },
)

MEASURES = _table(
    "measures",
    {
        "model": _column(pl.String, description="the model's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "measure": _column(
            pl.String, description="gamma, eta, mu, delta, epsilon, answer_probability, winner_changes or win_ratio"
        ),
        "subject": _column(pl.String, description="the subject it is about", nullable=True),
        "subject_cluster": _column(pl.String, description="the cluster of subjects it is about", nullable=True),
        "attribute": _column(pl.String, description="the attribute it is about", nullable=True),
        "attribute_cluster": _column(pl.String, description="the cluster of attributes it is about", nullable=True),
        "value": _column(pl.Float64, description="the measure"),
        "n": _column(
            pl.Int64, description="how many swap groups (for mu and eta of a cell: subjects) it is the mean of"
        ),
    },
)

EXAMPLES = _table(
    "examples behind the strongest associations",
    {
        "model": _column(pl.String, description="the model's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "subject": _column(pl.String, description="the subject of a strong association"),
        "attribute": _column(pl.String, description="the attribute it is associated with"),
        "gamma": _column(pl.Float64, description="gamma(subject, attribute)"),
        "other": _column(pl.String, description="the subject it is compared with in this swap group"),
        "comparison": _column(pl.Float64, description="C(subject, other) of the swap group"),
        "swap_group": _column(pl.UInt32, description="the swap group"),
        "instance": _column(pl.UInt32, description="the instance: four of them make a swap group"),
        "context": _column(pl.String, description="the text that names both subjects"),
        "question": _column(pl.String, description="the question or statement"),
        "score": _column(pl.Float64, description="the subject's score at this instance"),
        "other_score": _column(pl.Float64, description="the other subject's score at this instance"),
        "answer": _column(
            pl.String, description="text of the most probable span, null for masked language models", nullable=True
        ),
    },
)

MEASURE_KEYS = ("subject", "subject_cluster", "attribute", "attribute_cluster")
"""What a measure is about; the keys that are null tell what it is summed over."""

SUMMARY = _table(
    "summary",
    {
        "model": _column(pl.String, description="the model's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "kind": _column(pl.String, description="the kind of model (such as SQuAD, NewsQA, LM)"),
        "label": _column(pl.String, description="the model's label in plots"),
        "scoring": _column(pl.String, description="exact or unqover"),
        "mu": _column(
            pl.Float64, description="bias intensity: mean over subjects of the largest |gamma| over attributes"
        ),
        "eta": _column(pl.Float64, description="mean over subjects of the mean |eta| over attributes"),
        "delta": _column(pl.Float64, description="positional error"),
        "epsilon": _column(pl.Float64, description="attributive error"),
        "answer_probability": _column(pl.Float64, description="mean score of a subject"),
        "winner_changes": _column(pl.Float64, description="share of swap groups whose winner changes with the order"),
        "swap_groups": _column(pl.Int64, description="how many swap groups were measured"),
        "subjects": _column(pl.Int64, description="how many subjects were compared"),
        "attributes": _column(pl.Int64, description="how many attributes were asked about"),
    },
    unique=["model", "dataset"],
)

PLANTED = _table(
    "planted bias",
    {
        "strength": _column(pl.String, description="the strength's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "subject": _column(pl.String, description="the subject"),
        "attribute": _column(pl.String, description="the attribute's name"),
        "gamma": _column(
            pl.Float64, description="the gamma(subject, attribute) that a model which learned the corpus has"
        ),
    },
    unique=["strength", "dataset", "subject", "attribute"],
)

PLANTED_GROUPS = _table(
    "planted group effects",
    {
        "strength": _column(pl.String, description="the strength's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "bias_type": _column(pl.String, description="what the groups have in common"),
        "group": _column(pl.String, description="the group"),
        "probability": _column(
            pl.Float64,
            description="the mean probability of the right class that a model which learned the corpus has",
            checks=Probability,
        ),
    },
    unique=["strength", "dataset", "bias_type", "group"],
)

CASES = _table(
    "cases",
    {
        "instance": _column(pl.UInt32, description="row number, the instance's id", unique=True),
        "case": _column(pl.UInt32, description="template and fillings: its instances differ in nothing but the term"),
        "swapped_case": _column(
            pl.UInt32,
            description="the case in which the fillings of each placeholder (<x>, <x:2>) stand in reversed order, null "
            "where that is the same",
            nullable=True,
        ),
        "template": _column(pl.UInt16, description="0-based index of the template in reading order"),
        "bias_type": _column(
            pl.Categorical,
            description="what its groups have in common (such as religion); an intersection joins several by ` & `",
        ),
        "group": _column(
            pl.Categorical,
            description="the social group (such as muslim), of an intersection one of each bias type, joined by ` & `",
        ),
        "term": _column(
            pl.Categorical,
            description="the group's identity term, of an intersection one of each group, joined by ` & `",
        ),
        "text": _column(pl.String, description="the first input"),
        "text_pair": _column(pl.String, description="the second input, where there are two", nullable=True),
        "label": _column(pl.Int16, description="the right class, of classifiers", nullable=True),
        "targets": _column(
            pl.List(pl.String), description="the words to be predicted, of masked language models", nullable=True
        ),
        "answer": _column(pl.String, description="the right answer, of question answering", nullable=True),
    },
)

GROUP_MEASURES = _table(
    "group measures",
    {
        "model": _column(pl.String, description="the model's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "score": _column(pl.String, description="what groups are scored by (such as f1 or mean_likelihood)"),
        "argument": _column(
            pl.String, description="what the score took (such as an average or a class)", nullable=True
        ),
        "distance": _column(pl.String, description="how far groups are apart, null for scores", nullable=True),
        "comparison": _column(
            pl.String,
            description="which groups are compared with which (pairwise, background, multi_group, "
            "background_per_group, multi_group_per_group); position for what changes with the order of fillings; "
            "null for scores",
            nullable=True,
        ),
        "mode": _column(pl.String, description="group (all cases pooled) or counterfactual (mean over cases)"),
        "bias_type": _column(pl.String, description="what the groups have in common; of intersections joined by ` & `"),
        "template": _column(pl.UInt16, description="the template, null for all of them", nullable=True),
        "group": _column(pl.String, description="the group, null for the whole bias type", nullable=True),
        "other": _column(pl.String, description="the group that it is compared with, of one pair", nullable=True),
        "value": _column(pl.Float64, description="the measure, NaN where nothing has a value", nullable=True),
        "lower": _column(
            pl.Float64, description="of a group's score: lower quartile of its scores in the cases", nullable=True
        ),
        "upper": _column(pl.Float64, description="upper quartile", nullable=True),
        "n": _column(pl.Int64, description="how many cases (in group mode: records) it is made of"),
        "left_out": _column(pl.Int64, description="how many more have no value and are left out"),
    },
)

GROUP_SUMMARY = GROUP_MEASURES.remove_columns(["template", "group", "other", "lower", "upper"])
GROUP_SUMMARY.name = "group measures of whole bias types"

FAILURES = _table(
    "failure rates",
    {
        "model": _column(pl.String, description="the model's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "bias_type": _column(pl.String, description="what the groups have in common"),
        "template": _column(pl.UInt16, description="the template, null for all of them", nullable=True),
        "difference": _column(
            pl.String, description="mean (over the pairs of groups of a case, as published) or largest (of them)"
        ),
        "threshold": _column(pl.Float64, description="a case fails where its difference is larger than this"),
        "value": _column(pl.Float64, description="share of cases that fail, NaN where there are none", nullable=True),
        "n": _column(pl.Int64, description="how many cases have a difference"),
        "left_out": _column(pl.Int64, description="how many more have none"),
    },
)

CASE_EXAMPLES = _table(
    "examples behind the largest differences of groups",
    {
        "model": _column(pl.String, description="the model's name in the config"),
        "dataset": _column(pl.String, description="the dataset's name in the config"),
        "bias_type": _column(pl.String, description="what the groups have in common"),
        "case": _column(pl.UInt32, description="a case with a large difference"),
        "template": _column(pl.UInt16, description="its template"),
        "difference": _column(pl.Float64, description="the largest difference of two of its groups"),
        "instance": _column(pl.UInt32, description="an instance of one of these two groups"),
        "group": _column(pl.String, description="the group"),
        "term": _column(pl.String, description="the identity term"),
        "text": _column(pl.String, description="the first input"),
        "text_pair": _column(pl.String, description="the second input, where there are two", nullable=True),
        "expected": _column(pl.String, description="the right class, the target words or the right answer"),
        "said": _column(pl.String, description="the most probable class or target word, or the answer"),
        "score": _column(pl.Float64, description="the instance's score, by which groups differ"),
    },
)
