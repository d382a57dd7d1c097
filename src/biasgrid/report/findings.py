"""Findings: the verdicts of a model's cells in sentences, one for each row of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from biasgrid.groups.main_scores import score_text
from biasgrid.stats.ordering import values_in_order
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.claims.numbers import format_number, format_p, number_in_words
from biasgrid.tables.key_columns import GROUP_PAIR, find_tested_pair
from biasgrid.tables.verdicts import BIAS_FOUND, NOT_MEASURED, NOTHING_FOUND

LARGEST_LABEL = "largest"
"""Beginning of the parts of sentences that name subjects and attributes."""
NO_CONTROL = "no control was measured, so the wording alone may explain this"
AT_RANDOM = "a control, whose answers are drawn at random"
VerdictRow = Mapping[str, Any]
"""A row of `VERDICTS`."""


class CellFinding(NamedTuple):
    """The verdict of a cell in words.

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

    def datasets_with(self, verdict: str) -> list[str]:
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
    model_findings = []
    for model in values_in_order(verdicts, "model"):
        model_findings.append(model_finding(model, verdicts, summary, facts))
    return model_findings


def model_finding(
    model: str, verdicts: pl.DataFrame, summary: pl.DataFrame, facts: GridFacts
) -> Finding:
    """Returns the findings of a model: of its controls only if it has no other cells.

    Args:
        model: its name.
        verdicts: the verdicts of all models; at least one is of this model.
        summary: the summary of all models.
        facts: see `findings`.
    """
    all_rows = verdicts.filter(model=model)
    rows = all_rows.filter(~pl.col("is_control"))
    if rows.is_empty():
        # All cells of a model that answers at random are controls.
        rows = all_rows
    cells = []
    for row in rows.to_dicts():
        summary_rows = summary.filter(model=model, dataset=row["dataset"])
        cells.append(CellFinding(row, list(cell_parts(row, summary_rows, facts))))
    return Finding(model, cells)


def cell_parts(row: VerdictRow, summary_rows: pl.DataFrame, facts: GridFacts) -> Iterator[str]:
    """Yields the parts of the sentence about a cell, the verdict first.

    Args:
        row: its row of `VERDICTS`.
        summary_rows: its rows of `SUMMARY`.
        facts: see `findings`.
    """
    yield from verdict_parts(row, facts)
    share_asked = facts.asked_text(row["model"], row["dataset"])
    if share_asked:
        yield f"asked: {share_asked}"
    difference = unanswered_text(row)
    if difference:
        yield difference
    if row["is_control"]:
        yield AT_RANDOM
    elif row["control"]:
        yield row["control"]
    elif row["verdict"] == BIAS_FOUND:
        yield NO_CONTROL
    if row["verdict"] != NOT_MEASURED:
        yield from mark_parts(summary_rows)
        yield from warning_parts(summary_rows)


def verdict_parts(row: VerdictRow, facts: GridFacts) -> Iterator[str]:
    """Yields the verdict of a cell, its test and its largest number, or a reason and a remedy."""
    claim = f"{row['verdict']} in {row['dataset']}"
    if row["verdict"] == NOT_MEASURED:
        yield f"{claim}: {row['reason']}"
        if row["remedy"]:
            yield f"to do: {row['remedy'].rstrip('.')}"
        return
    tests = f" over {row['tests']:,} tests" if row["tests"] > 1 else ""
    yield f"{claim} (p {format_p(row['p'])}{tests})"
    yield from significance_parts(row)
    yield from largest_parts(row, facts)
    yield from power_parts(row)


def significance_parts(row: VerdictRow) -> Iterator[str]:
    """Yields the number of significant tests, if bias was found by several tests."""
    if row["verdict"] == BIAS_FOUND and row["tests"] > 1:
        verb = "is" if row["significant"] == 1 else "are"
        yield f"{row['significant']:,} of {row['tests']:,} {verb} significant"


def largest_parts(row: VerdictRow, facts: GridFacts) -> Iterator[str]:
    """Yields the largest significant number, if there is one, and its meaning in words."""
    if row["value"] is None:
        return
    yield f"{LARGEST_LABEL}: {largest_text(row, facts)}"
    template = facts.words.get(row["dataset"], {}).get(row["measure"])
    if template:
        words = number_in_words(template, row["value"], row["rate"], row["other_rate"])
        yield f"that is, {words}"


def power_parts(row: VerdictRow) -> Iterator[str]:
    """Yields the effect that would have been found, and the number of untestable ones, if known."""
    if row["detectable"] is not None:
        effect = format_number(row["detectable"])
        yield f"an effect of {effect} would have been found in 80 % of such cells"
    if row["untestable"]:
        yield f"{row['untestable']:,} more could not be tested"


def unanswered_text(row: VerdictRow) -> str:
    """Returns how groups differ in unanswered questions, with p; `""` if they do not."""
    if not row["answers_differ"]:
        return ""
    return f"{row['answers_differ']} (p {format_p(row['answers_differ_p'])})"


def largest_text(row: VerdictRow, facts: GridFacts) -> str:
    """Returns the largest significant number of a cell in words, with a lower bound of its size.

    The bound is of its distance from equal treatment, which is named unless it is 0.
    """
    headlines = facts.headlines.get(row["dataset"], {})
    _, fair = headlines.get(row["measure"], ("", None))
    number = format_number(row["value"])
    if row["bound"]:
        distance = f" from {fair:g}" if fair else ""
        number = f"{number} (at least {format_number(row['bound'])}{distance})"
    pair = find_tested_pair(row)
    if pair is not None:
        name, other_name = (row[key] for key in pair)
        if pair == GROUP_PAIR:
            score = score_text(row["measure"], row["options"])
            return f"{name} above {other_name} in {score}, {number}"
        return f"{name} with {other_name}, {number}"
    about = f" of {row['bias_type']}" if row["bias_type"] else ""
    return f"{row['measure'].replace('_', ' ')}{about}, {number}"


def mark_parts(summary_rows: pl.DataFrame) -> Iterator[str]:
    """Yields the marks of a cell's headlines, or "no marks" if they could have some."""
    rows = summary_rows.filter("headline")
    marks = rows.drop_nulls("mark")["mark"].to_list()
    if marks:
        yield f"marks: {', '.join(marks)}" if len(marks) > 1 else f"mark: {marks[0]}"
    elif rows["no_mark"].drop_nulls().len():
        yield "no marks"


def warning_parts(summary_rows: pl.DataFrame) -> Iterator[str]:
    """Yields the validity flags that speak against numbers that are shown all the same."""
    checks = summary_rows.filter(~pl.col("headline")).drop_nulls("flag")
    raised_flags = values_in_order(checks, "measure")
    if raised_flags:
        names = [flag.replace("_", " ") for flag in raised_flags]
        yield f"warnings: {', '.join(names)}"


def verdict_counts(model_findings: Sequence[Finding]) -> dict[str, int]:
    """Returns the number of cells with each verdict."""
    counts = dict.fromkeys((BIAS_FOUND, NOTHING_FOUND, NOT_MEASURED), 0)
    for finding in model_findings:
        for cell in finding.cells:
            counts[cell.row["verdict"]] += 1
    return counts
