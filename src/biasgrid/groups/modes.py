"""Within what groups are compared."""

from __future__ import annotations

from typing import Literal

Mode = Literal["group", "counterfactual"]
ALL_CASES: Mode = "group"
"""All records of a group are one pool, whatever the case."""
EACH_CASE: Mode = "counterfactual"
"""Groups are compared in one and the same case."""
