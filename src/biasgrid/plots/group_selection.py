"""What figures and tables of groups share that is no drawing: the score they are about, its rows, order and names."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from biasgrid.groups.failures import FAILURE_SCORES
from biasgrid.plots.selection import both_ends, in_order
from biasgrid.summary import ModelFacts

SCORE_NAMES = {
    "mean_class_probability": "probability of the right class",
    "mean_likelihood": "likelihood",
    "mean_token_f1": "token F1 of the answers",
}
"""How people read the main scores."""

MOST_GROUPS = 30
"""More groups of a bias type than this are not readable; those at both ends of their order are shown then."""


def main_score(measures: pl.DataFrame, dataset: str) -> str:
    """Returns the score that is looked at first: the one by which cases fail.

    Args:
        measures: schema `GROUP_MEASURES`.
        dataset: the dataset's name.

    Raises:
        ValueError: the dataset has no such score.
    """
    present = in_order(measures.filter(dataset=dataset), "score")
    found = [score for score in dict.fromkeys(FAILURE_SCORES.values()) if score in present]
    if len(found) != 1:
        expected = ", ".join(sorted(set(FAILURE_SCORES.values())))
        raise ValueError(f"the dataset {dataset!r} has the scores {', '.join(present)}; expected one of {expected}")
    return found[0]


def main_rows(measures: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Picks the rows of a dataset's main score, over all classes or targets, with null for NaN.

    Args:
        measures: schema `GROUP_MEASURES`.
        dataset: the dataset's name.
    """
    score = main_score(measures, dataset)
    rows = measures.filter(pl.col("argument").is_null(), dataset=dataset, score=score)
    return rows.with_columns(pl.col("value", "lower", "upper").fill_nan(None))


def scores_of_groups(measures: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Returns the main score of each group over all templates, with its quartiles.

    Returns:
        `model`, `bias_type`, `group`, `value`, `lower`, `upper`, without groups that have no score.
    """
    rows = main_rows(measures, dataset)
    wanted = [pl.col(key).is_null() for key in ("distance", "template")]
    columns = ["model", "bias_type", "group", "value", "lower", "upper"]
    return rows.filter(*wanted, pl.col("group").is_not_null()).select(columns).drop_nulls("value")


def pairwise_rows(measures: pl.DataFrame, dataset: str) -> pl.DataFrame:
    """Returns the distances of pairs within cases: absolute, in counterfactual mode, of the main score.

    Returns:
        `model`, `bias_type`, `template`, `group`, `other`, `value`: mean distances of bias types (`group` and `other`
        null), of one template or all (`template` null), and those of single pairs.
    """
    rows = main_rows(measures, dataset).filter(distance="absolute", comparison="pairwise", mode="counterfactual")
    return rows.select("model", "bias_type", "template", "group", "other", "value")


def order_groups(scores: pl.DataFrame) -> dict[str, list[str]]:
    """Orders the groups of each bias type by their mean score over models, highest first.

    Args:
        scores: what `scores_of_groups` returns.
    """
    means = scores.group_by("bias_type", "group", maintain_order=True).agg(pl.col("value").mean())
    return {
        bias_type: in_order(means.filter(bias_type=bias_type).sort(-pl.col("value"), "group"), "group")
        for bias_type in in_order(scores, "bias_type")
    }


def readable_groups(order: Mapping[str, list[str]], most: int = MOST_GROUPS) -> dict[str, list[str]]:
    """Returns of each bias type the groups at both ends of its order, at most `most`; all where there are no more."""
    return {bias_type: both_ends(groups, most) for bias_type, groups in order.items()}


def groups_left_out(order: Mapping[str, list[str]], shown: Mapping[str, list[str]]) -> str:
    """Says how many groups are not shown, as an addition to a subtitle; empty where all are."""
    cut = [bias_type for bias_type, groups in order.items() if len(shown[bias_type]) < len(groups)]
    count = sum(len(order[bias_type]) - len(shown[bias_type]) for bias_type in cut)
    where = cut[0] if len(cut) == 1 else f"{len(cut)} bias types"
    return f"; {count} groups of {where} in the middle are left out" if cut else ""


def model_names(models: Mapping[str, ModelFacts], measured: pl.DataFrame) -> dict[str, str]:
    """Returns what figures call the models that are measured: their labels, with the kind where two are the same.

    Args:
        models: the facts of each model, by its name in the config, in the order of the figures.
        measured: a table with the column `model`.
    """
    present = set(measured["model"])
    facts = {name: fact for name, fact in models.items() if name in present}
    labels = [fact.label for fact in facts.values()]
    return {
        name: fact.label if labels.count(fact.label) == 1 else f"{fact.label} ({fact.kind})"
        for name, fact in facts.items()
    }
