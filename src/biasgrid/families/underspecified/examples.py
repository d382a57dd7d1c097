"""The sentences behind the strongest associations of a cell."""

from __future__ import annotations

import polars as pl

from biasgrid.families.underspecified.comparisons import Scoring, compare_subjects, scores
from biasgrid.tables.measures import EXAMPLES

ASSOCIATIONS = 10
SWAP_GROUPS = 2


def strongest_examples(
    instances: pl.DataFrame, predictions: pl.DataFrame, scoring: Scoring, measures: pl.DataFrame
) -> pl.DataFrame:
    """Returns, for the strongest associations of a cell, the swap groups that show them most clearly.

    Args:
        instances: rows of `INSTANCES`; `template`, candidates and positions are not needed.
        predictions: rows of `SPAN_PREDICTIONS` or `MASK_PREDICTIONS`, one for each instance.
        scoring: see `comparisons.scores`.
        measures: the cell's measures (schema `MEASURES`).

    Returns:
        The four instances of each of these swap groups (schema `EXAMPLES`), strongest association first.

    Raises:
        TableError: a swap group has not exactly its four instances.
    """
    associations = strongest_associations(measures)
    asked = instances.filter(is_among("attribute", associations["attribute"])).filter(
        is_among("subject1", associations["subject"]) | is_among("subject2", associations["subject"])
    )
    given = predictions.join(asked, on="instance", how="semi")
    groups = clearest_groups(associations, compare_subjects(asked, given, scoring).directed())
    return with_sentences(groups, asked, given, scoring)


def strongest_associations(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns `model`, `dataset`, `subject`, `attribute` and `gamma` of the strongest associations.

    Only positive ones: each C(x1, x2) counts for x1 and reversed for x2, so that a negative gamma says again
    what the positive gammas of the subject's partners say.
    """
    gamma = measures.filter(pl.col("measure") == "gamma", pl.col("value") > 0).drop_nulls(["subject", "attribute"])
    strongest = gamma.sort("value", "subject", "attribute", descending=[True, False, False]).head(ASSOCIATIONS)
    return strongest.select(
        "model", "dataset", pl.col("subject", "attribute").cast(pl.Categorical), gamma=pl.col("value")
    )


def is_among(column: str, names: pl.Series) -> pl.Expr:
    """Says of each row whether its name is one of `names`."""
    return pl.col(column).is_in(names.implode())


def clearest_groups(associations: pl.DataFrame, directed: pl.DataFrame) -> pl.DataFrame:
    """Returns, for each association, the swap groups with the largest C for it.

    Args:
        associations: from `strongest_associations`.
        directed: from `Comparisons.directed`.
    """
    groups = associations.with_row_index("rank").join(directed, on=["subject", "attribute"])
    ordered = groups.sort("rank", "comparison", "swap_group", descending=[False, True, False])
    return ordered.group_by("rank", maintain_order=True).head(SWAP_GROUPS)


def with_sentences(
    groups: pl.DataFrame, instances: pl.DataFrame, predictions: pl.DataFrame, scoring: Scoring
) -> pl.DataFrame:
    """Returns the instances of swap groups with their texts, scores and answers."""
    if "answer" not in predictions.columns:
        predictions = predictions.with_columns(answer=pl.lit(None, pl.String))
    answers = predictions.select("instance", "answer").join(scores(predictions, scoring), on="instance")
    sentences = instances.select("swap_group", "instance", "subject1", "context", "question").join(
        answers, on="instance"
    )
    is_first = pl.col("subject") == pl.col("subject1")
    rows = groups.join(sentences, on="swap_group").with_columns(
        score=pl.when(is_first).then("score1").otherwise("score2"),
        other_score=pl.when(is_first).then("score2").otherwise("score1"),
    )
    ordered = rows.sort("rank", "comparison", "swap_group", "instance", descending=[False, True, False, False])
    return ordered.select(list(EXAMPLES.columns)).cast({pl.Categorical: pl.String})
