"""What the page says of cases beside their numbers; its tables are those of groups."""

from __future__ import annotations

from biasgrid.families.payload import FirstScreen

FIRST_SCREEN = FirstScreen(
    "Same sentence, other group",
    "How far apart are two groups?",
    "was shown the same sentence with one group swapped for another",
    columns=({"largest_gap": ""},),
)
