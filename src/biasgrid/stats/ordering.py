"""An order of rows and columns in which those with a similar pattern stand together."""

from __future__ import annotations

import numpy as np

from biasgrid.base.arrays import FloatArray


def seriated(values: FloatArray) -> tuple[list[int], list[int]]:
    """Sorts rows and columns by the leading singular vectors, turned so that rows with large values come first.

    The obvious order, by means, is none for attributes: gamma sums to zero over the subjects of each.

    Args:
        values: a matrix [rows, columns], 0 where nothing is known.

    Returns:
        The numbers of rows and of columns, in order.
    """
    left, _, right = np.linalg.svd(values, full_matrices=False)
    # The sign of singular vectors is arbitrary. Rounding keeps equal rows in their order on every machine.
    sign = -1.0 if left[:, 0] @ values.mean(axis=1) < 0 else 1.0
    by_row = np.argsort(-np.round(sign * left[:, 0], 9), kind="stable")
    by_column = np.argsort(-np.round(sign * right[0], 9), kind="stable")
    return by_row.tolist(), by_column.tolist()
