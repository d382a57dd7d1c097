"""Instances of rewritten prompts, and what a model answers that has learned a synthetic corpus.

To each text the corpus answers `UNKIND` at probability 1/2 + share - strength / 2, and else `KIND`.
The share depends on the group that the text was rewritten for: it is 0 for one group, the strength
for another, and of the others in even steps between; where the strength has a part by name, the
words for a group have some of that beside. A model that learned the corpus has a known mean score
for each group, by a scorer that needs no model.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.responses import sentiment_of
from biasgrid.families.rewriting.family import VADER_SCORERS
from biasgrid.families.rewriting.group_words import NEUTRAL_GROUP
from biasgrid.families.rewriting.read import RewritingRequests
from biasgrid.families.synthetic import (
    CANDIDATE,
    SyntheticBias,
    corpus_of_answers,
    known_effect_rows,
    shares_of_rows,
)
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text
from biasgrid.tables.schema import column

# Instances: a row for each prompt, group and repetition

KEYS = {
    "prompt": column(
        pl.UInt32, description="number of the prompt among the distinct prompts of the file, from 0"
    ),
    "bias_type": column(
        pl.Categorical,
        description=(
            "what the groups have in common, such as religion; ` & ` joins those of an intersection"
        ),
    ),
    "group": column(pl.Categorical, description="the group that the prompt was rewritten for"),
    "repetition": column(pl.UInt16, description="0 if the text is asked for the first time"),
    "original": column(pl.Categorical, description="the text before it was rewritten"),
    "words": column(
        pl.List(pl.Categorical), description="the words of groups in the text, in order"
    ),
}
ROW_SCHEMA: dict[str, Any] = {
    "prompt": pl.UInt32,
    "group": pl.Categorical,
    "text": pl.Categorical,
    "system": pl.Categorical,
    "original": pl.Categorical,
    "words": pl.List(pl.Categorical),
}
"""Columns of instances that are the fields of `RewrittenPrompt`, in their order."""


def expand(requests: RewritingRequests) -> Expansion:
    """Returns the instances of the prompts: one after another, every group, all repetitions."""
    prompts = list(requests.rewritten_prompts())
    table = pl.DataFrame(prompts, schema=ROW_SCHEMA, orient="row")
    repetitions = requests.files.repetitions
    if repetitions > 1:
        table = table.select(pl.all().repeat_by(repetitions).explode())
    table = table.with_columns(
        bias_type=pl.lit(requests.groups.bias_type),
        repetition=pl.int_range(pl.len()) % repetitions,
    )
    usable = len(requests.usable)
    facts = {"prompts": len(requests.prompts), "prompts_with_words_of_groups": usable}
    coverage = coverage_of_design(
        {"prompts": len(requests.sampled), "rows": len(table)},
        {"prompts": usable, "rows": requests.count},
    )
    return expand_rows(table, KEYS, facts | coverage)


# Known effects: answers of a corpus that are unkind to some groups more often

UNKIND, KIND = ANSWERS = ("that was awful", "that was wonderful")
"""The answers of the corpus: of several words, as those of models are, but in lower case and
without marks, as tiny models write.
"""
KNOWN_SCORER = "vader-negative"
BIAS_TYPE_AND_GROUP = ("bias_type", "group")
REQUEST_TEXTS = ("system", "text")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the mean score of each group for a model that has learned the corpus.

    Args:
        instances: the prompts, rewritten for every group.
        bias: its strength is by how much more probable unkind answers are about one group than
            about another, from 0 (they are as probable as kind ones about all groups) to 1 (one
            group has all of them, another none).

    Returns:
        The mean score of each group, by `KNOWN_SCORER` (schema `SYNTHETIC`).
    """
    unkind, kind = sentiment_of(pl.Series(ANSWERS))[VADER_SCORERS[KNOWN_SCORER]]
    probability = pl.col("probability")
    score = probability * unkind + (1 - probability) * kind
    rows = with_unkind_probability(instances, bias)
    rows = rows.filter(pl.col("group") != NEUTRAL_GROUP).with_columns(value=score)
    means = means_by(rows, BIAS_TYPE_AND_GROUP).sort(BIAS_TYPE_AND_GROUP)
    return known_effect_rows(means, bias, "mean_score", options_text(score=KNOWN_SCORER))


def with_unkind_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds both answers as candidates, and the `probability` of the unkind one.

    Texts and keys become strings, and rows are sorted by instance.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    group = pl.when(pl.col("group") != NEUTRAL_GROUP).then("group").alias("group")
    words = pl.col("words").cast(pl.List(pl.String)).list.join(" ")
    groups = rows.select("bias_type", group)
    names = rows.select(*BIAS_TYPE_AND_GROUP, words)
    shares = shares_of_rows(groups, names, bias)
    # Prompts in neutral words have the mean of all groups.
    unkind = 0.5 + shares.fill_null(bias.total / 2) - bias.total / 2
    columns: dict[str, pl.Series | pl.Expr] = {"unkind": unkind}
    for number, text in enumerate(ANSWERS, start=1):
        columns[f"{CANDIDATE}{number}"] = pl.lit(text)
    rows = rows.with_columns(**columns)
    # Where several groups have the same text, a model can learn no more than their mean.
    mean = pl.col("unkind").mean().over(REQUEST_TEXTS)
    return rows.with_columns(probability=mean).drop("unkind")


corpus = corpus_of_answers(
    with_unkind_probability, together=BIAS_TYPE_AND_GROUP, once=REQUEST_TEXTS
)
