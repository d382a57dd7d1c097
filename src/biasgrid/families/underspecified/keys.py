"""The family's own columns of instances: subjects, attribute, and place in the swap group."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.instances import OF_FORMAT
from biasgrid.tables.schema import column

NAME_FACTS = "names"
"""The fact of an instances table of how groups of subjects differ in tokens and frequency."""
KEYS = {
    "swap_group": column(
        pl.UInt32,
        description=(
            "number shared by the four instances with the same template, pair of subjects, "
            "attribute and prompt"
        ),
    ),
    "swapped": column(pl.Boolean, description="whether the two subjects are in reversed order"),
    "negated": column(pl.Boolean, description="whether the question is negated"),
    "template": column(pl.UInt16, description="the template, numbered from 0"),
    "subject1": column(pl.Categorical, description="the subject that comes first"),
    "subject2": column(pl.Categorical, description="the subject that comes second"),
    "group1": column(
        pl.Categorical, description="group of subject1, such as female", nullable=True
    ),
    "group2": column(pl.Categorical, description="group of subject2", nullable=True),
    "attribute": column(pl.Categorical, description="the attribute in its base form"),
    "attribute_group": column(
        pl.Categorical, description="group of the attribute, such as crime", nullable=True
    ),
    **OF_FORMAT,
}
