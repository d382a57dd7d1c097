"""Samples of what a dataset asks: units that are asked whole, such as swap groups or cases."""

from __future__ import annotations

from pydantic import Field

from biasgrid.section import Section


class Sample(Section):
    """A random sample of a dataset's units: swap groups, counterfactual cases, statements with their negations."""

    units: int = Field(ge=1, description="how many are asked, each with all of its instances")
    seed: int = Field(1, ge=0, description="which ones; of one seed, smaller samples are part of larger ones")
