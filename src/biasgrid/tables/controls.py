"""Counts of significant tests, and what negative controls show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS, SIGNIFICANT
from biasgrid.tables.metric import CONTROL, CONTROLS, NOT_MEASURABLE, Controls, options_text

ASSOCIATIONS = (("subject", "attribute"), ("group", "other"))
"""Keys of what is tested one by one."""
CORRECTED_MEASURES = "_corrected"
"""How measures end that are above 0 for more than noise."""
MISSING_NUMBERS = "the control is not measurable ({flag}), so nothing is known from it"


def of_wholes(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of measures that are about whole cells or bias types."""
    return rows.filter(pl.all_horizontal(pl.col(key).is_null() for key in MEASURE_KEYS if key != "bias_type"))


def single_tests(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of what is tested one by one: associations, and differences of two groups.

    Args:
        measures: schema `MEASURES`.
    """
    return measures.filter(
        pl.col("template").is_null(),
        # What is pooled over all cases says nothing of others.
        pl.col("generalises_to").is_not_null(),
        pl.any_horizontal(pl.all_horizontal(pl.col(key).is_not_null() for key in keys) for keys in ASSOCIATIONS),
    )


def significant_tests(measures: pl.DataFrame) -> pl.DataFrame:
    """Counts what is found of what was tested one by one.

    Args:
        measures: schema `MEASURES`.

    Returns:
        `model`, `dataset`, `bias_type`, `measure` (`significant_tests`), `options`, `generalises_to`, `value`,
        `clusters`, `n` (the number of tests) and `left_out`; the value is null where nothing was tested.
    """
    rows = single_tests(measures)
    tests = pl.col("q").count()
    found = rows.group_by("model", "dataset", "bias_type", "generalises_to", maintain_order=True).agg(
        value=pl.when(tests > 0).then((pl.col("q") <= SIGNIFICANT).sum().cast(pl.Float64)),
        clusters=pl.col("clusters").max(),
        n=tests.cast(pl.Int64),
    )
    return found.with_columns(measure=pl.lit("significant_tests"), options=pl.lit(""), left_out=pl.lit(0, pl.Int64))


def control(rows: pl.DataFrame, found: pl.DataFrame, controls: Controls) -> pl.DataFrame:
    """Says of each dataset what its controls show.

    Args:
        rows: what is measured of whole cells and bias types: columns of `MEASURES`.
        found: from `significant_tests`, of the same cells.
        controls: which cells are controls.

    Returns:
        `model`, `dataset` (that which the control is about), `measure` (`control`), `options` (the control's name),
        `value` (how much is significant in it, null where nothing was tested), `n` (how much was tested), `left_out`
        and `flag`, which says what speaks against reading the dataset's numbers as they are.
    """
    cells = rows.select("model", "dataset").unique(maintain_order=True).rows()
    lines = []
    for model, dataset, about, name in controls.pairs(cells):
        tests = found.filter(model=model, dataset=dataset)
        tested, significant = int(tests["n"].sum()), int(tests["value"].sum())
        flag = control_problem(rows.filter(model=model, dataset=dataset).to_dicts(), name, significant, tested)
        value = float(significant) if tested else None
        lines.append((model, about, CONTROL, options_text(control=name), value, tested, 0, flag))
    names = dict.fromkeys(("model", "dataset", "measure", "options"), pl.String)
    numbers = {"value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64}
    return pl.DataFrame(lines, schema={**names, **numbers, "flag": pl.String}, orient="row")


def control_problem(rows: Sequence[Mapping[str, Any]], name: str, significant: int, tested: int) -> str | None:
    """Words what a control shows that it should not, None where it is quiet.

    Args:
        rows: what is measured of the control as a whole.
        name: its name.
        significant: how much is significant in it.
        tested: of how much.
    """
    withheld = [row["flag"] for row in rows if (row["flag"] or "").startswith(NOT_MEASURABLE)]
    if withheld:
        return MISSING_NUMBERS.format(flag=f"{name}: {withheld[0].removeprefix(f'{NOT_MEASURABLE}: ')}")
    seen = [f"{significant} of {tested} significant"] if significant else []
    seen += [
        f"{row['measure']} {row['low']:.3f} to {row['high']:.3f}"
        for row in rows
        if row["measure"].endswith(CORRECTED_MEASURES) and row["low"] is not None and row["low"] > 0
    ]
    limit = CONTROLS[CONTROL].limit
    return limit.problem.format(flag=f"{name}: {', '.join(seen)}") if seen and limit else None
