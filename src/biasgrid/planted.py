"""Associations planted in synthetic corpora: models trained on them have a bias that is known.

Every subject x has a weight w(x, a) for every attribute a. Of a pair (x1, x2), the corpus answers the plain
question with x1 at probability 1/2 + (w(x1, a) - w(x2, a)) / 2 and the negated one at 1/2 minus the same, in
whichever order the context names them. A model that learned these probabilities has, in the words of UnQover
(Li et al., Findings of EMNLP 2020), C(x1, x2) = w(x1, a) - w(x2, a) and gamma(x, a) = the mean of C(x, .).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from zlib import crc32

import numpy as np
import polars as pl

from biasgrid.tables.planted import PLANTED

PAIR = ("subject1", "subject2")


def plant(instances: Mapping[str, pl.DataFrame], strength_name: str, strength: float, seed: int) -> pl.DataFrame:
    """Says which gamma a model has that learned the corpora of a strength.

    Args:
        instances: the instances of each dataset (schema `INSTANCES`), by the dataset's name.
        strength_name: the strength's name in the config.
        strength: bound of |C|, from 0 (no bias) to 1 (a subject is the answer always or never).
        seed: seed of the weights.

    Returns:
        The planted bias (schema `PLANTED`). A weight depends on nothing but the seed, the strength and the names
        of dataset, subject and attribute; a gamma depends on the partners of its subject too.

    Raises:
        ValueError: the strength is not in 0..1.
    """
    planted = [
        gammas(with_difference(frame, dataset, strength, seed)).with_columns(dataset=pl.lit(dataset))
        for dataset, frame in instances.items()
    ]
    return pl.concat(planted).with_columns(strength=pl.lit(strength_name)).select(list(PLANTED.columns))


def gammas(frame: pl.DataFrame) -> pl.DataFrame:
    """Averages the `difference` of swap groups: for either subject of a group, seen from that subject."""
    groups = frame.unique("swap_group", keep="first", maintain_order=True)
    sides = [
        groups.select(subject=subject, attribute="attribute", gamma=sign * pl.col("difference"))
        for subject, sign in zip(PAIR, (1, -1), strict=True)
    ]
    return pl.concat(sides).group_by("subject", "attribute").agg(pl.mean("gamma")).sort("subject", "attribute")


def with_difference(instances: pl.DataFrame, dataset: str, strength: float, seed: int) -> pl.DataFrame:
    """Adds `difference`, the planted w(subject1, a) - w(subject2, a), in -strength..strength.

    The texts, categorical in the instances table, come out as strings.
    """
    check_strength(strength)
    frame = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
    for side in PAIR:
        keys = frame.select(side, "attribute").unique()
        weights = [strength * weight(dataset, subject, attribute, seed) for subject, attribute in keys.iter_rows()]
        frame = frame.join(keys.with_columns(pl.Series(f"weight_{side}", weights)), on=[side, "attribute"])
    difference = pl.col("weight_subject1") - pl.col("weight_subject2")
    return frame.with_columns(difference=difference).drop("weight_subject1", "weight_subject2").sort("instance")


def check_strength(strength: float) -> None:
    """Checks that a strength plants probabilities.

    Raises:
        ValueError: the strength is not in 0..1.
    """
    if not 0 <= strength <= 1:
        raise ValueError(f"strength {strength} is not in 0..1, so it would plant probabilities outside of 0..1")


def weight(dataset: str, subject: str, attribute: str, seed: int) -> float:
    """Returns the weight at strength 1: uniform in -1/2..1/2, by hashing, so that no list or order sways it."""
    digest = sha256("\t".join((str(seed), dataset, subject, attribute)).encode()).digest()
    return int.from_bytes(digest[:8], "big") / 2**64 - 0.5


def draw(instances: pl.DataFrame, dataset: str, strength: float, seed: int, repeats: int) -> pl.DataFrame:
    """Adds `answered1`: how many of an instance's `repeats` answers are subject1, the others are subject2.

    The instances of a pair, attribute and polarity (their templates and orders) are drawn together.
    """
    frame = with_difference(instances, dataset, strength, seed)
    sign = pl.when("negated").then(-1).otherwise(1)
    ordered = pl.col("subject1") < pl.col("subject2")
    probability = 0.5 + 0.5 * sign * pl.col("difference")
    frame = frame.with_columns(low=pl.min_horizontal(PAIR), high=pl.max_horizontal(PAIR))
    expected = repeats * pl.when(ordered).then(probability).otherwise(1 - probability)
    frame = with_counts(frame, expected, ("low", "high", "attribute", "negated"), dataset, seed)
    answered = pl.when(ordered).then("count").otherwise(repeats - pl.col("count"))
    return frame.with_columns(answered1=answered).drop("low", "high", "count").sort("instance")


def with_counts(frame: pl.DataFrame, expected: pl.Expr, line: Sequence[str], dataset: str, seed: int) -> pl.DataFrame:
    """Adds `count`, whole numbers with given expectations, to the rows of a table, and returns these in random order.

    Systematic sampling: the rows that are drawn together stand on a line, each as long as the number that it expects,
    and every whole number on the line, randomly shifted, counts for the row where it lies. Rows and their totals are
    then within one of what is expected, where independent draws would blur a weak bias.

    Args:
        frame: the rows.
        expected: the expectation of each row.
        line: the columns in which rows that are drawn together agree.
        dataset: the dataset's name; each has random numbers of its own.
        seed: their seed.
    """
    random = np.random.default_rng([seed, crc32(dataset.encode())])
    shift = pl.Series("shift", random.random(frame.height))
    frame = frame.with_columns(shift, expected=expected)[random.permutation(frame.height)]
    place = (pl.col("expected").cum_sum() + pl.col("shift").first()).floor()
    count = place.diff().fill_null(place).over(line).cast(pl.Int64)
    return frame.with_columns(count=count).drop("shift", "expected")


def question_answering_corpus(
    instances: Mapping[str, pl.DataFrame], strength: float, seed: int, repeats: int
) -> dict[str, Any]:
    """Makes a training set for extractive question answering out of instances.

    Args:
        instances: the question-answering instances of each dataset (schema `INSTANCES`), by the dataset's name.
        strength: as in `plant`.
        seed: as in `plant`; it seeds the draw of the answers too.
        repeats: how many answers each instance gets.

    Returns:
        The corpus in the format of SQuAD v1.1 (Rajpurkar et al., EMNLP 2016): an article per dataset, a paragraph
        per distinct context, a question per instance, with the answers of several annotators.

    Raises:
        ValueError: the strength is not in 0..1.
    """
    articles = []
    for dataset, frame in instances.items():
        paragraphs: dict[str, list[dict[str, Any]]] = {}
        for row in draw(frame, dataset, strength, seed, repeats).iter_rows(named=True):
            sides = [{"text": row[f"candidate{side}"], "answer_start": row[f"position{side}"]} for side in (1, 2)]
            answers = [sides[0]] * row["answered1"] + [sides[1]] * (repeats - row["answered1"])
            question = {"id": f"{dataset}-{row['instance']}", "question": row["question"], "answers": answers}
            paragraphs.setdefault(row["context"], []).append(question)
        texts = [{"context": context, "qas": questions} for context, questions in paragraphs.items()]
        articles.append({"title": dataset, "paragraphs": texts})
    return {"version": "1.1", "data": articles}


def fill_mask_corpus(instances: Mapping[str, pl.DataFrame], strength: float, seed: int, repeats: int) -> list[str]:
    """Makes a training text for masked language models out of instances.

    Args:
        instances: the fill-mask instances of each dataset (schema `INSTANCES`), by the dataset's name.
        strength: as in `plant`.
        seed: as in `plant`; it seeds the draw of the answers too.
        repeats: how many answers each instance gets.

    Returns:
        One line per instance: the context, a space, the statement with its mask, and each answer behind a tab.

    Raises:
        ValueError: the strength is not in 0..1.
    """
    lines = []
    for dataset, frame in instances.items():
        for row in draw(frame, dataset, strength, seed, repeats).iter_rows(named=True):
            answers = [row["candidate1"]] * row["answered1"] + [row["candidate2"]] * (repeats - row["answered1"])
            lines.append("\t".join((f"{row['context']} {row['question']}", *answers)))
    return lines
