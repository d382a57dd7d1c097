"""The family's own columns of instances: who is compared, in what, and where in its swap group an instance stands."""

from __future__ import annotations

import polars as pl

from biasgrid.tables.instances import OF_FORMAT
from biasgrid.tables.schema import column

NAME_FACTS = "names"
"""The fact of an instances table of how groups of subjects differ in tokens and frequency."""
KEYS = {
    "swap_group": column(
        pl.UInt32, description="number of the four instances with one template, pair of subjects, attribute and prompt"
    ),
    "swapped": column(pl.Boolean, description="whether the pair's subjects stand in reversed order"),
    "negated": column(pl.Boolean, description="whether the question is the negated one"),
    "template": column(pl.UInt16, description="the template, numbered from 0"),
    "subject1": column(pl.Categorical, description="the subject that stands first"),
    "subject2": column(pl.Categorical, description="the subject that stands second"),
    "group1": column(pl.Categorical, description="group of subject1, such as female", nullable=True),
    "group2": column(pl.Categorical, description="group of subject2", nullable=True),
    "attribute": column(pl.Categorical, description="the attribute in its base wording"),
    "attribute_group": column(pl.Categorical, description="group of the attribute, such as crime", nullable=True),
    **OF_FORMAT,
}
