"""What speaks against cells of several families: what of their predictions tells that nothing was measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from biasgrid.arrays import FloatArray
from biasgrid.families.flags import LEAST_PROBABILITY
from biasgrid.tables.validity import Check

AT_ONCE = 2**17
"""How many rows are looked at together, so that there need not be memory for all of them."""


def unknown_tokens(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of instances whose text the tokenizer does not know, where somebody looked.

    Args:
        predictions: answers of any kind.
    """
    if "unknown" not in predictions.collect_schema():
        return
    unknown, known = predictions.select(sum=pl.col("unknown").sum(), count=pl.col("unknown").count()).collect().row(0)
    if known:
        yield Check("unknown_tokens", unknown / known, known)


def over_limit(predictions: pl.LazyFrame) -> Iterator[Check]:
    """Yields the share of texts that are longer than they were to be, where there are any.

    Args:
        predictions: answers of any kind.
    """
    if "over_limit" not in predictions.collect_schema():
        return
    longer, known = (
        predictions.select(sum=pl.col("over_limit").sum(), count=pl.col("over_limit").count()).collect().row(0)
    )
    if longer:
        yield Check("over_limit", longer / known, known)


def equal_scores(scores: FloatArray) -> Iterator[Check]:
    """Yields the share of instances whose candidates score the same, if there are any with several.

    Args:
        scores: shape (instances, candidates), NaN behind an instance's last one.
    """
    several = equal = 0
    for part in parts_of(scores):
        known, low, high = np.zeros(len(part), dtype=np.uint32), *np.full((2, len(part)), np.nan)
        for column in part.T:
            known += ~np.isnan(column)
            low, high = np.fmin(low, column), np.fmax(high, column)
        several += int(np.count_nonzero(known > 1))
        equal += int(np.count_nonzero((known > 1) & (low == high)))
    if several:
        yield Check("equal_scores", equal / several, several)


def improbable(scores: FloatArray) -> Check:
    """Returns the share of instances whose candidates have next to no probability.

    Args:
        scores: shape (instances, candidates), the probabilities of a masked language model, NaN behind the last one.
    """
    low = sum(int(np.count_nonzero(np.nansum(part, axis=1) < LEAST_PROBABILITY)) for part in parts_of(scores))
    return Check("improbable", low / len(scores), len(scores))


def parts_of(scores: FloatArray) -> Iterator[FloatArray]:
    """Yields some rows after others."""
    for start in range(0, len(scores), AT_ONCE):
        yield scores[start : start + AT_ONCE]


def templates(observations: pl.DataFrame) -> Check:
    """Returns how many templates a cell has.

    Args:
        observations: with `template`.
    """
    count = observations["template"].n_unique()
    return Check("templates", count, count)
