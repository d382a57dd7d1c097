"""Findings: the verdicts of a model's cells in sentences, each of which puts a row of a table into
words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from biasgrid.groups.main_scores import score_text
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.claims.numbers import format_number, format_p, number_in_words
from biasgrid.tables.verdicts import BIAS_FOUND, NOT_MEASURED, NOTHING_FOUND

LARGEST_LABEL = "largest"
"""How the parts of sentences begin that name subjects and attributes."""
NO_CONTROL = "no control was measured, so the wording alone may explain this"
AT_RANDOM = "a control, whose answers are drawn at random"
VerdictRow = Mapping[str, Any]
"""A row of `VERDICTS`."""


class CellFinding(NamedTuple):
    """The verdict of a cell, and what is said of it.

    Attributes:
        row: its row of `VERDICTS`.
        parts: the parts of its sentence, the verdict first.
    """

    row: VerdictRow
    parts: Sequence[str]

    @property
    def sentence(self) -> str:
        """The whole sentence, which begins with the verdict."""
        return f"{'; '.join(self.parts)}."


class Finding(NamedTuple):
    """The verdicts of a model's cells.

    Attributes:
        model: its name in the config.
        cells: the cells that are no controls; of a model that answers at random, all.
    """

    model: str
    cells: Sequence[CellFinding]

    def datasets_of(self, verdict: str) -> list[str]:
        """Returns the datasets whose cells have a verdict."""
        return [cell.row["dataset"] for cell in self.cells if cell.row["verdict"] == verdict]


def findings(
    verdicts: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts = NO_FACTS
) -> list[Finding]:
    """Returns the findings of each model.

    Args:
        verdicts: schema `VERDICTS`.
        summary: schema `SUMMARY`, of the same cells.
        facts: how much was asked, and how numbers are put into words.

    Returns:
        A finding per model, in the order of the verdicts.
    """
    return [
        finding_of_model(model, verdicts.filter(model=model), summary.filter(model=model), facts)
        for model in values_in_order(verdicts, "model")
    ]


def finding_of_model(
    model: str, verdicts: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts
) -> Finding:
    """Returns the findings of a model; see `findings`."""
    measured = verdicts.filter(~pl.col("is_control"))
    shown = measured if len(measured) else verdicts
    cells = [
        CellFinding(row, list(parts_of_cell(row, summary.filter(dataset=row["dataset"]), facts)))
        for row in shown.to_dicts()
    ]
    return Finding(model, cells)


def parts_of_cell(row: VerdictRow, lines: pl.DataFrame, facts: GridFacts) -> Iterator[str]:
    """Yields the parts of the sentence about a cell.

    Args:
        row: its row of `VERDICTS`.
        lines: its rows of `SUMMARY`.
        facts: see `findings`.
    """
    yield from verdict_parts(row, facts)
    if asked := facts.asked_text(row["model"], row["dataset"]):
        yield f"asked: {asked}"
    if row["answers_differ"]:
        yield f"{row['answers_differ']} (p {format_p(row['answers_differ_p'])})"
    if row["is_control"]:
        yield AT_RANDOM
    elif row["control"]:
        yield row["control"]
    elif row["verdict"] == BIAS_FOUND:
        yield NO_CONTROL
    if row["verdict"] != NOT_MEASURED:
        yield from mark_parts(lines)
        yield from warning_parts(lines)


def verdict_parts(row: VerdictRow, facts: GridFacts) -> Iterator[str]:
    """Yields the verdict of a cell with what it rests on."""
    claim = f"{row['verdict']} in {row['dataset']}"
    if row["verdict"] == NOT_MEASURED:
        yield f"{claim}: {row['reason']}"
        if row["remedy"]:
            yield f"to do: {row['remedy'].rstrip('.')}"
        return
    over = f" over {row['tests']:,} tests" if row["tests"] > 1 else ""
    yield f"{claim} (p {format_p(row['p'])}{over})"
    if row["verdict"] == BIAS_FOUND and row["tests"] > 1:
        yield (
            f"{row['significant']:,} of {row['tests']:,} "
            f"{'is' if row['significant'] == 1 else 'are'} significant"
        )
    if row["value"] is not None:
        yield f"{LARGEST_LABEL}: {largest_text(row, facts)}"
        if template := facts.words.get(row["dataset"], {}).get(row["measure"]):
            yield (
                "that is, "
                f"{number_in_words(template, row['value'], row['rate'], row['other_rate'])}"
            )
    if row["detectable"] is not None:
        yield (
            f"an effect of {format_number(row['detectable'])} would have been found in 80 % of "
            "such cells"
        )
    if row["untestable"]:
        yield f"{row['untestable']:,} more could not be tested"


def largest_text(row: VerdictRow, facts: GridFacts) -> str:
    """Returns the largest significant number of a cell in words, with how far it is from its fair
    value at least.
    """
    _, fair = facts.headlines.get(row["dataset"], {}).get(row["measure"], ("", None))
    apart = f" from {fair:g}" if fair else ""
    bound = f" (at least {format_number(row['bound'])}{apart})" if row["bound"] else ""
    number = f"{format_number(row['value'])}{bound}"
    subject = row["subject"] or row["subject_group"]
    if subject and row["attribute"]:
        return f"{subject} with {row['attribute']}, {number}"
    if row["group"] and row["other"]:
        return (
            f"{row['group']} above {row['other']} in "
            f"{score_text(row['measure'], row['options'])}, {number}"
        )
    about = f" of {row['bias_type']}" if row["bias_type"] else ""
    return f"{row['measure'].replace('_', ' ')}{about}, {number}"


def mark_parts(lines: pl.DataFrame) -> Iterator[str]:
    """Yields the marks of a cell's headlines, or that there are none where there could be some."""
    rows = lines.filter("headline")
    marks = rows.drop_nulls("mark")["mark"].to_list()
    if marks:
        yield f"marks: {', '.join(marks)}" if len(marks) > 1 else f"mark: {marks[0]}"
    elif rows["no_mark"].drop_nulls().len():
        yield "no marks"


def warning_parts(lines: pl.DataFrame) -> Iterator[str]:
    """Yields which validity flags speak against numbers that are shown all the same."""
    flags = (
        lines.filter(~pl.col("headline")).drop_nulls("flag")["measure"].unique(maintain_order=True)
    )
    if len(flags):
        yield f"warnings: {', '.join(flag.replace('_', ' ') for flag in flags)}"


def verdict_counts(found: Sequence[Finding]) -> dict[str, int]:
    """Returns how many cells have each verdict."""
    verdicts = [cell.row["verdict"] for finding in found for cell in finding.cells]
    return {
        verdict: verdicts.count(verdict) for verdict in (BIAS_FOUND, NOTHING_FOUND, NOT_MEASURED)
    }
