"""What speaks against cells of statements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from biasgrid.families.validity import equal_scores, improbable, templates, unknown_tokens
from biasgrid.tables.validity import Check


def validity(
    instances: pl.LazyFrame,
    predictions: pl.LazyFrame,
    observations: pl.DataFrame,
    measures: pl.DataFrame,
    options: Mapping[str, Any],
) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared.FLAGS`.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        observations: from `observe`.
        measures: the cell's measures.
        options: see `measure.measure`.
    """
    yield from unknown_tokens(predictions)
    scored = observations.select("yes", "no").drop_nulls().to_numpy()
    yield from equal_scores(scored)
    if len(scored):
        yield improbable(scored)
    count = len(observations)
    yield Check("unanswered", observations["says_yes"].null_count() / count, count)
    answers = observations["says_yes"].drop_nulls()
    if len(answers):
        most = max(int(answers.sum()), len(answers) - int(answers.sum()))
        yield Check("one_answer", most / len(answers), len(answers))
    yield templates(observations)
