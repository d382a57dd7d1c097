"""Refuses cells that are not whole: of these nothing is reported."""

from __future__ import annotations

import numpy as np
import polars as pl

from biasgrid.faults import UserError


class IncompleteCell(UserError):  # noqa: N818
    """A cell without exactly one prediction for each instance, of which nothing is reported."""


def check_complete(instances: pl.DataFrame, predictions: pl.DataFrame) -> None:
    """Refuses a cell unless every instance has exactly one prediction.

    Args:
        instances: with `instance`, the numbers from 0, one per row of the table.
        predictions: with `instance`.

    Raises:
        IncompleteCell: with the counts of instances without a prediction and with several, and of predictions
            of unknown instances; or because there are no instances.
    """
    if instances.is_empty():
        raise IncompleteCell("there are no instances to measure; expected at least one")
    predicted = predictions["instance"].to_numpy()
    known = predicted[predicted < instances.height]
    counts = np.bincount(known, minlength=instances.height)
    missing, several = np.count_nonzero(counts == 0), np.count_nonzero(counts > 1)
    unknown = len(predicted) - len(known)
    if missing or several or unknown:
        raise IncompleteCell(
            f"of {instances.height} instances, {missing} have no prediction and {several} have more than one;"
            f" {unknown} predictions are of unknown instances; expected exactly one prediction of each"
            " (remove the cell's predictions and run again)"
        )
