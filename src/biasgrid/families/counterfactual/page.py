"""The first screen of a page of cases; its tables are the tables of groups."""

from __future__ import annotations

from biasgrid.families.page import FirstScreen

FIRST_SCREEN = FirstScreen(
    "Same sentence, other group",
    "How far apart are two groups?",
    "was shown the same sentence with one group swapped for another",
    columns=({"largest_gap": ""},),
)
