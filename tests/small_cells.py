"""Small cells: instances from a few names, and predictions with known scores."""

import numpy as np
import polars as pl

from biasgrid.families.underspecified.expansion import expand
from biasgrid.families.underspecified.word_lists import Attribute, Subjects, Template, WordLists

ENDS = ["start1", "end1", "start2", "end2"]
NAMES = ["Ann", "Bea", "Carl", "Dan"]
ALWAYS = pl.col("instance") >= 0


def expanded(subjects: list[Subjects], attributes: int = 1, templates: int = 1) -> pl.DataFrame:
    rows = [
        Attribute({"[act]": f"did {row}", "[act:neg]": f"never did {row}"}, f"did {row}", f"sort {row // 2}")
        for row in range(attributes)
    ]
    lines = [
        Template(line, f"[subj1] met [subj2] {line} times.", "Who [act]?", "Who [act:neg]?")
        for line in range(1, templates + 1)
    ]
    return expand(WordLists(lines, subjects, {"[act]": rows}, "", None, {}))[0]


def one_list(count: int, clusters: list[str | None] | None = None, **sizes: int) -> pl.DataFrame:
    """Instances of all pairs of `count` subjects."""
    return expanded([Subjects({"[subj]": NAMES[:count]}, clusters or [None] * count)], **sizes)


def spans(instances: pl.DataFrame, score1: np.ndarray, score2: np.ndarray) -> pl.DataFrame:
    """Predictions whose start and end are the given scores of the first and second subject."""
    columns = dict(zip(ENDS, (score1, score1, score2, score2), strict=True))
    return instances.select("instance").with_columns(
        **{name: pl.Series(values, dtype=pl.Float32) for name, values in columns.items()},
        answer=pl.lit("nobody").cast(pl.Categorical),
    )


def choosing(instances: pl.DataFrame, first: pl.Expr) -> pl.DataFrame:
    """Predictions of a model that is sure of the first subject where `first` holds, else of the second."""
    chosen = instances.select(first.alias("first"))["first"].to_numpy()
    return spans(instances, chosen, ~chosen)
