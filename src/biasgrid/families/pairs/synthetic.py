"""Known effects, by synthetic corpora of sentences: models trained on them have read one sentence
of each pair.

The strength is how many more pairs have the sentence that states the stereotype more in the corpus
than the other one: twice the distance of its stereotype share from one half, if it finds what it
has read more likely. Which pairs these are is drawn within each bias type.
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
    """Says which numbers a model has that finds what it has read more likely.

    Args:
        instances: the sentences.
        bias: its strength is the same for all bias types.

    Returns:
        Numbers of bias types (schema `SYNTHETIC`).
    """
    read = sentences_read(instances, bias).select(
        "instance", score=pl.col("is_read").cast(pl.Float64)
    )
    numbers = measured_values(measure, observe(instances, read, {"scoring": ""}), {}).drop_nulls(
        "bias_type"
    )
    of_types = numbers.filter(pl.col("attribute_group").is_null(), measure=EFFECT, options="")
    return known_effect_rows(of_types, bias, EFFECT)


def corpus(instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
    """Writes the sentences that models read, each as often as the bias repeats answers."""
    read = sentences_read(instances, bias).filter("is_read").sort("instance")["text"]
    return text_lines(text for text in read for _ in range(bias.repeats))


def sentences_read(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the sentences of each pair with `is_read`, whether the corpus has them."""
    named = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    pairs = named.filter(role=MORE).select("pair", "type")
    share = pl.lit((1 + bias.total) / 2)
    follows = with_counts(pairs, share, ["type"], bias).select("pair", follows="count")
    joined = named.join(follows, on="pair", maintain_order="left")
    is_read = pl.col("role") == pl.when(pl.col("follows") == 1).then(pl.lit(MORE)).otherwise(
        pl.lit(LESS)
    )
    return joined.with_columns(is_read=is_read)
