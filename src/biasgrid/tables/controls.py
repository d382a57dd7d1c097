"""What negative controls show."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.tables.claims.numbers import CORRECTED, format_number
from biasgrid.tables.metric import (
    CONTROL,
    CONTROLS,
    IMPROBABLE,
    NOT_MEASURABLE,
    Controls,
    options_text,
)

ROW_NAMES = dict.fromkeys(("model", "dataset", "measure", "options"), pl.String)
NUMBERS = {"value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64}
NO_NUMBERS = "the control is not measurable"
TOGETHER = "in {other}, {flag}: a control is withheld with its dataset"
MISSING_NUMBERS = NO_NUMBERS + " ({flag}), so it says nothing"


def withheld_together(
    rows: pl.DataFrame, headlines: pl.DataFrame, controls: Controls
) -> pl.DataFrame:
    """Withholds controls of datasets that are improbable: the dataset decides for both.

    The limit lies between two shares that may be nearly the same, and with one of both numbers
    nothing can be compared. A control alone is never withheld for it, see `Config.measures_of`.

    Args:
        rows: what is measured of whole cells and bias types: columns of `MEASURES`.
        headlines: `dataset`, `measure` and `options` of headline measures.
        controls: which cells are controls.
    """
    improbable = rows.filter(measure=IMPROBABLE).drop_nulls("flag")
    flags = {}
    for model, dataset, flag in improbable.select("model", "dataset", "flag").iter_rows():
        flags[model, dataset] = flag
    cells = rows.select("model", "dataset").unique(maintain_order=True).rows()
    texts = []
    for model, name, about, _ in controls.pairs(cells):
        if (model, about) in flags and name != about:
            text = TOGETHER.format(other=about, flag=flags[model, about])
            texts.append((model, name, text))
    schema = dict.fromkeys(("model", "dataset", "text"), pl.String)
    text_of_cell = pl.DataFrame(texts, schema=schema, orient="row")
    text_of_cell = text_of_cell.unique(["model", "dataset"], keep="first")
    number = ["dataset", "measure", "options"]
    places = headlines.select(number).with_columns(is_headline=pl.lit(value=True))
    joined = rows.join(text_of_cell, on=["model", "dataset"], how="left", maintain_order="left")
    joined = joined.join(places, on=number, how="left", maintain_order="left")
    withheld = pl.when("is_headline").then(pl.format(f"{NOT_MEASURABLE}: {{}}", "text"))
    flag = withheld.when(pl.col("measure") == IMPROBABLE).then("text")
    return joined.with_columns(flag=pl.coalesce(flag, "flag")).drop("text", "is_headline")


def control(
    rows: pl.DataFrame,
    found: pl.DataFrame,
    controls: Controls,
    beside: Collection[tuple[str, str]] = (),
) -> pl.DataFrame:
    """Summarises the results of the controls of each dataset.

    Args:
        rows: what is measured of whole cells and bias types: columns of `MEASURES`.
        found: from `significant_tests`, of the same cells.
        controls: which cells are controls.
        beside: model and control of the cells whose size is in the intervals of their dataset,
            where it speaks against nothing any more.

    Returns:
        `model`, `dataset` (that which the control is about), `measure` (`control`), `options` (the
        control's name), `value` (how much is significant in it, null where nothing was tested), `n`
        (how much was tested), `left_out` and `flag`, which says what speaks against reading the
        dataset's numbers as they are.
    """
    cells = rows.select("model", "dataset").unique(maintain_order=True).rows()
    lines = []
    for model, dataset, about, name in controls.pairs(cells):
        tests = found.filter(model=model, dataset=dataset)
        tested, significant = int(tests["n"].sum()), int(tests["value"].sum())
        own_rows = rows.filter(model=model, dataset=dataset).to_dicts()
        flag = control_problem(own_rows, name, significant, tested)
        # What is not measurable shows nothing, quiet or not.
        is_missing = (flag or "").startswith(NO_NUMBERS)
        if (model, name) in beside and not is_missing:
            flag = None
        value = float(significant) if tested and not is_missing else None
        lines.append((model, about, CONTROL, options_text(control=name), value, tested, 0, flag))
    return pl.DataFrame(lines, schema={**ROW_NAMES, **NUMBERS, "flag": pl.String}, orient="row")


def control_problem(
    rows: Sequence[Mapping[str, Any]], name: str, significant: int, tested: int
) -> str | None:
    """Words effects that a control should not show, None if it shows none.

    Args:
        rows: what is measured of the control as a whole.
        name: its name.
        significant: how much is significant in it.
        tested: of how much.
    """
    for row in rows:
        flag = row["flag"] or ""
        if flag.startswith(NOT_MEASURABLE):
            reason = flag.removeprefix(f"{NOT_MEASURABLE}: ")
            return MISSING_NUMBERS.format(flag=f"{name}: {reason}")
    signs = [f"{significant} of {tested} significant"] if significant else []
    for row in rows:
        low = row["low"]
        if row["measure"].endswith(CORRECTED) and low is not None and low > 0:
            interval = f"{format_number(low)} to {format_number(row['high'])}"
            signs.append(f"{row['measure']} {interval}")
    limit = CONTROLS[CONTROL].limit
    if not signs or limit is None:
        return None
    return limit.problem.format(flag=f"{name}: {', '.join(signs)}")
