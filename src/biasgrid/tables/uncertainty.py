"""Measures with their uncertainty: intervals, counts of significant tests, and rows of negative controls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.metric import CONTROL, CONTROLS, NOT_MEASURABLE, STEREOTYPE_AGREEMENT, Controls, options_text
from biasgrid.tables.statistics import ROW, SIGNIFICANT

UNCERTAINTY = ("generalises_to", "selected_low", "selected_high", "null_mean", "clusters")
"""What measures are shown with beside their interval, p and q."""
CELL_ROW = ("model", "dataset", *ROW)
ASSOCIATIONS = (("subject", "attribute"), ("group", "other"))
"""Keys of what is tested one by one."""
CORRECTED_MEASURES = "_corrected"
"""How measures end that are above 0 for more than noise."""
MISSING_NUMBERS = "the control is not measurable ({flag}), so nothing is known from it"


def reported_rows(statistics: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows over what a number is shown over: those of groups over all, others over templates.

    Names are a sample, so what is said of a group of them must hold for other names too. Agreement with stereotypes
    is said of groups in cells that have some.

    Args:
        statistics: schema `STATISTICS`; of cells with groups the rows of these too.
    """
    of_subject_group = pl.col("subject_group").is_not_null()
    of_subject_groups = (pl.col("measure") == STEREOTYPE_AGREEMENT) & of_subject_group.any().over("model", "dataset")
    generalises_to = pl.when(of_subject_group | of_subject_groups).then(pl.lit("all")).otherwise(pl.lit("templates"))
    return statistics.filter(pl.col("generalises_to") == generalises_to)


def with_uncertainty(measures: pl.DataFrame, statistics: pl.DataFrame) -> pl.DataFrame:
    """Puts beside each measure its interval and what else is known of it; see `join_intervals`.

    Args:
        measures: schema `MEASURES`.
        statistics: schema `STATISTICS`, of any cells.
    """
    return join_intervals(measures, reported_rows(statistics))


def join_intervals(measures: pl.DataFrame, chosen: pl.DataFrame) -> pl.DataFrame:
    """Puts beside each measure its interval and what else is known of it.

    Args:
        measures: schema `MEASURES`.
        chosen: rows of `STATISTICS` from `reported_rows`.

    Returns:
        The measures with their own low, high, p and q or, where they have none, those of the statistics, and the
        columns of `UNCERTAINTY`; below them what the statistics alone know, such as mu without noise.
    """
    columns = ["low", "high", "p", "q"]
    known = chosen.select(*CELL_ROW, "value", "n", *columns, *UNCERTAINTY)
    joined = measures.join(
        known.drop("value", "n"), on=CELL_ROW, how="left", nulls_equal=True, suffix="_known", maintain_order="left"
    )
    filled = joined.with_columns(pl.coalesce(name, f"{name}_known").alias(name) for name in columns)
    beyond = known.join(measures, on=CELL_ROW, how="anti", nulls_equal=True, maintain_order="left")
    own = beyond.with_columns(left_out=pl.lit(0, pl.Int64))
    return pl.concat([filled.drop(f"{name}_known" for name in columns), own], how="diagonal")


def of_wholes(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of measures or statistics that are about whole cells or bias types."""
    return rows.filter(pl.all_horizontal(pl.col(key).is_null() for key in MEASURE_KEYS if key != "bias_type"))


def single_tests(statistics: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of what is tested one by one: associations, and differences of two groups.

    Args:
        statistics: schema `STATISTICS`.
    """
    return reported_rows(statistics).filter(
        pl.col("template").is_null(),
        pl.any_horizontal(pl.all_horizontal(pl.col(key).is_not_null() for key in keys) for keys in ASSOCIATIONS),
    )


def count_significant(statistics: pl.DataFrame) -> pl.DataFrame:
    """Counts what is found of what was tested one by one.

    Args:
        statistics: schema `STATISTICS`.

    Returns:
        `model`, `dataset`, `bias_type`, `measure` (`significant_tests`), `options`, `generalises_to`, `value`,
        `clusters`, `n` (the number of tests) and `left_out`; the value is null where nothing was tested.
    """
    rows = single_tests(statistics)
    tests = pl.col("q").count()
    found = rows.group_by("model", "dataset", "bias_type", "generalises_to", maintain_order=True).agg(
        value=pl.when(tests > 0).then((pl.col("q") <= SIGNIFICANT).sum().cast(pl.Float64)),
        clusters=pl.col("clusters").max(),
        n=tests.cast(pl.Int64),
    )
    return found.with_columns(measure=pl.lit("significant_tests"), options=pl.lit(""), left_out=pl.lit(0, pl.Int64))


def control_rows(rows: pl.DataFrame, found: pl.DataFrame, controls: Controls) -> pl.DataFrame:
    """Says of each dataset what its controls show.

    Args:
        rows: what is measured of whole cells and bias types: columns of `MEASURES`.
        found: from `count_significant`, of the same cells.
        controls: which cells are controls.

    Returns:
        `model`, `dataset` (that which the control is about), `measure` (`control`), `options` (the control's name),
        `value` (how much is significant in it, null where nothing was tested), `n` (how much was tested), `left_out`
        and `flag`, which says what speaks against reading the dataset's numbers as they are.
    """
    cells = rows.select("model", "dataset").unique(maintain_order=True).rows()
    lines = []
    for model, control, about, name in controls.pairs(cells):
        tests = found.filter(model=model, dataset=control)
        tested, significant = int(tests["n"].sum()), int(tests["value"].sum())
        flag = control_problem(rows.filter(model=model, dataset=control).to_dicts(), name, significant, tested)
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
