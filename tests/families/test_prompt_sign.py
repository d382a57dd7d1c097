"""The flag of numbers whose sign depends on the prompt format."""

from __future__ import annotations

import numpy as np
import pytest
from format_worlds import SHAPE, world

from biasgrid.families.prompt_formats import prompt_sign
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Along, SignificanceTest, Sums
from biasgrid.tables.metric import read_definitions


def with_reversed_format(sums: Sums, numbers: int) -> Sums:
    """The same with the other sign of some numbers in the last format."""
    units, columns = sums.along[TEMPLATES]
    turned = columns.copy()
    last = [place for place, unit in enumerate(units) if unit.endswith("/2")]
    turned[np.ix_(range(numbers), last, [0])] *= -1
    return Sums(
        sums.keys,
        {TEMPLATES: Along(units, turned)},
        finish=sums.finish,
        interval=sums.interval,
        test=SignificanceTest.CORRECTED,
    )


def test_signs_that_depend_on_the_format_are_counted() -> None:
    sums = world(np.random.default_rng(1), np.full(SHAPE[:2], 2.0), of_format=0.0)
    (row,) = prompt_sign([with_reversed_format(sums, 3)], StatisticsSettings()).to_dicts()
    assert (row["value"], row["n"], row["flag"]) == (pytest.approx(0.1), 30, "3 of 30")
    (row,) = prompt_sign([sums], StatisticsSettings()).to_dicts()
    assert (row["value"], row["flag"]) == (0.0, "0 of 30")
    (row,) = prompt_sign(
        [world(np.random.default_rng(2), np.zeros(SHAPE[:2]), of_format=0.0)], StatisticsSettings()
    ).to_dicts()
    assert (row["value"], row["n"], row["reason"]) == (None, 0, "nothing is significant")


def test_one_format_has_no_such_number() -> None:
    sums = world(np.random.default_rng(1), np.full(SHAPE[:2], 2.0))
    units, columns = sums.along[TEMPLATES]
    one = Sums(
        sums.keys,
        {TEMPLATES: Along([unit[0] for unit in units[::3]], columns[:, ::3])},
        test=SignificanceTest.CORRECTED,
    )
    assert prompt_sign([one], StatisticsSettings()).is_empty()


@pytest.mark.family("the limit is that of underspecified questions")
@pytest.mark.parametrize(("of_format", "least", "most"), [(0.0, 0.0, 0.0), (0.8, 0.9, 1.0)])
def test_noise_is_not_taken_for_formats(of_format: float, least: float, most: float) -> None:
    random, limit = (
        np.random.default_rng(3),
        read_definitions("families/underspecified").select("flags")["prompt_sign"].limit,
    )
    assert limit is not None
    flagged = []
    for _ in range(15):
        sums = world(random, 0.5 * random.normal(size=SHAPE[:2]), of_format=of_format)
        flagged.append(
            prompt_sign([sums], StatisticsSettings())["value"].fill_null(0).item() > limit.value
        )
    assert least <= np.mean(flagged) <= most
