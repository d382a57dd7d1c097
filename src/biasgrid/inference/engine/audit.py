"""The audit: a sample that is predicted a second time, without the shortcuts of the engine."""

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
"""What is audited of small shards, in which 32 single rows would take longer than all others."""
LARGEST_FLOAT32_DRIFT = 1.001e-3
"""More than rounding: in float32 the audit repeats the same arithmetic, but in other batches and by
other libraries. A little more than a thousandth, by which scores that are rounded to three decimals
may differ.
"""


def audit_sample(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the instances that are audited."""
    share = round(AUDIT_SHARE * len(instances))
    return evenly_spaced(instances, min(AUDIT_ROWS, max(FEWEST, share)))


def evenly_spaced(instances: pl.DataFrame, count: int) -> pl.DataFrame:
    """Returns `count` instances at even distances; all if there are fewer."""
    size = min(len(instances), count)
    places = np.linspace(0, len(instances) - 1, num=size, dtype=np.int64)
    return instances[np.unique(places)]


class SampleAudit(NamedTuple):
    """Exact answers to a sample.

    Attributes:
        exact: `instance`, `key` and columns of answers, computed in float32 one row at a time.
        precision: the precision of the other answers.
        facts: further facts for the provenance.
    """

    exact: pl.DataFrame
    precision: str
    facts: Mapping[str, Any]

    def compare(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Returns how far answers are from the exact ones; see `back_end.Audit`."""
        columns = answers.select(self.exact.columns)
        return {**compare_with_exact(columns, self.exact, self.precision), **self.facts}


def compare_with_exact(
    table: pl.DataFrame, audited: pl.DataFrame, precision: str
) -> dict[str, Any]:
    """Returns how far the audited instances are from their float32 predictions.

    Args:
        table: the predictions.
        audited: those of a sample of the same instances, in the same order, in float32.
        precision: that of the run.

    Raises:
        ModelError: a float32 run is further away than rounding explains.
    """
    same = table.join(audited.select("key"), on="key", how="semi", maintain_order="left")
    facts = {"rows": len(audited), **measure_drift(same, audited)}
    logger.info("audit: %s", facts)
    if precision == "float32" and facts["largest_drift"] > LARGEST_FLOAT32_DRIFT:
        raise ModelError(
            f"the batched predictions are up to {facts['largest_drift']:.2g} away from those of "
            "single rows; expected only rounding errors; this architecture does not work "
            "with the engine"
        )
    return facts


def measure_drift(answers: pl.DataFrame, audited: pl.DataFrame) -> dict[str, float]:
    """Returns the largest and the mean difference between the numbers of two tables of the same
    rows.

    Of probabilities it is absolute; of scores beyond 1, such as sums of log-probabilities, it is
    relative.
    """
    exact = flatten_numbers(audited)
    drift = np.abs(flatten_numbers(answers) - exact) / np.maximum(np.abs(exact), 1)
    return {
        "largest_drift": float(drift.max(initial=0)),
        "mean_drift": float(drift.mean()) if len(drift) else 0.0,
    }


def flatten_numbers(table: pl.DataFrame) -> npt.NDArray[np.float64]:
    """Returns all probabilities and scores of a table of predictions, column by column.

    Nulls are left out; lists are flattened.
    """
    numbers = []
    for column in table.get_columns():
        values = column.explode() if column.dtype.base_type() == pl.List else column
        if values.dtype in (pl.Float32, pl.Float64):
            numbers.append(values.drop_nulls().cast(pl.Float64).to_numpy())
    return np.concatenate(numbers)
