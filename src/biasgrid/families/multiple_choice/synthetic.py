"""Known effects of synthetic corpora of answers, which follow the stereotype in some items.

The strength is the share of items whose answer is the option that agrees with the stereotype,
whatever the context says; all others have the right answer. So bias in ambiguous contexts is the
strength, and accuracy there what it leaves. Which items these are is drawn within each template and
condition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.families.cell import measured_values
from biasgrid.families.multiple_choice.items import OPTIONS
from biasgrid.families.multiple_choice.measures import (
    OF_ALL,
    OF_TARGETS,
    measure,
    preference_ambiguous,
)
from biasgrid.families.multiple_choice.observe import observe
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    known_effect_rows,
    with_counts,
)

EFFECTS = [each.__name__ for each in (*OF_ALL, *OF_TARGETS) if each is not preference_ambiguous]
"""The measures that the answers decide: to whom a model leans that answers `unknown` is not said in
a corpus.
"""
ABOUT_PARTS = ("attribute_group", "group", "attribute", "template")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the numbers of a model that has learned the corpus.

    Args:
        instances: the items, with candidates.
        bias: its strength is the share of items whose answer follows the stereotype; its options
            have `prompt` and `matching`.

    Returns:
        Numbers of categories (schema `SYNTHETIC`).
    """
    rows = with_choices(instances, bias)
    probabilities = []
    for places, choice in rows.select("places", "choice").iter_rows():
        probabilities.append([float(place == choice) for place in places])
    answers = pl.DataFrame({"instance": rows["instance"], "probabilities": probabilities})
    observations = observe(instances, answers, bias.options)
    numbers = measured_values(measure, observations, bias.options).drop_nulls("value")
    is_of_category = pl.all_horizontal(pl.col(ABOUT_PARTS).is_null())
    numbers = numbers.filter(is_of_category, pl.col("measure").is_in(EFFECTS), options="")
    parts = numbers.partition_by("measure", maintain_order=True)
    return pl.concat([known_effect_rows(part, bias, part["measure"][0]) for part in parts])


def with_choices(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `choice`, the right option in the corpus, and its `probability`, always 1."""
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
    """Returns how often each candidate of an instance is its answer."""
    return [repeats if row["places"][place] == row["choice"] else 0 for place in range(OPTIONS)]


corpus = corpus_of_answers(with_choices, together=("template",), counts=answer_repeats)
