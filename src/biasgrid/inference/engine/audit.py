"""The audit: a sample of instances, answered a second time without the engine's shortcuts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.inference.checkpoints.checkpoint import ModelError

logger = logging.getLogger(__name__)

AUDIT_ROWS = 32
AUDIT_SHARE, FEWEST = 1 / 8, 8
"""Size of the audit of a small shard: 32 single rows would take longer than all of its batches."""
LARGEST_FLOAT32_DRIFT = 1.001e-3
"""More than rounding: in float32 the audit repeats the same arithmetic, but in other batches and by
other libraries. A little more than a thousandth, by which scores that are rounded to three decimals
may differ.
"""


def audit_sample(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the instances to audit: an eighth, but at least 8 and at most 32."""
    share = round(AUDIT_SHARE * len(instances))
    return evenly_spaced(instances, min(AUDIT_ROWS, max(FEWEST, share)))


def evenly_spaced(instances: pl.DataFrame, size: int) -> pl.DataFrame:
    """Returns `size` instances at even distances, in their order; all if there are fewer."""
    size = min(len(instances), size)
    places = np.linspace(0, len(instances) - 1, num=size, dtype=np.int64)
    return instances[np.unique(places)]


class SampleAudit(NamedTuple):
    """Exact answers to a sample.

    Attributes:
        exact: `instance`, `key` and columns of answers, computed in float32 one row at a time.
        precision: the precision of the answers that are compared with them.
        facts: further facts for the provenance.
    """

    exact: pl.DataFrame
    precision: str
    facts: Mapping[str, Any]

    def compare(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Returns the drift of answers, and `facts`; see `back_end.Audit`."""
        columns = answers.select(self.exact.columns)
        return {**compare_with_exact(columns, self.exact, self.precision), **self.facts}


def compare_with_exact(
    answers: pl.DataFrame, exact: pl.DataFrame, precision: str
) -> dict[str, Any]:
    """Returns the size of the sample (`rows`) and how far its answers are from the exact ones.

    Args:
        answers: answers to all instances, with the columns of `exact`.
        exact: float32 answers to some of these instances, in the order of `answers`.
        precision: the precision of `answers`.

    Raises:
        ModelError: float32 answers differ by more than rounding explains.
    """
    sample = answers.join(exact.select("key"), on="key", how="semi", maintain_order="left")
    facts = {"rows": len(exact), **measure_drift(sample, exact)}
    logger.info("audit: %s", facts)
    if precision == "float32" and facts["largest_drift"] > LARGEST_FLOAT32_DRIFT:
        raise ModelError(
            f"the batched predictions are up to {facts['largest_drift']:.2g} away from those of "
            "single rows; expected only rounding errors; this architecture does not work "
            "with the engine"
        )
    return facts


def measure_drift(answers: pl.DataFrame, exact: pl.DataFrame) -> dict[str, float]:
    """Returns the largest and the mean difference of answers from exact ones.

    Differences of probabilities are absolute; those of scores beyond 1, such as sums of
    log-probabilities, are relative to the exact score.

    Args:
        answers: answers, null where `exact` is.
        exact: exact answers to the same instances, in the same order and columns.

    Returns:
        `largest_drift` and `mean_drift`; 0 if there is nothing to compare.
    """
    exact_numbers = flatten_numbers(exact)
    difference = np.abs(flatten_numbers(answers) - exact_numbers)
    drift = difference / np.maximum(np.abs(exact_numbers), 1)
    return {
        "largest_drift": float(drift.max(initial=0)),
        "mean_drift": float(drift.mean()) if len(drift) else 0.0,
    }


def flatten_numbers(answers: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Returns all probabilities and scores of answers, column by column, without nulls.

    Raises:
        ValueError: no column holds floating-point numbers.
    """
    numbers = []
    for column in answers.get_columns():
        values = column.explode() if column.dtype.base_type() == pl.List else column
        if values.dtype in (pl.Float32, pl.Float64):
            numbers.append(values.drop_nulls().cast(pl.Float64).to_numpy())
    return np.concatenate(numbers)
