"""What marks and gaps of probes may say: golden numbers, and worlds whose truth is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from golden_claims import BISECTED, claims_of, inputs_of
from worlds_of_probes import hired

GOLDEN = claims_of("probes")


@pytest.mark.parametrize("name", GOLDEN)
def test_gaps_over_items_and_names_are_the_golden_ones(name: str, tmp_path: Path) -> None:
    rows = inputs_of("probes").filter(probe=name).sort("item", "group", "name")
    asked = rows["asked"][0]
    says = ["Yes" if each < yes else "No" for yes in rows["yes"] for each in range(asked)]
    items, names = rows["item"].n_unique(), rows["name"].n_unique() // 2
    found = hired(tmp_path, says, items, names, asked)
    row, expected = found.filter(measure="signed_gap").row(0, named=True), GOLDEN[name]
    assert row["generalises_to"] == "items x names"
    for key in ("value", "low", "high", "p"):
        assert row[key] == pytest.approx(expected[key], rel=BISECTED, abs=1e-9), key
    gap = found.filter(measure="gap").row(0, named=True)
    ends = abs(expected["low"]), abs(expected["high"])
    nearest = 0 if expected["low"] <= 0 <= expected["high"] else min(ends)
    assert (gap["low"], gap["high"]) == pytest.approx((nearest, max(ends)), rel=BISECTED)
