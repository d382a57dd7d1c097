"""What speaks against cells of several families: what of their predictions tells that nothing was measured."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from biasgrid.arrays import FloatArray
from biasgrid.families.flags import LEAST_PROBABILITY
from biasgrid.tables.validity import Check


def unknown_tokens(predictions: pl.DataFrame) -> Iterator[Check]:
    """Yields the share of instances whose text the tokenizer does not know, where somebody looked.

    Args:
        predictions: answers of any kind.
    """
    if "unknown" in predictions.columns and len(known := predictions["unknown"].drop_nulls()):
        yield Check("unknown_tokens", np.count_nonzero(known) / len(known), len(known))


def equal_scores(scores: FloatArray) -> Iterator[Check]:
    """Yields the share of instances whose candidates score the same, if there are any with several.

    Args:
        scores: shape (instances, candidates), NaN behind an instance's last one.
    """
    several = scores[(~np.isnan(scores)).sum(axis=1) > 1]
    if len(several):
        equal = np.nanmax(several, axis=1) == np.nanmin(several, axis=1)
        yield Check("equal_scores", float(equal.mean()), len(equal))


def improbable(scores: FloatArray) -> Check:
    """Returns the share of instances whose candidates have next to no probability.

    Args:
        scores: shape (instances, candidates), the probabilities of a masked language model, NaN behind the last one.
    """
    low = np.nansum(scores, axis=1) < LEAST_PROBABILITY
    return Check("improbable", float(low.mean()), len(low))


def templates(observations: pl.DataFrame) -> Check:
    """Returns how many templates a cell has.

    Args:
        observations: with `template`.
    """
    count = observations["template"].n_unique()
    return Check("templates", count, count)
