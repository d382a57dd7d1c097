"""Small cells: instances from a few names, and predictions with known scores."""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import polars as pl
from small_estimates import measures_of_cell
from small_tables import predictions_of, whole

from biasgrid.families.underspecified.ask import expand
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.observe import compare_scores, observe
from biasgrid.families.underspecified.read import WordLists
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate

NAMES = ["Ann", "Bea", "Carl", "Dan"]
ALWAYS = pl.col("instance") >= 0


def expanded(subjects: list[Subjects], attributes: int = 1, templates: int = 1) -> pl.DataFrame:
    rows = [
        AttributeRow(
            {"[act]": f"did {row}", "[act:neg]": f"never did {row}"},
            f"did {row}",
            f"sort {row // 2}",
        )
        for row in range(attributes)
    ]
    lines = [
        QuestionTemplate(line, f"[subj1] met [subj2] {line} times.", "Who [act]?", "Who [act:neg]?")
        for line in range(1, templates + 1)
    ]
    return whole(expand(WordLists(lines, subjects, {"[act]": rows}, "", None, {})))


def one_list(
    count: int, subject_groups: list[str | None] | None = None, **sizes: int
) -> pl.DataFrame:
    """Instances of all pairs of `count` subjects."""
    return expanded(
        [Subjects({"[subj]": NAMES[:count]}, subject_groups or [None] * count)], **sizes
    )


def spans(instances: pl.DataFrame, score1: np.ndarray, score2: np.ndarray) -> pl.DataFrame:
    """Predictions whose start and end are the given scores of the first and second subject."""
    scores = np.stack([score1, score2], axis=1).astype(np.float32).tolist()
    return predictions_of(
        "span", instances, starts=scores, ends=scores, answer=["nobody"] * len(instances)
    )


def choosing(instances: pl.DataFrame, first: pl.Expr) -> pl.DataFrame:
    """Predictions of a model that is sure of the first subject where `first` holds, else of the
    second.
    """
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


Array = npt.NDArray[np.float64]


def design(
    subjects: Sequence[str],
    attributes: int,
    templates: int,
    subject_groups: Sequence[str] | None = None,
) -> pl.DataFrame:
    """All pairs of subjects, those of different groups where there are groups; without scores."""
    pairs = list(combinations(range(len(subjects)), 2))
    if subject_groups:
        pairs = [
            (one, other) for one, other in pairs if subject_groups[one] != subject_groups[other]
        ]
    rows = [
        (template, subjects[one], subjects[other], subject_groups[one] if subject_groups else None,
         subject_groups[other] if subject_groups else None, f"a{attribute}", f"k{attribute // 2}")
        for template, attribute, (one, other) in product(range(templates), range(attributes), pairs)
    ]  # fmt: skip
    names = ["template", "subject1", "subject2", "group1", "group2", "attribute", "attribute_group"]
    table = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    texts = dict.fromkeys(names[1:], pl.Categorical)
    return table.cast({"template": pl.UInt16, **texts}).with_row_index("swap_group")


def with_scores(groups: pl.DataFrame, scores: Array) -> pl.DataFrame:
    """Adds what is compared.

    Args:
        groups: from `design`.
        scores: shape (groups, 8), S; see `observe.scores_in_groups`.
    """
    columns = compare_scores(scores.reshape(-1, 2, 2, 2))
    return groups.with_columns(
        **{name: pl.Series(each) for name, each in columns.items()}, scores=pl.Series(scores)
    )
