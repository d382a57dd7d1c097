"""A classifier inclined to one class for a group: seen in the probability of that class, not in the
right one's.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from small_measures import records_of

from biasgrid.groups.measures import FixedClass, measure_groups
from biasgrid.groups.records import ClassOutputs, Records
from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums

TEMPLATES, TERMS = 12, 4
SHIFT = 0.1
"""How much less probable the class `positive` is for group b, whatever the text says."""


def cases() -> Records:
    """Records of two groups: half of the templates are positive, half negative, and the model knows
    which.
    """
    random = np.random.default_rng(5)
    rows, positive, gold = [], [], []
    for template in range(TEMPLATES):
        label, of_text = template % 2, random.normal(0, 0.03)
        for group, shift in (("a", 0.0), ("b", SHIFT)):
            for term in range(TERMS):
                keys = {"bias_type": "letter", "group": group, "term": f"{group}{term}"}
                rows.append({"case": template, "template": template, **keys})
                positive.append((0.8 if label else 0.2) + of_text - shift + random.normal(0, 0.01))
                gold.append(label)
    chance = np.clip(positive, 0, 1)
    return records_of(rows, ClassOutputs(np.stack([1 - chance, chance], axis=1), np.array(gold)))


def differences(fixed: FixedClass | None) -> pl.DataFrame:
    """The signed differences of a less b, by measure and options."""
    parts = [
        part
        for part in measure_groups(cases(), [], 0.1, fixed_class=fixed)
        if isinstance(part, Sums)
    ]
    units = dict.fromkeys(("difference", "right_class_difference"), "difference")
    found = estimate(parts, StatisticsSettings(clusters=range(TEMPLATES), units=units))  # type: ignore[arg-type]
    return found.filter(
        pl.col("measure").is_in(list(units)), pl.col("generalises_to") == "clusters"
    )


def test_a_shift_shows_in_the_fixed_class_and_cancels_in_the_right_one() -> None:
    rows = differences(FixedClass("positive", 1)).sort("measure").to_dicts()
    fixed, right = rows
    assert fixed["measure"] == "difference"
    assert (
        fixed["options"] == "score=mean_class_probability, argument=positive, mode=counterfactual"
    )
    assert fixed["value"] == np.clip(fixed["value"], SHIFT - 0.02, SHIFT + 0.02)
    assert fixed["q"] < 1e-6
    assert right["measure"] == "right_class_difference"
    assert abs(right["value"]) < 0.02
    assert right["q"] > 0.5


def test_without_a_fixed_class_the_difference_is_about_the_right_one() -> None:
    (row,) = differences(None).to_dicts()
    assert row["measure"] == "difference"
    assert row["options"] == "score=mean_class_probability, mode=counterfactual"
