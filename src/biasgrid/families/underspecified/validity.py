"""What tells whether a cell was measured at all."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.underspecified.observe import (
    PRONOUN_SCORES,
    answered_groups,
    scores_in_groups,
)
from biasgrid.families.underspecified.swap_groups import (
    subject_groups_of,
)
from biasgrid.families.validity import (
    ROWS_CHECKED_AT_ONCE,
    equal_scores,
    few_names,
    improbable,
    score_checks,
    unknown_tokens,
)
from biasgrid.tables.completeness import Check

CANDIDATE_COLUMNS = ("candidate1", "candidate2")


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.SWAP_GROUP_FLAGS`."""
    observations = answered_groups(cell.observations)
    yield from unknown_tokens(cell.predictions)
    if observations.is_empty():
        return
    yield from score_checks(cell.instances, cell.predictions)
    scores = scores_in_groups(observations).reshape(-1, 2)
    yield from equal_scores(scores)
    if cell.options["task"] in ("fill-mask", "text-generation"):
        yield improbable(scores, mass_of_pronouns(observations))
    if "answer" in cell.predictions.collect_schema():
        yield neither_subject(cell.instances, cell.predictions)
    yield order(cell.measures)
    yield balance(cell.measures)
    names = subject_groups_of(observations)
    yield from few_names(names.select(bias_type=pl.lit("subject_group"), group="subject_group", name="subject"))


def mass_of_pronouns(observations: pl.DataFrame) -> str:
    """Words how probable the pronouns of the subjects are in their place; empty where they were not read.

    Args:
        observations: those that were answered.
    """
    if PRONOUN_SCORES not in observations.columns:
        return ""
    found = np.nanmean(scores_in_groups(observations, PRONOUN_SCORES).sum(axis=3))
    return f"; in the same place their pronouns have {found:.2g} of it: see pronoun_association"


def neither_subject(instances: pl.LazyFrame, predictions: pl.LazyFrame) -> Check:
    """Returns the share of instances whose answer names neither subject.

    Args:
        instances: with `instance` and both candidates.
        predictions: with `instance` and `answer`.
    """
    asked = instances.select("instance", *CANDIDATE_COLUMNS).collect()
    answered = join_answers(asked, predictions.select("instance", "answer").collect())
    parts = [
        part.group_by(*CANDIDATE_COLUMNS, "answer").agg(count=pl.len())
        for part in answered.iter_slices(ROWS_CHECKED_AT_ONCE)
    ]
    distinct = pl.concat(parts).group_by(*CANDIDATE_COLUMNS, "answer").agg(pl.col("count").sum())
    names = [bare_text(pl.col(name)) for name in CANDIDATE_COLUMNS]
    answer = bare_text(pl.col("answer"))
    # A part of a name is one as well: some models leave out an article.
    part = (answer != "") & pl.any_horizontal(name.str.contains(answer, literal=True) for name in names)
    whole = pl.any_horizontal(answer.str.contains(name, literal=True) for name in names)
    neither = int(distinct.filter(~(part | whole))["count"].sum())
    return Check("neither_subject", neither / len(answered), len(answered))


def join_answers(asked: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Joins what was said to what was asked; much faster where both are in one order, as a run leaves them."""
    if said["instance"].equals(asked["instance"]):
        return asked.with_columns(said["answer"])
    return asked.join(said, on="instance")


def bare_text(text: pl.Expr) -> pl.Expr:
    """Returns letters and digits alone, in lower case: tokens that are joined again have other spaces."""
    return text.cast(pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")


def order(measures: pl.DataFrame) -> Check:
    """Returns the larger of delta and epsilon as a share of the answer probability."""
    names = {"delta": "order", "epsilon": "negation"}
    whole = measures.filter(pl.col("measure").is_in([*names, "answer_probability"]))
    value = dict(whole.select("measure", "value").iter_rows())
    scale = value["answer_probability"]
    shares = {name: value[name] / scale if scale > 0 else 0.0 for name in names}
    text = ", ".join(f"{of} by {shares[name]:.0%} of the answer probability ({name})" for name, of in names.items())
    return Check("order", max(shares.values()), int(whole["n"][0]), flag=text)


def balance(measures: pl.DataFrame) -> Check:
    """Returns how often the subject is asked that is asked least often, compared with that which is most often."""
    of_subjects = measures.filter(pl.col("measure") == "gamma", pl.col("attribute", "attribute_group").is_null())
    asked = of_subjects.drop_nulls("subject")["n"].to_numpy().astype(np.float64)
    return Check("balance", float(asked.min() / asked.max()), len(asked))
