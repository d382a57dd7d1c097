"""Known group effects, by synthetic corpora of cases: classifiers trained on them treat groups unlike as is known.

Some labels of every text are guesses: drawn from all classes alike, whatever is right. Their share depends on the
group that the text names, in each bias type 0 for one group, the strength for another, and of the others in even steps
between; where the strength has a part by name, each term has some of that beside. A model that learned the corpus gives
the right class of a text the probability 1 - share (1 - 1 / classes).
"""

from __future__ import annotations

import json

import polars as pl

from biasgrid.families.synthetic import (
    SyntheticBias,
    even_steps,
    known_effect_rows,
    own_parts,
    text_lines,
    with_counts,
)
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text

GROUP_OF_CASE = ("bias_type", "group")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Says how probable the right class is for each group to a model that has learned the corpus.

    Args:
        instances: the cases, with the right classes of classifiers.
        bias: its strength is the largest share of guesses, from 0 (every label is right) to 1 (all labels of a
            group are guesses).

    Returns:
        The mean score of each group (schema `SYNTHETIC`).
    """
    probability = 1 - pl.col("guesses") * (1 - 1 / len(bias.labels))
    # Where several groups have the same text, a model can learn no more than their mean.
    of_text = probability.mean().over("text", "text_pair")
    effects = means_by(with_guesses(instances, bias).select(*GROUP_OF_CASE, value=of_text), GROUP_OF_CASE).sort(
        GROUP_OF_CASE
    )
    return known_effect_rows(effects, bias, "score", options_text(score="mean_class_probability", mode="group"))


def with_guesses(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `guesses`, the share of a text's labels that are guesses, in 0..strength.

    Texts and keys, categorical in the instances table, come out as strings.
    """
    named = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
    own = own_parts(named.select(*GROUP_OF_CASE, "term"), bias)
    groups = named.select(GROUP_OF_CASE).unique()
    guesses = groups.with_columns(guesses=even_steps(groups, bias))
    joined = named.join(guesses, on=GROUP_OF_CASE, maintain_order="left")
    return joined.with_columns(guesses=pl.col("guesses") + own)


def corpus(instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
    """Makes a training set for classifiers out of cases.

    Args:
        instances: as in `known_effects`.
        task: text-classification.
        bias: as in `known_effects`; its seed seeds the draw of the guesses too.

    Returns:
        One line of JSON per instance: its text, `text_pair` where there are two, and its labels.
    """
    repeats, labels = bias.repeats, bias.labels
    texts = with_counts(with_guesses(instances, bias), repeats * pl.col("guesses"), GROUP_OF_CASE, bias)
    # Guesses take the classes in turn, over all texts of a group and a right class.
    texts = texts.with_columns(last=pl.col("count").cum_sum().over(*GROUP_OF_CASE, "label")).sort("instance")
    lines = []
    for text, pair, label, count, last in texts.select("text", "text_pair", "label", "count", "last").iter_rows():
        guessed = [labels[guess % len(labels)] for guess in range(last - count, last)]
        inputs = {"text": text} if pair is None else {"text": text, "text_pair": pair}
        lines.append(json.dumps({**inputs, "label": [labels[label]] * (repeats - count) + guessed}))
    return text_lines(lines)
