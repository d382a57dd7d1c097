"""What speaks against cells of underspecified questions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.underspecified.comparisons import answered, scores_in_groups
from biasgrid.families.validity import AT_ONCE, equal_scores, improbable, of_scores, templates, unknown_tokens
from biasgrid.tables.completeness import Check

SIDES = ("candidate1", "candidate2")


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.FLAGS`."""
    observations = answered(cell.observations)
    yield from unknown_tokens(cell.predictions)
    if observations.is_empty():
        return
    yield from of_scores(cell.instances, cell.predictions)
    scores = scores_in_groups(observations).reshape(-1, 2)
    yield from equal_scores(scores)
    if cell.options["task"] in ("fill-mask", "text-generation"):
        yield improbable(scores)
    if "answer" in cell.predictions.collect_schema():
        yield neither_subject(cell.instances, cell.predictions)
    yield errors_over_mu(cell.measures)
    yield balance(cell.measures)
    yield templates(observations)


def neither_subject(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> Check:
    """Returns the share of instances whose answer names neither subject.

    Args:
        instances: with `instance` and both candidates.
        predictions: with `instance` and `answer`.
    """
    asked = instances.select("instance", *SIDES).collect()
    answered = beside(asked, predictions.select("instance", "answer").collect())
    parts = [part.group_by(*SIDES, "answer").agg(count=pl.len()) for part in answered.iter_slices(AT_ONCE)]
    distinct = pl.concat(parts).group_by(*SIDES, "answer").agg(pl.col("count").sum())
    names = [bare(pl.col(name)) for name in SIDES]
    answer = bare(pl.col("answer"))
    # A part of a name is one as well: some models leave out an article.
    part = (answer != "") & pl.any_horizontal(name.str.contains(answer, literal=True) for name in names)
    whole = pl.any_horizontal(answer.str.contains(name, literal=True) for name in names)
    neither = int(distinct.filter(~(part | whole))["count"].sum())
    return Check("neither_subject", neither / len(answered), len(answered))


def beside(asked: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Joins what was said to what was asked; much faster where both are in one order, as a run leaves them."""
    if said["instance"].equals(asked["instance"]):
        return asked.with_columns(said["answer"])
    return asked.join(said, on="instance")


def bare(text: pl.Expr) -> pl.Expr:
    """Returns letters and digits alone, in lower case: tokens that are joined again have other spaces."""
    return text.cast(pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")


def errors_over_mu(measures: pl.DataFrame) -> Check:
    """Returns by how much the larger one of delta and epsilon exceeds mu."""
    whole = measures.filter(pl.col("measure").is_in(["mu", "delta", "epsilon"]))
    value = dict(whole.select("measure", "value").iter_rows())
    count = whole.filter(measure="mu")["n"].item()
    return Check("errors_over_mu", max(value["delta"], value["epsilon"]) - value["mu"], count)


def balance(measures: pl.DataFrame) -> Check:
    """Returns how often the subject is asked that is asked least often, compared with that which is most often."""
    of_subjects = measures.filter(pl.col("measure") == "gamma", pl.col("attribute", "attribute_group").is_null())
    asked = of_subjects.drop_nulls("subject")["n"].to_numpy().astype(np.float64)
    return Check("balance", float(asked.min() / asked.max()), len(asked))
