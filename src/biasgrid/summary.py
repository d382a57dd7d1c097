"""The summaries of a grid: a row for each cell, and the group measures of whole bias types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from biasgrid.tables.group_measures import GROUP_SUMMARY
from biasgrid.tables.measures import MEASURE_KEYS, SUMMARY

CELL_MEASURES = ["mu", "eta", "delta", "epsilon", "answer_probability", "winner_changes"]


@dataclass(frozen=True)
class ModelFacts:
    """What the config says of a model.

    Attributes:
        kind: what sort of model it is, by which plots group (such as SQuAD, NewsQA, LM).
        label: its name in plots.
        scoring: how it is scored on each dataset, which for an imported model is not the config's choice.
    """

    kind: str
    label: str
    scoring: Mapping[str, str]


def summarise(measures: pl.DataFrame, models: Mapping[str, ModelFacts]) -> pl.DataFrame:
    """Puts the measures of whole cells side by side.

    Args:
        measures: the cells' tables (schema `MEASURES`), one below the other.
        models: the facts of each model, by its name in the config.

    Returns:
        One row for each cell (schema `SUMMARY`), in the order of their first appearance.

    Raises:
        KeyError: a model that is measured is not among `models`, or not scored on one of its datasets.
    """
    of_cell = pl.all_horizontal(pl.col(MEASURE_KEYS).is_null())

    def only(name: str, column: str) -> pl.Expr:
        return pl.col(column).filter(of_cell, pl.col("measure") == name).first()

    cells = measures.group_by("model", "dataset", maintain_order=True).agg(
        *(only(name, "value").alias(name) for name in CELL_MEASURES),
        swap_groups=only("delta", "n"),
        subjects=pl.col("subject").drop_nulls().n_unique(),
        attributes=pl.col("attribute").drop_nulls().n_unique(),
    )
    facts = [models[model] for model in cells["model"]]
    scorings = [fact.scoring[dataset] for fact, dataset in zip(facts, cells["dataset"], strict=True)]
    return cells.with_columns(
        pl.Series("kind", [fact.kind for fact in facts], dtype=pl.String),
        pl.Series("label", [fact.label for fact in facts], dtype=pl.String),
        pl.Series("scoring", scorings, dtype=pl.String),
        pl.col("subjects", "attributes").cast(pl.Int64),
    ).select(list(SUMMARY.columns))


def summarise_groups(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the measures of whole bias types (schema `GROUP_SUMMARY`) from those of cells (`GROUP_MEASURES`)."""
    whole = measures.filter(pl.all_horizontal(pl.col("template", "group", "other").is_null()))
    return whole.select(list(GROUP_SUMMARY.columns))
