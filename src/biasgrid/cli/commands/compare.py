"""The command that sets two models, or two runs, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasgrid.cli.options import ResultsFolder
from biasgrid.cli.output import console, report_errors

if TYPE_CHECKING:
    import polars as pl
    from rich.console import RenderableType

    from biasgrid.stats.compare.results import Difference

LARGEST_DIFFERENCES = 10
"""So many parts of a kind are shown."""
SENTENCES = 3
LONGEST_SENTENCE = 16
"""Characters of a name that may stand above a column of numbers."""


def compare(
    results: ResultsFolder,
    one: Annotated[
        str | None,
        typer.Argument(help="name of a model, or another folder of results to compare two runs"),
    ] = None,
    other: Annotated[
        str | None, typer.Argument(help="name of the other model, whose number is subtracted")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="name of a dataset; default: all")] = None,
) -> None:
    """Shows how two models differ, or the same models in two runs: numbers, associations,
    sentences.
    """
    from biasgrid.stats.compare.results import (
        compare_two_models,
        compare_two_runs,
        refuse_single_model,
    )

    with report_errors():
        if one is None or other is None:
            if one is None or not Path(one).is_dir():
                refuse_single_model(results, one)
            differences = list(compare_two_runs(results, Path(one), dataset))
        else:
            differences = compare_two_models(results, one, other, dataset)
    for difference in differences:
        for part in comparison_lines(difference, console.width):
            console.print(part)


def comparison_lines(difference: Difference, width: int) -> Iterator[RenderableType]:
    """Yields the comparison of two models on a dataset, part by part."""
    from rich.text import Text

    yield Text(f"{difference.dataset}: {difference.name} less {difference.other_name}", "bold")
    wholes, parts = divide_rows(difference.rows)
    if reason := reason_not_compared(difference.rows):
        yield Text(f"not compared: {reason}\n")
        return
    paired = difference.rows["paired"].drop_nulls()
    clusters = max(difference.rows["clusters"].drop_nulls().to_list())
    method = "different templates: the variances of both models are added"
    if paired.all():
        method = "the same templates: each cluster is left out of both models"
    yield Text(f"{clusters} clusters, {method}", "dim")
    other_factors = difference.rows["other_factors"].drop_nulls().unique().sort().to_list()
    if other_factors:
        factors = " or ".join(other_factors)
        yield Text(
            f"intervals of parts cover other {factors}, too; those of whole cells are for these "
            f"{factors} only",
            "dim",
        )
    yield comparison_table(wholes.to_dicts(), difference, width)
    for kind in parts:
        yield from lines_of_parts(kind, difference, width)


def divide_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[pl.DataFrame]]:
    """Returns the rows of whole cells, and a table of rows for each kind of parts."""
    import polars as pl

    from biasgrid.tables.key_columns import is_about_whole
    from biasgrid.tables.measures import MEASURE_KEYS, rows_about_wholes

    has = [pl.col(key).is_not_null().alias(f"has {key}") for key in MEASURE_KEYS]
    kinds = rows.filter(~is_about_whole()).group_by("measure", "options", *has, maintain_order=True)
    return rows_about_wholes(rows), [kind.select(rows.columns) for _, kind in kinds]


def reason_not_compared(rows: pl.DataFrame) -> str | None:
    """Returns the reason why two models are not compared at all, None if they are."""
    if rows["difference"].count():
        return None
    reasons: list[str] = rows["reason"].drop_nulls().to_list()
    return (reasons or ["nothing was measured for both models"])[0]


def lines_of_parts(
    rows: pl.DataFrame, difference: Difference, width: int
) -> Iterator[RenderableType]:
    """Yields the largest significant differences of a kind of parts, with sentences.

    Args:
        rows: the rows of the kind, at least one, the largest differences first.
        difference: the difference of both models, which finds sentences.
        width: the maximum number of characters in a line.
    """
    from rich.text import Text

    from biasgrid.stats.multiplicity import SIGNIFICANT, is_significant
    from biasgrid.tables.measures import MEASURE_KEYS

    keys = [key for key in MEASURE_KEYS if rows[key].count()]
    significant = rows.filter(is_significant())
    key_names = ", ".join(key.replace("_", " ") for key in keys)
    tests = rows["tests"][0]
    yield Text(
        f"\n{rows['measure'][0]} by {key_names}: {len(significant)} of {tests:,} are "
        f"distinguishable (q <= {SIGNIFICANT})"
    )
    differences = significant.head(LARGEST_DIFFERENCES).to_dicts() or rows.head(1).to_dicts()
    yield comparison_table(differences, difference, width, keys)
    for row in differences[:SENTENCES]:
        text = difference.illustrating_sentence(row)
        if text is not None:
            part = ", ".join(str(row[key]) for key in keys)
            yield Text(f"  {part}: {' '.join(text.split())}", "italic")


def comparison_table(
    rows: list[dict[str, Any]], difference: Difference, width: int, keys: list[str] | None = None
) -> RenderableType:
    """Draws rows of `COMPARISONS` as a table.

    Args:
        rows: the rows.
        difference: the difference of both models, which names them.
        width: the maximum number of characters in a line.
        keys: the keys of parts; None for whole cells, whose rows are named by their measures.
    """
    from biasgrid.cli.tables import fit_to_width, terminal_table
    from biasgrid.tables.claims.numbers import format_number

    names = keys
    if not names:
        names = ["measure"]
        if any(row["bias_type"] for row in rows):
            names.append("bias_type")
    sides = []
    for name, short_title in ((difference.name, "one"), (difference.other_name, "other")):
        sides.append(name if len(name) <= LONGEST_SENTENCE else short_title)
    titles = [*sides, "difference", f"{100 * difference.level:g} %", "q"]
    name_titles = [name.replace("_", " ") for name in names]
    table = terminal_table(name_titles, titles, width)
    for row in rows:
        table.add_row(
            *(row_label(row, name) for name in names),
            number_with_mark(row, ""),
            number_with_mark(row, "other_"),
            format_number(row["difference"]),
            interval_text(row),
            format_number(row["q"]),
        )
    return fit_to_width(table, ["q", *reversed(sides)], width, name_titles=name_titles)


def row_label(row: Mapping[str, Any], name: str) -> str:
    """Returns the label of a row: a key, or a measure with its options."""
    options = f" ({row['options']})" if name == "measure" and row["options"] else ""
    return f"{row[name] or ''}{options}"


def number_with_mark(row: Mapping[str, Any], side: str) -> str:
    """Returns the number of a model with its mark, if it has one."""
    from biasgrid.tables.claims.numbers import format_number

    parts = [format_number(row[f"{side}value"]), row[f"{side}mark"]]
    return " ".join(filter(None, parts))


def interval_text(row: Mapping[str, Any]) -> str:
    """Returns an interval in words.

    A number that was picked because it is significant has a wider one, which allows for that.
    """
    from biasgrid.tables.claims.numbers import format_number

    chosen = "" if row["selected_low"] is None else "selected_"
    low, high = row[f"{chosen}low"], row[f"{chosen}high"]
    return "-" if low is None else f"{format_number(low)}..{format_number(high)}"
