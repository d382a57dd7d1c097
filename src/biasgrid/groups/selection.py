"""What is looked at first where groups are compared: the main score, of each group and between two
groups of a case.
"""

from __future__ import annotations

import polars as pl

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.groups.records import EACH_CASE
from biasgrid.stats.ordering import select_rows, values_in_order
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text, parse_options


def main_score_of_measures(measures: pl.DataFrame) -> str:
    """Returns the score of a dataset that is looked at first: the one by which cases fail.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Raises:
        ValueError: the dataset has no such score.
    """
    options = values_in_order(measures.filter(measure="score"), "options")
    present = [parse_options(text)["score"] for text in options]
    main_scores = [score for score in SCORE_NAMES if score in present]
    if len(main_scores) != 1:
        dataset, expected = ", ".join(values_in_order(measures, "dataset")), ", ".join(SCORE_NAMES)
        raise ValueError(
            f"{dataset!r} has the scores {', '.join(dict.fromkeys(present))}; expected "
            f"one of {expected}"
        )
    return main_scores[0]


def score_options(measures: pl.DataFrame) -> str:
    """Returns the options of the scores of groups, by the main score, all classes or targets taken
    together.
    """
    return options_text(score=main_score_of_measures(measures), mode="group")


def pairwise_options(measures: pl.DataFrame) -> str:
    """Returns the options of the distances of pairs of groups within cases, by the main score."""
    return options_text(
        score=main_score_of_measures(measures),
        distance="absolute",
        comparison="pairwise",
        mode=EACH_CASE,
    )


def main_scores_of_groups(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the main score of each group over all templates, with its quartiles over cases.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Returns:
        `model`, `bias_type`, `group`, `value`, `lower`, `upper`, and `low`, `high` and `clusters`
        (null where nothing is known), without groups that have no score.
    """
    options, keys = score_options(measures), ["bias_type", "group"]
    group = ["model", *keys]
    scores = select_rows(measures, "score", keys, options, intervals=True)
    scores = scores.select(*group, "value", "low", "high", "clusters")
    for quartile in ("lower", "upper"):
        rows = select_rows(measures, f"score_{quartile}", keys, options)
        ends = rows.select(*group, pl.col("value").alias(quartile))
        scores = scores.join(ends, on=group, how="left", maintain_order="left")
    return scores.drop_nulls("value")


def order_groups(scores: pl.DataFrame) -> dict[str, list[str]]:
    """Orders the groups of each bias type by their mean score over models, highest first.

    Args:
        scores: what `main_scores_of_groups` returns.
    """
    means = means_by(scores, ["bias_type", "group"])
    ordered = means.sort(-pl.col("value"), "group")
    groups = {}
    for bias_type in values_in_order(scores, "bias_type"):
        groups[bias_type] = values_in_order(ordered.filter(bias_type=bias_type), "group")
    return groups
