"""Results of negative controls, for the summary of their datasets."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

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
NUMBER_TYPES = {"value": pl.Float64, "n": pl.Int64, "left_out": pl.Int64}
TOGETHER = "in {other}, {flag}: a control is withheld with its dataset"
MISSING_NUMBERS = "the control is not measurable ({flag}), so it says nothing"
CONTROL_PROBLEM = CONTROLS[CONTROL].required_limit.problem


def withheld_together(
    rows: pl.DataFrame, headlines: pl.DataFrame, controls: Controls
) -> pl.DataFrame:
    """Withholds controls of datasets whose answers are improbable: the dataset decides for both.

    The answer probabilities of both may be nearly the same, one on each side of the limit, and a
    dataset cannot be compared without its control. A control alone is never withheld for it, see
    `Config.dataset_measures`.

    Args:
        rows: rows about whole cells and bias types: columns of `MEASURES`.
        headlines: `dataset`, `measure` and `options` of headline measures.
        controls: which cells are controls.

    Returns:
        The same rows, with `flag` in headlines and in the flag `IMPROBABLE` of such controls.
    """
    improbable = rows.filter(measure=IMPROBABLE).drop_nulls("flag")
    flags = {}
    for model, dataset, flag in improbable.select("model", "dataset", "flag").iter_rows():
        flags[model, dataset] = flag
    cells = rows.select("model", "dataset").unique(maintain_order=True).rows()
    texts = []
    for cell in controls.control_cells(cells):
        # A model that answers at random is its own control, on the dataset itself.
        if (cell.model, cell.about) in flags and cell.dataset != cell.about:
            text = TOGETHER.format(other=cell.about, flag=flags[cell.model, cell.about])
            texts.append((cell.model, cell.dataset, text))
    schema = dict.fromkeys(("model", "dataset", "text"), pl.String)
    text_of_cell = pl.DataFrame(texts, schema=schema, orient="row")
    text_of_cell = text_of_cell.unique(["model", "dataset"], keep="first")
    number = ["dataset", "measure", "options"]
    places = headlines.select(number).with_columns(is_headline=pl.lit(value=True))
    marked_rows = rows.join(
        text_of_cell, on=["model", "dataset"], how="left", maintain_order="left"
    )
    marked_rows = marked_rows.join(places, on=number, how="left", maintain_order="left")
    withheld = pl.when("is_headline").then(pl.format(f"{NOT_MEASURABLE}: {{}}", "text"))
    flag = withheld.when(pl.col("measure") == IMPROBABLE).then("text")
    return marked_rows.with_columns(flag=pl.coalesce(flag, "flag")).drop("text", "is_headline")


def control_results(
    rows: pl.DataFrame,
    tests: pl.DataFrame,
    controls: Controls,
    corrected_for: Collection[tuple[str, str]] = (),
) -> pl.DataFrame:
    """Summarises the results of the controls of each dataset.

    Args:
        rows: the rows about whole cells and bias types: columns of `MEASURES`.
        tests: the test counts of the same cells, from `significant_tests`.
        controls: which cells are controls.
        corrected_for: (model, control) pairs whose effect is already in the dataset's intervals, so
            it raises no flag. A control that is not measurable raises it all the same.

    Returns:
        `model`, `dataset` (that the control is about), `measure` (`control`), `options` (the
        control's name), `value` (the number of significant tests, null if nothing was tested or
        the control is not measurable), `n` (the number of tests), `left_out` and `flag`, which says
        what speaks against reading the dataset's numbers as they are.
    """
    cells = rows.select("model", "dataset").unique(maintain_order=True).rows()
    lines = []
    for cell in controls.control_cells(cells):
        own_tests = tests.filter(model=cell.model, dataset=cell.dataset)
        test_count, significant = int(own_tests["n"].sum()), int(own_tests["value"].sum())
        own_rows = rows.filter(model=cell.model, dataset=cell.dataset).to_dicts()
        problem = control_problem(
            own_rows, name=cell.name, significant=significant, test_count=test_count
        )
        is_missing = problem is not None and problem.is_missing
        is_corrected_for = (cell.model, cell.name) in corrected_for
        flag = None
        if problem is not None and (is_missing or not is_corrected_for):
            flag = problem.text
        value = float(significant) if test_count and not is_missing else None
        options = options_text(control=cell.name)
        lines.append((cell.model, cell.about, CONTROL, options, value, test_count, 0, flag))
    schema = {**ROW_NAMES, **NUMBER_TYPES, "flag": pl.String}
    return pl.DataFrame(lines, schema=schema, orient="row")


class ControlProblem(NamedTuple):
    """What speaks against reading a dataset's numbers, by one of its controls.

    Attributes:
        text: the problem in words.
        is_missing: whether the control is not measurable, so that it shows nothing, quiet or not.
    """

    text: str
    is_missing: bool


def control_problem(
    rows: Sequence[Mapping[str, Any]], *, name: str, significant: int, test_count: int
) -> ControlProblem | None:
    """Returns the effects that a control should not show, or that it is not measurable.

    Args:
        rows: the control's rows about whole cells and bias types: columns of `MEASURES`. It is not
            measurable if any of them is flagged so.
        name: the control's name, from `Controls.control_cells`.
        significant: the number of its significant tests.
        test_count: the number of its tests.

    Returns:
        None if the control is quiet.
    """
    for row in rows:
        flag = row["flag"] or ""
        if flag.startswith(NOT_MEASURABLE):
            reason = flag.removeprefix(f"{NOT_MEASURABLE}: ")
            text = MISSING_NUMBERS.format(flag=f"{name}: {reason}")
            return ControlProblem(text, is_missing=True)
    signs = [f"{significant} of {test_count} significant"] if significant else []
    for row in rows:
        low = row["low"]
        if row["measure"].endswith(CORRECTED) and low is not None and low > 0:
            interval = f"{format_number(low)} to {format_number(row['high'])}"
            signs.append(f"{row['measure']} {interval}")
    if not signs:
        return None
    text = CONTROL_PROBLEM.format(flag=f"{name}: {', '.join(signs)}")
    return ControlProblem(text, is_missing=False)
