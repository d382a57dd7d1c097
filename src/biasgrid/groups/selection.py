"""Selection of numbers of the main score, of groups and of their pairs, from tables of measures."""

from __future__ import annotations

import polars as pl

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.groups.records import ALL_CASES, EACH_CASE
from biasgrid.stats.ordering import select_rows, values_in_order
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text, parse_options


def main_score(measures: pl.DataFrame) -> str:
    """Returns the main score of a dataset, by which cases fail.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Raises:
        ValueError: the dataset has no main score, or several.
    """
    option_texts = values_in_order(measures.filter(measure="score"), "options")
    present = [parse_options(text)["score"] for text in option_texts]
    main_scores = [score for score in SCORE_NAMES if score in present]
    if len(main_scores) != 1:
        dataset, expected = ", ".join(values_in_order(measures, "dataset")), ", ".join(SCORE_NAMES)
        raise ValueError(
            f"{dataset!r} has the scores {', '.join(dict.fromkeys(present))}; expected "
            f"one of {expected}"
        )
    return main_scores[0]


def main_score_options(measures: pl.DataFrame) -> str:
    """Returns the options of the main score of groups over all cases, without argument."""
    return options_text(score=main_score(measures), mode=ALL_CASES)


def pairwise_options(measures: pl.DataFrame) -> str:
    """Returns the options of the distances of pairs of groups within cases, by the main score."""
    return options_text(
        score=main_score(measures),
        distance="absolute",
        comparison="pairwise",
        mode=EACH_CASE,
    )


def group_main_scores(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the main score of each group over all templates, with its quartiles over cases.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Returns:
        `model`, `bias_type`, `group`, `value`; the quartiles `lower` and `upper`; the interval
        `low` and `high` with its `clusters`, null if there is none. Groups without a score are
        missing.
    """
    options, keys = main_score_options(measures), ["bias_type", "group"]
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
        scores: from `group_main_scores`.
    """
    means = means_by(scores, ["bias_type", "group"])
    by_mean = means.sort(-pl.col("value"), "group")
    groups = {}
    for bias_type in values_in_order(scores, "bias_type"):
        groups[bias_type] = values_in_order(by_mean.filter(bias_type=bias_type), "group")
    return groups
