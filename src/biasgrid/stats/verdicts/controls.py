"""What controls and placebos show, in words, beside the verdict of their cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.tables.claims.numbers import format_number, format_p
from biasgrid.tables.metric import CONTROL, CONTROL_DIFFERENCE, options_of


def control_text(
    lines: pl.DataFrame, placebos: pl.DataFrame, significant: int, tests: int
) -> str | None:
    """Returns what the controls of a cell show; None where no control was measured.

    Args:
        lines: the cell's rows of the summary.
        placebos: its rows of measures that are placebos.
        significant: how many of its own tests are significant.
        tests: how many tests it has.
    """
    share = significant / tests if tests else 0.0
    texts = [
        text_of_control(row, share)
        for row in lines.filter(measure=CONTROL).drop_nulls("value").to_dicts()
    ]
    texts += size_texts(lines)
    texts += [text_of_placebo(row) for row in placebos.drop_nulls("p").to_dicts()]
    return "; ".join(texts) or None


def text_of_control(row: Mapping[str, Any], share: float) -> str:
    """Returns how much is significant in a control.

    Args:
        row: its row of the summary: `value` of `n` tests are significant.
        share: of the tests of its dataset that are significant.
    """
    name = options_of(row["options"])["control"]
    if not row["value"]:
        return f"the control ({name}) found nothing (0 of {row['n']:,})"
    no_less = ", which is no less" if row["value"] / row["n"] >= share else ""
    return f"the control ({name}) shows {row['value']:.0f} of {row['n']:,}{no_less}"


def size_texts(lines: pl.DataFrame) -> Iterator[str]:
    """Yields how large what is associated in a dataset is beside its controls."""
    for row in lines.filter(measure=CONTROL_DIFFERENCE).drop_nulls("value").to_dicts():
        chosen = options_of(row["options"])
        size = chosen["size"].replace("_", " ")
        # A larger size that may be chance is no proof that it is none.
        more = (
            "larger"
            if row["low"] > 0
            else "not significantly larger"
            if row["value"] > 0
            else "no larger"
        )
        apart = format_number(abs(row["value"]))
        yield f"its {size} is {more} than that of the control ({chosen['control']}; by {apart})"


def text_of_placebo(row: Mapping[str, Any]) -> str:
    """Returns whether a placebo, a difference where none can be, shows one."""
    name = row["measure"].replace("_", " ")
    if row["p"] > SIGNIFICANT:
        return f"the placebo ({name}) found nothing (p {format_p(row['p'])})"
    return (
        f"the placebo ({name}) shows a difference of "
        f"{format_number(row['value'])} (p {format_p(row['p'])})"
    )
