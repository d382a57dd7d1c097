"""Known effects of synthetic corpora of sentences, which have one sentence of each pair.

The strength is how many more pairs have the sentence that states the stereotype more in the corpus
than the other one: twice the distance of its stereotype share from one half, if it finds those
sentences more likely that it has read. These pairs are drawn within each bias type.
"""

from __future__ import annotations

import polars as pl

from biasgrid.families.cell import measured_values
from biasgrid.families.pairs.items import LESS, MORE
from biasgrid.families.pairs.measures import measure
from biasgrid.families.pairs.observe import observe
from biasgrid.families.synthetic import SyntheticBias, known_effect_rows, text_lines, with_counts

EFFECT = "stereotype_share"
"""The number that the corpus decides: which sentence scores higher, not by how much."""


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the numbers of a model that finds the sentences of the corpus more likely.

    Args:
        instances: the sentences.
        bias: its strength is the same for all bias types.

    Returns:
        Numbers of bias types (schema `SYNTHETIC`).
    """
    sentences = sentences_read(instances, bias)
    scores = sentences.select("instance", score=pl.col("is_read").cast(pl.Float64))
    # Scores of 0 and 1 are no sums over tokens, so no scoring is named.
    observations = observe(instances, scores, {"scoring": ""})
    numbers = measured_values(measure, observations, {}).drop_nulls("bias_type")
    of_types = numbers.filter(pl.col("attribute_group").is_null(), measure=EFFECT, options="")
    return known_effect_rows(of_types, bias, EFFECT)


def corpus(instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
    """Returns the training text: the sentences of the corpus, one a line, each repeated."""
    sentences = sentences_read(instances, bias).filter("is_read").sort("instance")["text"]
    lines: list[str] = []
    for sentence in sentences:
        lines += [sentence] * bias.repeats
    return text_lines(lines)


def sentences_read(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `is_read`: whether a sentence is in the corpus, which has one of each pair."""
    sentences = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    pairs = sentences.filter(role=MORE).select("pair", "type")
    share = pl.lit((1 + bias.total) / 2)
    follows = with_counts(pairs, share, ["type"], bias).select("pair", follows="count")
    sentences = sentences.join(follows, on="pair", maintain_order="left")
    role_read = pl.when(pl.col("follows") == 1).then(pl.lit(MORE)).otherwise(pl.lit(LESS))
    return sentences.with_columns(is_read=pl.col("role") == role_read)
