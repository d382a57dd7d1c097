"""Known effects: models are trained on a corpus whose answers follow the stereotype in some items.

The strength is the share of items whose answer is the option that agrees with the stereotype,
whatever the context says; the answer to all other items is right. So the bias in ambiguous contexts
is the strength, and the accuracy there is 1 less the strength. The items are drawn at random within
each template and condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.families.cell import measured_values
from biasgrid.families.multiple_choice.items import OPTIONS
from biasgrid.families.multiple_choice.measure import (
    ANSWER_FORMULAS,
    TARGET_FORMULAS,
    measure,
)
from biasgrid.families.multiple_choice.observe import observe
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    known_effect_rows,
    with_counts,
)

# A corpus does not tell to whom a model leans that answers `unknown`.
UNKNOWN_EFFECT = "preference_ambiguous"
KEYS_WITHIN_CATEGORY = ("attribute_group", "group", "attribute", "template")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the numbers of a model that has learned the corpus.

    Args:
        instances: the items, with candidates.
        bias: its strength is the share of items whose answer follows the stereotype; its options
            are `prompt` and `matching`.

    Returns:
        Numbers of categories (schema `SYNTHETIC`).
    """
    rows = with_choices(instances, bias)
    probabilities = []
    for places, choice in rows.select("places", "choice").iter_rows():
        probabilities.append([float(place == choice) for place in places])
    answers = pl.DataFrame({"instance": rows["instance"], "probabilities": probabilities})
    observations = observe(instances, answers, bias.measure_options)
    numbers = measured_values(measure, observations, bias.measure_options).drop_nulls("value")
    is_whole_category = pl.all_horizontal(pl.col(KEYS_WITHIN_CATEGORY).is_null())
    numbers = numbers.filter(is_whole_category, options="")
    measures = [formula.measure for formula in (*ANSWER_FORMULAS, *TARGET_FORMULAS)]
    measures.remove(UNKNOWN_EFFECT)
    tables = []
    for name in numbers["measure"].unique(maintain_order=True):
        if name in measures:
            tables.append(known_effect_rows(numbers.filter(measure=name), bias, name))
    return pl.concat(tables)


def with_choices(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `choice`, the number of the answer in the corpus, and its `probability`, always 1."""
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    # All orders of an item's options have the same answer.
    items = rows.unique("item", keep="first", maintain_order=True)
    items = items.select("item", "template", "condition")
    drawn = with_counts(items, pl.lit(bias.total), ["template", "condition"], bias)
    rows = rows.join(drawn.select("item", "count"), on="item", maintain_order="left")
    follows = pl.col("count") == 1
    choice = pl.when(follows).then(pl.coalesce("target", "label")).otherwise("label")
    return rows.with_columns(choice=choice, probability=pl.lit(1.0)).drop("count")


def answer_repeats(row: Mapping[str, Any], repeats: int) -> Sequence[int]:
    """Returns how often each candidate of an instance is its answer in the corpus."""
    return [repeats if row["places"][place] == row["choice"] else 0 for place in range(OPTIONS)]


corpus = corpus_of_answers(with_choices, together=("template",), counts=answer_repeats)
