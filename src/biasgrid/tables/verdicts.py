"""The table of verdicts: what is claimed of each cell, and what that rests on."""

from __future__ import annotations

from typing import Literal, get_args

import pandera.polars as pa
import polars as pl

from biasgrid.tables.key_columns import claimed_keys
from biasgrid.tables.measures import CELL, KEY_COLUMNS, number_column
from biasgrid.tables.schema import column, table

Verdict = Literal["bias found", "nothing found", "could not be measured"]
BIAS_FOUND, NOTHING_FOUND, NOT_MEASURED = VERDICTS_OF_CELLS = get_args(Verdict)

VERDICT_COLUMN = {
    "verdict": column(
        pl.String,
        description=(
            "`bias found`: a headline number differs from its fair value (p at most 0.05); "
            "`nothing found`: none does; `could not be measured`: no headline number "
            "could be tested"
        ),
        checks=pa.Check.isin(VERDICTS_OF_CELLS),
    )
}
LARGEST_NUMBER = {
    "measure": column(
        pl.String,
        description="measure of the largest significant number; null unless bias was found",
        nullable=True,
    ),
    "options": column(pl.String, description="how that number was computed", nullable=True),
    **{name: KEY_COLUMNS[name] for name in claimed_keys()},
    "value": number_column(description="that number; of two groups the one with more is `group`"),
    "low": number_column(description="lower end of its interval"),
    "high": number_column(description="upper end of its interval"),
    "bound": number_column(
        description="how far it is from its fair value at least, all tests of its kind at once"
    ),
    "value_p": number_column(description="its own p"),
}
"""The largest significant number of a cell."""
RATES = {
    "rate": number_column(
        description="rate of `group` in that number; null where it is no difference of rates"
    ),
    "other_rate": number_column(description="rate of `other`"),
}
VERDICTS = table(
    "verdicts",
    {
        **CELL,
        **VERDICT_COLUMN,
        "p": number_column(
            description=(
                "p of all tests of the cell's headline numbers together (Simes); null if there "
                "are none"
            )
        ),
        "tests": column(pl.Int64, description="number of these tests"),
        "significant": column(
            pl.Int64,
            description=(
                "number of them that are significant; associations below 0 mirror others and do "
                "not count; 0 unless bias was found"
            ),
        ),
        "untestable": column(
            pl.Int64, description="number of headline numbers that could not be tested"
        ),
        "detectable": number_column(
            description="smallest effect found in 80 % of such cells; null unless nothing was found"
        ),
        **LARGEST_NUMBER,
        **RATES,
        "reason": column(
            pl.String,
            description="why the cell could not be measured; null if it was",
            nullable=True,
        ),
        "remedy": column(
            pl.String, description="what to do about that; null if nothing is known", nullable=True
        ),
        "answers_differ": column(
            pl.String,
            description=(
                "how groups differ in what was refused, not read or cut short, a finding of its "
                "own; null if they do not, or if answers cannot end so"
            ),
            nullable=True,
        ),
        "answers_differ_p": number_column(
            description="p of that difference (Bonferroni, for all pairs of groups)"
        ),
        "control": column(
            pl.String,
            description=(
                "what the controls and placebos of the cell show; null if no control was measured"
            ),
            nullable=True,
        ),
        "is_control": column(pl.Boolean, description="whether the cell is itself a control"),
    },
    unique=["model", "dataset"],
)
