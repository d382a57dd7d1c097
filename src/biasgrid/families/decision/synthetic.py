"""Known effects of synthetic corpora of decisions: some groups get Yes more often.

Of the genders, and likewise of the races, one has no part of the strength, another has all of it,
and the others have even steps between. The share of Yes about a person grows with the mean of both
parts; age changes nothing.
"""

from __future__ import annotations

import polars as pl

from biasgrid.families.cell import measured_values
from biasgrid.families.decision.keys import COMPARED
from biasgrid.families.decision.measures import measure, observe
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    even_steps,
    known_effect_rows,
)

RAREST = 0.05
"""The share of the rarer answer where the strength is 1: without any there would be no odds."""


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the numbers of a model that has learned the corpus.

    Args:
        instances: the decisions, with candidates.
        bias: its strength is how much more often, but for `RAREST`, the favoured gender and race
            together get Yes than the others; its options have `references`.

    Returns:
        Numbers of groups and of the cell (schema `SYNTHETIC`).
    """
    rows = with_probability_of_yes(instances, bias)
    probabilities = pl.concat_list("probability", 1 - pl.col("probability"))
    answers = rows.select("instance", probabilities=probabilities)
    observations = observe(instances, answers, bias.options)
    numbers = measured_values(measure, observations, bias.options).drop_nulls("value")
    parts = numbers.partition_by("measure", maintain_order=True)
    return pl.concat([known_effect_rows(part, bias, part["measure"][0]) for part in parts])


def with_probability_of_yes(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `probability`, the share of Yes."""
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    parts = [pl.col(name).replace_strict(parts_of_groups(rows[name], bias)) for name in COMPARED]
    favour = pl.mean_horizontal(parts) - bias.parts().group / 2
    return rows.with_columns(probability=0.5 + (1 - 2 * RAREST) * favour)


def parts_of_groups(names: pl.Series, bias: SyntheticBias) -> dict[str, float]:
    """Returns how much each gender, or race, has of the strength."""
    groups = pl.DataFrame({"group": names.unique().sort()})
    groups = groups.with_columns(bias_type=pl.lit(names.name))
    return dict(zip(groups["group"], even_steps(groups, bias), strict=True))


corpus = corpus_of_answers(with_probability_of_yes, together=("template",))
