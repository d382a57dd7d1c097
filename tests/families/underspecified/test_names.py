"""Measures are described in `measures.yaml`, and nothing else is."""

from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.families.underspecified.measure import PART_MEANS, SIZES
from biasgrid.families.underspecified.sizes import CORRECTED, STRENGTHS
from biasgrid.families.underspecified.sums import MEANS_OF_CELL
from biasgrid.tables.metric import STEREOTYPE_AGREEMENT

OTHERS = {"negation_reading", "mu_held_out", STEREOTYPE_AGREEMENT}
OF_ALL_FAMILIES = {"significant_tests", "coverage", "undetected_difference"}


def test_the_described_measures_are_the_computed_ones() -> None:
    described = DEFINITIONS.select("measures", "stereotypes", "pronouns", "generative")
    made = {*PART_MEANS, *SIZES, *MEANS_OF_CELL, *CORRECTED, *STRENGTHS}
    assert {*described} == made | OTHERS | OF_ALL_FAMILIES
