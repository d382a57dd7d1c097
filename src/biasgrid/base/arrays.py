"""Names of the types of arrays, and division without warnings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int64]
Int32Array = npt.NDArray[np.int32]
AnyIntArray = npt.NDArray[np.int64] | npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def divide(numerator: npt.ArrayLike, denominator: npt.ArrayLike) -> FloatArray:
    """Divides two arrays; NaN where the divisor is 0."""
    over = np.asarray(denominator, dtype=np.float64)
    return np.asarray(numerator, dtype=np.float64) / np.where(over == 0, np.nan, over)
