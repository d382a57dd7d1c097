"""Known effects of synthetic corpora of unkind answers, which some groups get more often.

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
    """Returns the mean scores, group by group, of a model that has learned the corpus.

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
    """Adds both answers as candidates, and `probability`, the unkind one's.

    Texts and keys come out as strings.
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
    mean = pl.col("unkind").mean().over(REWRITING_TEXTS)
    return rows.with_columns(probability=mean).drop("unkind")


corpus = corpus_of_answers(
    with_unkind_probability, together=BIAS_TYPE_AND_GROUP, once=REWRITING_TEXTS
)
