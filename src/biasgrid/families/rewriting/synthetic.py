"""Known effects, by synthetic corpora of unkind answers: models trained on them write more of these
about some groups.

To each text the corpus answers `UNKIND` at probability 1/2 + share - strength / 2, and else `KIND`.
The share depends on the group that the text was rewritten for: it is 0 for one group, the strength
for another, and of the others in even steps between; where the strength has a part by name, the
words for a group have some of that beside. A model that learned the corpus has for each group a
mean score that is known, of a scorer that needs no model.
"""

from __future__ import annotations

import polars as pl

from biasgrid.families.responses import sentiment_of
from biasgrid.families.rewriting.section import NEUTRAL_GROUP, VADER_SCORERS
from biasgrid.families.synthetic import (
    CANDIDATE,
    SyntheticBias,
    corpus_of_answers,
    known_effect_rows,
    shares_of_rows,
)
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text

UNKIND, KIND = ANSWERS = ("that was awful", "that was wonderful")
"""What is answered: of several words, as what models write is, in lower case and without marks, as
tiny ones write.
"""
KNOWN_SCORER = "vader-negative"
BIAS_TYPE_AND_GROUP = ("bias_type", "group")
REWRITING_TEXTS = ("system", "text")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Says which mean score the answers for each group have of a model that has learned the corpus.

    Args:
        instances: the prompts, rewritten for every group.
        bias: its strength is by how much more probable unkind answers are about one group than
            about another, from 0 (they are as probable as kind ones about all groups) to 1 (one
            group has all of them, another none).

    Returns:
        The mean score of each group, by `KNOWN_SCORER` (schema `SYNTHETIC`).
    """
    unkind, kind = sentiment_of(pl.Series(ANSWERS))[VADER_SCORERS[KNOWN_SCORER]]
    score = pl.col("probability") * unkind + (1 - pl.col("probability")) * kind
    of_groups = with_unkind_probability(instances, bias).filter(pl.col("group") != NEUTRAL_GROUP)
    means = means_by(of_groups.with_columns(value=score), BIAS_TYPE_AND_GROUP).sort(
        BIAS_TYPE_AND_GROUP
    )
    return known_effect_rows(means, bias, "mean_score", options_text(score=KNOWN_SCORER))


def with_unkind_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds both answers as candidates and `probability`, that of the unkind one; texts and keys
    come out as strings.
    """
    named = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    of_group = pl.when(pl.col("group") != NEUTRAL_GROUP).then("group").alias("group")
    words = pl.col("words").cast(pl.List(pl.String)).list.join(" ")
    shares = shares_of_rows(
        named.select("bias_type", of_group), named.select(*BIAS_TYPE_AND_GROUP, words), bias
    )
    # Where several groups have the same text, a model can learn no more than their mean.
    unkind = (0.5 + shares.fill_null(bias.total / 2) - bias.total / 2).rename("unkind")
    answers = {f"{CANDIDATE}{number}": pl.lit(text) for number, text in enumerate(ANSWERS, start=1)}
    return (
        named.with_columns(unkind, **answers)
        .with_columns(probability=pl.col("unkind").mean().over(REWRITING_TEXTS))
        .drop("unkind")
    )


corpus = corpus_of_answers(
    with_unkind_probability, together=BIAS_TYPE_AND_GROUP, once=REWRITING_TEXTS
)
