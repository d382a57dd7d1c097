"""Known effects of synthetic corpora: models trained on them choose options at known probabilities.

How much a prompt's group has of the known effect, its share, is 0 for one group, the strength for
another, and of the others in even steps between; where prompts name no group, items are groups.
Where the strength has a part by name, each `name` of prompts has some of that beside. Of k options
the corpus gives the expected one at probability 1/k + (1 - 1/k) share; if none is expected, the
first one by name at (1 - strength)/k + share. The rest is that of the other options, of all alike.
A model that learned these probabilities has the metrics that are made of them, whatever these are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.probe.claims import BY_GROUP
from biasgrid.families.probe.definitions import YES_NO
from biasgrid.families.probe.measure import measure
from biasgrid.families.probe.observe import observe, read_cell_probe
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    known_effect_rows,
    shares_of_rows,
)
from biasgrid.stats.sums import values_table

PROBE_TEXTS = ("system", "text")
SHARE_GROUP = "sharing"
"""The group that a prompt's share is of, or its item."""


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the metrics of a model that has learned the corpus.

    Args:
        instances: the prompts, with candidates.
        bias: its strength is the largest difference between groups in the share of the expected
            option, as a part of 1 - chance; its options have `probe`, the file of the probe.

    Returns:
        The metrics that have a value, and their numbers for each group (schema `SYNTHETIC`).
    """
    options = {**bias.measure_options, "mode": None}
    prompts = with_option_probability(instances, bias)
    probabilities = [option_probabilities(row) for row in prompts.iter_rows(named=True)]
    answers = pl.DataFrame({"instance": prompts["instance"], "probabilities": probabilities})
    observations = observe(instances, answers, options)
    rows = values_table(measure(observations, options)).drop_nulls("value")
    metrics = [*read_cell_probe(options).head.metric, BY_GROUP]
    rows = rows.filter(pl.col("measure").is_in(metrics))
    tables = []
    for part in rows.partition_by("measure", "options", maintain_order=True):
        tables.append(known_effect_rows(part, bias, part["measure"][0], part["options"][0]))
    return pl.concat(tables)


def with_option_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `labels` of the candidates, `synthetic`, the favoured label, and its `probability`.

    Texts and keys come out as strings.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    options = pl.col("options").cast(pl.List(pl.String))
    yes_no = pl.lit(pl.Series([list(YES_NO)])).first()
    rows = rows.with_columns(
        pl.coalesce("group", pl.format("item {}", "item")).alias(SHARE_GROUP),
        labels=pl.when(options.list.len() > 0).then(options).otherwise(yes_no),
    )
    groups = rows.select(bias_type=pl.lit(""), group=SHARE_GROUP)
    names = rows.select(SHARE_GROUP, pl.col("keys").str.json_path_match("$.name"))
    rows = rows.with_columns(share=shares_of_rows(groups, names, bias))
    share = pl.col("share")
    chance = 1 / pl.col("labels").list.len()
    expected = chance + (1 - chance) * share
    free = chance * (1 - bias.total) + share
    is_expected = pl.col("expected").is_not_null()
    return rows.with_columns(
        synthetic=pl.coalesce("expected", pl.col("labels").list.min()),
        probability=pl.when(is_expected).then(expected).otherwise(free),
    )


def option_probabilities(row: Mapping[str, Any]) -> list[float]:
    """Returns the probability of each candidate of an instance in the corpus."""
    likeliest, labels = row["probability"], row["labels"]
    rest = (1 - likeliest) / (len(labels) - 1)
    return [likeliest if label == row["synthetic"] else rest for label in labels]


def answer_repeats(row: Mapping[str, Any], repeats: int) -> list[int]:
    """Returns how often each candidate of an instance is its answer.

    All but the favoured one are so equally often.
    """
    labels = row["labels"]
    other_places = [place for place, label in enumerate(labels) if label != row["synthetic"]]
    share, remainder = divmod(repeats - row["count"], len(other_places))
    # The remainder goes to another option in every instance.
    first = row["instance"] % len(other_places)
    extra = {other_places[(first + place) % len(other_places)] for place in range(remainder)}
    counts = []
    for place in range(len(labels)):
        if place in other_places:
            counts.append(share + (place in extra))
        else:
            counts.append(row["count"])
    return counts


corpus = corpus_of_answers(
    with_option_probability,
    together=(SHARE_GROUP, "synthetic"),
    once=PROBE_TEXTS,
    counts=answer_repeats,
)
