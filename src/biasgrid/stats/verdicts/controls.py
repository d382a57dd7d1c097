"""Sentences about controls and placebos, which accompany the verdict of their cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.tables.claims.numbers import format_number, format_p
from biasgrid.tables.metric import CONTROL, CONTROL_DIFFERENCE, parse_options


def control_text(
    lines: pl.DataFrame, placebos: pl.DataFrame, *, significant: int, test_count: int
) -> str | None:
    """Describes the results of a cell's controls and placebos, None if none was measured.

    Args:
        lines: the cell's rows of the summary.
        placebos: its rows of measures that are placebos.
        significant: the number of its own significant tests.
        test_count: the number of its own tests; 0 if they are not reported.
    """
    share = significant / test_count if test_count else 0.0
    controls = lines.filter(measure=CONTROL).drop_nulls("value")
    texts = [control_result_text(row, share) for row in controls.to_dicts()]
    texts += size_texts(lines)
    texts += [placebo_text(row) for row in placebos.drop_nulls("p").to_dicts()]
    return "; ".join(texts) or None


def control_result_text(row: Mapping[str, Any], share: float) -> str:
    """Returns how many tests of a control are significant.

    Args:
        row: its row of the summary: `value` of `n` tests are significant.
        share: the share of the tests of its dataset that are significant.
    """
    name = parse_options(row["options"])["control"]
    if not row["value"]:
        return f"the control ({name}) found nothing (0 of {row['n']:,})"
    no_less = ", which is no less" if row["value"] / row["n"] >= share else ""
    return f"the control ({name}) shows {row['value']:.0f} of {row['n']:,}{no_less}"


def size_texts(lines: pl.DataFrame) -> Iterator[str]:
    """Yields for each control whether the dataset's associations are larger than its own.

    Args:
        lines: the cell's rows of the summary.
    """
    for row in lines.filter(measure=CONTROL_DIFFERENCE).drop_nulls("value").to_dicts():
        options = parse_options(row["options"])
        size = options["size"].replace("_", " ")
        if row["low"] > 0:
            comparison = "larger"
        elif row["value"] > 0:
            # A difference that is not significant is no proof of equal sizes.
            comparison = "not significantly larger"
        else:
            comparison = "no larger"
        difference = format_number(abs(row["value"]))
        control = options["control"]
        yield f"its {size} is {comparison} than that of the control ({control}; by {difference})"


def placebo_text(row: Mapping[str, Any]) -> str:
    """Returns whether a placebo, which is 0 but for noise, shows a difference.

    Args:
        row: its row of measures, with p.
    """
    name, p = row["measure"].replace("_", " "), format_p(row["p"])
    if row["p"] > SIGNIFICANT:
        return f"the placebo ({name}) found nothing (p {p})"
    return f"the placebo ({name}) shows a difference of {format_number(row['value'])} (p {p})"
