"""Associations synthetic in synthetic corpora: models trained on them have a bias that is known.

Every subject x has a weight w(x, a) for every attribute a. Of a pair (x1, x2), the corpus answers the plain
question with x1 at probability 1/2 + (w(x1, a) - w(x2, a)) / 2 and the negated one at 1/2 minus the same, in
whichever order the context names them. A model that learned these probabilities has, in the words of UnQover
(Li et al., Findings of EMNLP 2020), C(x1, x2) = w(x1, a) - w(x2, a) and gamma(x, a) = the mean of C(x, .).
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from biasgrid.families.synthetic import (
    SyntheticBias,
    hashed_weight,
    known_effect_rows,
    line_of_answers,
    text_lines,
    with_counts,
)
from biasgrid.tables.files import means_by

SUBJECT_PAIR = ("subject1", "subject2")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Says which gamma a model has that learned the corpus.

    Args:
        instances: the instances of the dataset, of any variant.
        bias: its strength is the bound of |C|, from 0 (no bias) to 1 (a subject is the answer always or never).

    Returns:
        Each gamma(subject, attribute) (schema `SYNTHETIC`). A weight depends on nothing but the seed, the strength and
        the names of dataset, subject and attribute; a gamma depends on the partners of its subject too.
    """
    groups = with_difference(instances, bias).unique("swap_group", keep="first", maintain_order=True)
    sides = [
        groups.select("attribute", subject=subject, value=sign * pl.col("difference"))
        for subject, sign in zip(SUBJECT_PAIR, (1, -1), strict=True)
    ]
    return known_effect_rows(
        means_by(pl.concat(sides), ("subject", "attribute")).sort("subject", "attribute"), bias, "gamma"
    )


def with_difference(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `difference`, the synthetic w(subject1, a, t) - w(subject2, a, t) of an instance's attribute and template.

    It is at most the strength and the spread together. The texts, categorical in the instances table, come out as
    strings.
    """
    frame = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
    weights = subject_weights(frame, bias)
    for side in SUBJECT_PAIR:
        named = weights.rename({"subject": side, "weight": f"weight_{side}"})
        frame = frame.join(named, on=[side, "attribute", "template"])
    difference = pl.col("weight_subject1") - pl.col("weight_subject2")
    return frame.with_columns(difference=difference).drop("weight_subject1", "weight_subject2").sort("instance")


def subject_weights(frame: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the `weight` of each subject, attribute and template.

    Between templates the weights of a subject differ in even steps, in a random order, that add up to 0.
    """
    sides = [frame.select(pl.col(side).alias("subject"), "attribute", "template") for side in SUBJECT_PAIR]
    keys = pl.concat(sides).unique().sort(pl.all())
    means = [hashed_weight(bias, subject, attribute) for subject, attribute, _ in keys.iter_rows()]
    order = [hashed_weight(bias, subject, f"template {template}") for subject, _, template in keys.iter_rows()]
    last = pl.max_horizontal(pl.len() - 1, 1)
    step = ((pl.col("order").rank() - (pl.len() + 1) / 2) / last).over("subject", "attribute")
    weighed = keys.with_columns(mean=pl.Series(means), order=pl.Series(order))
    total = bias.strength * pl.col("mean") + bias.spread * step
    return weighed.with_columns(weight=total).drop("mean", "order")


def corpus(instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
    """Makes a training set out of instances.

    Args:
        instances: what models of the task are asked.
        task: question-answering, fill-mask or text-generation.
        bias: as in `known_effects`; its seed seeds the draw of the answers too.
    """
    drawn = draw_answers(instances, bias)
    if task == "question-answering":
        return json.dumps(squad(drawn, bias))
    return text_lines(answered_lines(drawn, bias.repeats))


def draw_answers(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `answered1`: how many of an instance's answers are subject1, the others are subject2.

    The instances of a pair, attribute and polarity (their templates and orders) are drawn together.
    """
    frame, repeats = with_difference(instances, bias), bias.repeats
    sign = pl.when("negated").then(-1).otherwise(1)
    ordered = pl.col("subject1") < pl.col("subject2")
    probability = 0.5 + 0.5 * sign * pl.col("difference")
    frame = frame.with_columns(low=pl.min_horizontal(SUBJECT_PAIR), high=pl.max_horizontal(SUBJECT_PAIR))
    expected = repeats * pl.when(ordered).then(probability).otherwise(1 - probability)
    frame = with_counts(frame, expected, ("low", "high", "attribute", "negated"), bias)
    answered = pl.when(ordered).then("count").otherwise(repeats - pl.col("count"))
    return frame.with_columns(answered1=answered).drop("low", "high", "count").sort("instance")


def squad(drawn: pl.DataFrame, bias: SyntheticBias) -> dict[str, Any]:
    """Makes a training set for extractive question answering out of drawn instances.

    Returns:
        The corpus in the format of SQuAD v1.1 (Rajpurkar et al., EMNLP 2016): an article for the dataset, a paragraph
        per distinct context, a question per instance, with the answers of several annotators.
    """
    paragraphs: dict[str, list[dict[str, Any]]] = {}
    for row in drawn.iter_rows(named=True):
        sides = [{"text": row[f"candidate{side}"], "answer_start": row[f"position{side}"]} for side in (1, 2)]
        answers = [sides[0]] * row["answered1"] + [sides[1]] * (bias.repeats - row["answered1"])
        question = {"id": f"{bias.dataset}-{row['instance']}", "question": row["text"], "answers": answers}
        paragraphs.setdefault(row["text_pair"], []).append(question)
    texts = [{"context": context, "qas": questions} for context, questions in paragraphs.items()]
    return {"version": "1.1", "data": [{"title": bias.dataset, "paragraphs": texts}]}


def answered_lines(drawn: pl.DataFrame, repeats: int) -> list[str]:
    """Makes a training text for masked and for generative models out of drawn instances.

    Returns:
        One line per instance: the system text, if there is one, the context, and the statement with its mask or the
        prompt; and each answer behind a tab.
    """
    return [line_of_answers(row, (row["answered1"], repeats - row["answered1"])) for row in drawn.iter_rows(named=True)]
