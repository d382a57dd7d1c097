"""Small cells: instances from a few names, and predictions with known scores."""

import numpy as np
import polars as pl
from small_estimates import measures_of_cell
from small_tables import predictions_of, whole

from biasgrid.families.underspecified.expand import expand
from biasgrid.families.underspecified.measures import observe
from biasgrid.families.underspecified.pack import AttributeRow, QuestionTemplate, Subjects, WordLists

NAMES = ["Ann", "Bea", "Carl", "Dan"]
ALWAYS = pl.col("instance") >= 0


def expanded(subjects: list[Subjects], attributes: int = 1, templates: int = 1) -> pl.DataFrame:
    rows = [
        AttributeRow({"[act]": f"did {row}", "[act:neg]": f"never did {row}"}, f"did {row}", f"sort {row // 2}")
        for row in range(attributes)
    ]
    lines = [
        QuestionTemplate(line, f"[subj1] met [subj2] {line} times.", "Who [act]?", "Who [act:neg]?")
        for line in range(1, templates + 1)
    ]
    return whole(expand(WordLists(lines, subjects, {"[act]": rows}, "", None, {})))


def one_list(count: int, subject_groups: list[str | None] | None = None, **sizes: int) -> pl.DataFrame:
    """Instances of all pairs of `count` subjects."""
    return expanded([Subjects({"[subj]": NAMES[:count]}, subject_groups or [None] * count)], **sizes)


def spans(instances: pl.DataFrame, score1: np.ndarray, score2: np.ndarray) -> pl.DataFrame:
    """Predictions whose start and end are the given scores of the first and second subject."""
    scores = np.stack([score1, score2], axis=1).astype(np.float32).tolist()
    return predictions_of("span", instances, starts=scores, ends=scores, answer=["nobody"] * len(instances))


def choosing(instances: pl.DataFrame, first: pl.Expr) -> pl.DataFrame:
    """Predictions of a model that is sure of the first subject where `first` holds, else of the second."""
    chosen = instances.select(first.alias("first"))["first"].to_numpy()
    return spans(instances, chosen, ~chosen)


def measured(instances: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    """The measures of a cell, without those of groups."""
    options = {"scoring": "exact", "measures": []}
    return measures_of_cell("underspecified", observe(instances, predictions, options), options)


def positions_are_right(instances: pl.DataFrame) -> bool:
    return all(
        row["text_pair"][row[f"position{which}"] :].startswith(row[f"candidate{which}"])
        for row in instances.iter_rows(named=True)
        for which in (1, 2)
    )
