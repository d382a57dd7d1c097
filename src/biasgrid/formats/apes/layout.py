"""The columns of files of APES."""

from __future__ import annotations

import re
from collections.abc import Sequence

QUESTION = " Yes or No?"
"""Stands behind each statement."""
NAME_OF_PARAMETER = re.compile(r"param_(\d+)_name")
ANSWERED = ("prediction", "confidence")


def examples_columns(parameters: Sequence[str]) -> list[str]:
    """Returns the columns of an `examples.csv`, by the numbers of its parameters."""
    named = [f"param_{number}_{what}" for what in ("name", "class") for number in parameters]
    return ["template_id", *named, "prompt", "label"]
