"""Group effects planted in synthetic corpora of cases: classifiers trained on them treat groups unlike as is known.

Some labels of every text are guesses: drawn from all classes alike, whatever is right. Their share depends on the
group that the text names and on nothing else. In each bias type it is 0 for one group, the strength for another, and
of the others in even steps between. A model that learned the corpus gives the right class of a text the probability
1 - share (1 - 1 / classes).
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl

from biasgrid.planted import check_strength, weight, with_counts
from biasgrid.tables.planted import PLANTED_GROUPS

GROUP = ("bias_type", "group")


def plant_groups(
    cases: pl.DataFrame, dataset: str, classes: int, strength_name: str, strength: float, seed: int
) -> pl.DataFrame:
    """Says how probable the right class is for each group to a model that has learned the corpus of a strength.

    Args:
        cases: the cases (schema `CASES`), with the right classes of classifiers.
        dataset: the dataset's name.
        classes: how many classes there are.
        strength_name: the strength's name in the config.
        strength: largest share of guesses, from 0 (every label is right) to 1 (all labels of a group are guesses).
        seed: seed of the order of the groups.

    Returns:
        The planted effects (schema `PLANTED_GROUPS`).

    Raises:
        ValueError: the strength is not in 0..1.
    """
    probability = 1 - pl.col("guesses") * (1 - 1 / classes)
    # Where a text stands for several groups, a model can learn no more than their mean.
    of_text = probability.mean().over("text", "text_pair")
    effects = with_guesses(cases, dataset, strength, seed).select(*GROUP, probability=of_text).group_by(GROUP).mean()
    named = effects.with_columns(strength=pl.lit(strength_name), dataset=pl.lit(dataset))
    return named.select(list(PLANTED_GROUPS.columns)).sort(GROUP)


def with_guesses(cases: pl.DataFrame, dataset: str, strength: float, seed: int) -> pl.DataFrame:
    """Adds `guesses`, the share of a text's labels that are guesses, in 0..strength.

    Bias types and groups, categorical in the table of cases, come out as strings.
    """
    check_strength(strength)
    named = cases.with_columns(pl.col(GROUP).cast(pl.String))
    groups = named.select(GROUP).unique()
    order = [weight(dataset, group, bias_type, seed) for bias_type, group in groups.iter_rows()]
    step = (pl.col("order").rank() - 1).over("bias_type") / (pl.len().over("bias_type") - 1)
    guesses = groups.with_columns(order=pl.Series(order)).select(*GROUP, guesses=strength * step)
    return named.join(guesses, on=GROUP, maintain_order="left")


def classification_corpus(
    cases: pl.DataFrame, labels: Sequence[str], dataset: str, strength: float, seed: int, repeats: int
) -> list[str]:
    """Makes a training set for classifiers out of cases.

    Args:
        cases: as in `plant_groups`.
        labels: the names of the classes, in their order.
        dataset: the dataset's name.
        strength: as in `plant_groups`.
        seed: as in `plant_groups`; it seeds the draw of the guesses too.
        repeats: how many labels each instance gets.

    Returns:
        One line of JSON per instance: its text, `text_pair` where there are two, and its labels.

    Raises:
        ValueError: the strength is not in 0..1.
    """
    frame = with_guesses(cases, dataset, strength, seed)
    frame = with_counts(frame, repeats * pl.col("guesses"), GROUP, dataset, seed)
    # Guesses take the classes in turn, over all texts of a group and a right class.
    frame = frame.with_columns(last=pl.col("count").cum_sum().over(*GROUP, "label")).sort("instance")
    lines = []
    for text, pair, label, count, last in frame.select("text", "text_pair", "label", "count", "last").iter_rows():
        guessed = [labels[guess % len(labels)] for guess in range(last - count, last)]
        inputs = {"text": text} if pair is None else {"text": text, "text_pair": pair}
        lines.append(json.dumps({**inputs, "label": [labels[label]] * (repeats - count) + guessed}))
    return lines
