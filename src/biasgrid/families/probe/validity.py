"""What speaks against cells of probes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.validity import (
    LONGEST_ANSWER_SHOWN,
    equal_scores,
    improbable_candidates,
    same_text,
    score_checks,
    text_checks,
    unknown_tokens,
)
from biasgrid.tables.completeness import Check

COMMONEST = 3
"""How many answers are shown."""


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.FLAGS`."""
    predictions = cell.predictions
    yield from unknown_tokens(predictions)
    yield from text_checks(predictions)
    yield from score_checks(cell.instances, predictions)
    yield from same_text(predictions)
    if "probabilities" in predictions.collect_schema():
        lists = predictions.select("probabilities").collect()["probabilities"].drop_nulls().to_list()
        scored = np.array([each for each in lists if None not in each], dtype=np.float64)
        if scored.size:
            yield from equal_scores(scored)
            yield improbable_candidates(scored)
    answers = cell.observations.unique("instance")
    yield Check("undetected", float(answers["undetected"].mean()), len(answers), flag=commonest(predictions, answers))  # type: ignore[arg-type]


def commonest(predictions: pl.LazyFrame, answers: pl.DataFrame) -> str:
    """Returns the commonest answers in which nothing was found.

    Args:
        predictions: the answers.
        answers: a row for each instance, with `undetected`.
    """
    if "response" not in predictions.collect_schema():
        return "none is a text"
    silent = answers.filter("undetected").select("instance").lazy()
    texts = predictions.join(silent, on="instance", how="semi").select(pl.col("response").cast(pl.String).fill_null(""))
    counts = texts.group_by("response").agg(count=pl.len()).sort(-pl.col("count").cast(pl.Int64), "response")
    told = counts.head(COMMONEST).collect()["response"]
    return ", ".join(
        repr(text if len(text) <= LONGEST_ANSWER_SHOWN else f"{text[: LONGEST_ANSWER_SHOWN - 3]}...") for text in told
    )
