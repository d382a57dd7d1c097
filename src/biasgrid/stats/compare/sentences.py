"""How numbers that stand side by side are worded."""

from __future__ import annotations


def number(value: float | None) -> str:
    """Words a number with three digits; a dash where there is none."""
    # No -0.000.
    return "-" if value is None else f"{round(value, 3) + 0.0:.3f}"


def measure_named(measure: str, options: str, bias_type: str | None) -> str:
    """Names a measure with its options and bias type, where it has any."""
    return f"{measure}{f' ({options})' if options else ''}{f' of {bias_type}' if bias_type else ''}"
