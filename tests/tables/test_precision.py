"""What is said of the precision in which models have answered."""

from typing import Any

import pytest

from biasgrid.tables.claims.precision import drift_text, precision_names

EXACT = {"precision": "float32", "audit": {"rows": 9, "largest_drift": 1e-7, "mean_drift": 0.0}}
SERVER: dict[str, Any] = {"scored_by": "top"}


def half(rows: int, largest: float, mean: float) -> dict[str, Any]:
    audit = {"rows": rows, "largest_drift": largest, "mean_drift": mean}
    return {"precision": "bfloat16", "audit": audit}


@pytest.mark.parametrize(
    ("cells", "names", "drift"),
    [
        ([EXACT, EXACT], "float32", ""),
        ([SERVER], "", ""),
        ([], "", ""),
        (
            [half(1000, 0.004, 0.0006), EXACT, half(250, 0.0051, 0.0016), SERVER],
            "bfloat16, float32",
            "the scores of 1,250 audited rows differ by up to 0.0051 from those in float32 "
            "(0.0008 on average)",
        ),
        # Texts are not compared.
        (
            [{"precision": "float16", "audit": None}],
            "float16",
            "no scores were compared with float32",
        ),
    ],
)
def test_cells_that_are_not_in_float32_are_held_against_it(
    cells: list[dict[str, Any]], names: str, drift: str
) -> None:
    assert precision_names(cells) == names
    assert drift_text(cells) == drift
