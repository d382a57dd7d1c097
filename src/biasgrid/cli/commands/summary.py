"""The summary of a grid as tables for a terminal: numbers, with their intervals below them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from biasgrid.base.faults import UserError
from biasgrid.cli.options import ResultsFolder
from biasgrid.cli.output import console, report_errors
from biasgrid.cli.tables import fit_to_width, terminal_table
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.claims.numbers import (
    NO_NUMBER,
    TOO_LITTLE,
    FormattedNumber,
    format_estimate,
    format_number,
    is_size,
)

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.report.findings import Finding

SUMMARY_TABLE = "summary.parquet"
SummaryRow = Mapping[str, Any]
TESTS = "significant_tests"
MOST_IN_SENTENCES = 3
"""Maximum number of models whose findings are sentences; those of more are a table."""
CLUSTERS = "templates that do not reword each other"
HEADLINE_NAMES = {
    "dataset": "dataset",
    "model": "model",
    "bias_type": "bias type",
    "scoring": "scoring",
}


def summary(results: ResultsFolder) -> None:
    """Prints the measures of each cell and bias type, the findings, and the path of the report."""
    with report_errors():
        print_summary(results)


def summary_tables(
    rows: Iterable[SummaryRow], width: int, level: float = 0.95, facts: GridFacts = NO_FACTS
) -> RenderableType:
    """Draws the measures, a line per cell and bias type; a table for each set of headline measures.

    Args:
        rows: the rows of headline measures in the summary (schema `SUMMARY`).
        width: the maximum number of characters in a line.
        level: the coverage of intervals.
        facts: the ranges of measures.
    """
    lines: dict[tuple[Any, ...], list[SummaryRow]] = {}
    for row in rows:
        key = (row["dataset"], row["model"], row["bias_type"], row["scoring"])
        lines.setdefault(key, []).append(row)
    tables: dict[tuple[tuple[str, str], ...], list[list[SummaryRow]]] = {}
    for line in lines.values():
        measures = tuple((row["measure"], row["options"]) for row in line)
        tables.setdefault(measures, []).append(line)
    parts: list[RenderableType] = []
    for measures, lines_of_table in tables.items():
        parts += summary_table(measures, lines_of_table, width, level, facts)
    return Group(*parts)


def summary_table(
    measures: Sequence[tuple[str, str]],
    lines: Sequence[Sequence[SummaryRow]],
    width: int,
    level: float,
    facts: GridFacts,
) -> Iterator[RenderableType]:
    """Yields a table of cells with the same headline measures, its legend, and their options.

    Args:
        measures: measure and options of each column.
        lines: the rows of the summary in each line, one for each column.
        width: the maximum number of characters in a line.
        level: the coverage of intervals.
        facts: the ranges of measures.
    """
    rows = [row for line in lines for row in line]
    columns = [name for name in HEADLINE_NAMES if rows[0][name] is not None]
    headings = [HEADLINE_NAMES[name] for name in columns]
    titles = [name.replace("_", "\n") for name, _ in measures]
    has_intervals = any(is_known(row) for row in rows)
    counts = ["clusters", "n"] if has_intervals else ["n"]
    table = terminal_table(headings, [*titles, *counts], width)
    for line in lines:
        table.add_row(*table_line(line, columns, facts, has_intervals=has_intervals))
    # The main measure comes first, so it is the last measure that a narrow terminal lacks; and no
    # number is read without how much it is of.
    least_needed = ["scoring", "clusters", *reversed(titles[1:]), "n"]
    yield fit_to_width(table, least_needed, width, name_titles=headings)
    if has_intervals:
        yield Text(legend(rows, level, facts), style="dim")
    yield options_legend(measures)


def options_legend(measures: Sequence[tuple[str, str]]) -> Text:
    """Returns a line for each measure that has options; empty if none has."""
    lines = [f"{name}: {options}\n" for name, options in measures if options]
    return Text("".join(lines), style="dim")


def table_line(
    line: Sequence[SummaryRow], columns: Sequence[str], facts: GridFacts, *, has_intervals: bool
) -> list[str | Text]:
    """Returns the texts of a line of a table: names, numbers and counts.

    Args:
        line: its rows of the summary.
        columns: the columns of names, such as `model`.
        facts: the ranges of measures.
        has_intervals: whether numbers have a second line, for their intervals.
    """
    names = [line[0][column] or "" for column in columns]
    numbers = [headline_text(row, facts, has_intervals=has_intervals) for row in line]
    counts = [f"{line[-1]['n']:,}"]
    if not has_intervals:
        return [*names, *numbers, *counts]
    clusters = max((row["clusters"] or 0 for row in line), default=0)
    counts.insert(0, str(clusters or "-"))
    # An empty second line keeps a text level with the numbers, not with their intervals.
    return [
        *(f"{name}\n " for name in names),
        *numbers,
        *(f"{count}\n " for count in counts),
    ]


def is_known(row: SummaryRow) -> bool:
    """Whether the uncertainty of a number is known, as an interval or a noise floor."""
    return row["low"] is not None or row["null_mean"] is not None


def headline_text(row: SummaryRow, facts: GridFacts, *, has_intervals: bool) -> Text:
    """Returns a number and, in a second line, its interval or noise floor; a dash for none.

    Args:
        row: the number's row of the summary.
        facts: the ranges of measures.
        has_intervals: whether any number of the table has a second line.
    """
    if row["measure"] == TESTS:
        return Text(tests_text(row, "\n" if has_intervals else " "))
    written = estimate_text(row, facts)
    text = f"{written.value} {row['mark'] or ''}".strip()
    if has_intervals:
        text = f"{text}\n{written.interval or noise_floor(row)}"
    return Text(text, style="dim" if written.says_little else "")


def estimate_text(row: SummaryRow, facts: GridFacts) -> FormattedNumber:
    """Returns a number of the summary in words, with its interval."""
    value_range = facts.value_range(dataset=row["dataset"], measure=row["measure"])
    return format_estimate(row, value_range, "..")


def tests_text(row: SummaryRow, separator: str) -> str:
    """Returns the number of significant tests, of all tests, and of those that were not possible.

    Args:
        row: the row of the summary.
        separator: a space or line break after the first number.
    """
    if row["value"] is None and not row["left_out"]:
        return NO_NUMBER
    significant = NO_NUMBER if row["value"] is None else f"{row['value']:.0f}"
    untestable = f" (+{row['left_out']:,})" if row["left_out"] else ""
    return f"{significant}{separator}of {row['n']:,}{untestable}"


def noise_floor(row: SummaryRow) -> str:
    """Returns the noise floor of a number without an interval, a dash if it has none."""
    return NO_NUMBER if row["null_mean"] is None else f">{format_number(row['null_mean'])}"


def legend(rows: Sequence[SummaryRow], level: float, facts: GridFacts) -> str:
    """Returns the meaning of the second lines, and of dim numbers.

    Args:
        rows: the rows of the summary in a table.
        level: the coverage of intervals.
        facts: the ranges of measures.
    """
    numbers = [row for row in rows if row["measure"] != TESTS]
    tests = [row for row in rows if row["measure"] == TESTS]
    lines = [
        *interval_legend(numbers, level),
        *test_legend(tests),
        *left_out_lines(numbers),
        *facts.relative_sentences(numbers),
    ]
    if any(estimate_text(row, facts).says_little for row in numbers):
        lines.append(f"dim: {TOO_LITTLE} (the interval is wider than half the range)")
    lines += mark_legend(numbers)
    return "\n".join(lines)


def interval_legend(numbers: Sequence[SummaryRow], level: float) -> Iterator[str]:
    """Yields the meaning of intervals and noise floors, if there are any."""
    with_interval = [row for row in numbers if row["low"] is not None]
    factors = dict.fromkeys(row["generalises_to"] or "" for row in with_interval)
    if factors:
        factor_texts = "; ".join(map(factors_text, factors))
        yield f"a..b: {100 * level:g} % interval over {factor_texts}"
    if any(row["null_mean"] is not None and row["low"] is None for row in numbers):
        yield ">c: noise alone would give c"


def test_legend(tests: Sequence[SummaryRow]) -> Iterator[str]:
    """Yields the meaning of numbers of tests, if there are any."""
    if tests:
        yield (
            f"{TESTS}: significant of those tested (q <= 0.05: the share of false positives among "
            "the significant, averaged over such cells, is at most 5 %)"
        )
    if any(row["left_out"] for row in tests):
        yield "(+d): d more could not be tested, because there are too few clusters"


def left_out_lines(numbers: Sequence[SummaryRow]) -> Iterator[str]:
    """Yields a line for each size that covers only a part of its units."""
    for row in numbers:
        if is_size(row["measure"]) and row["left_out"]:
            units = row["n"] + row["left_out"]
            yield (
                f"{row['measure']} of {row['dataset']}, {row['model']}: over {row['n']:,} of "
                f"{units:,}; nothing is known about the others"
            )


def mark_legend(numbers: Sequence[SummaryRow]) -> Iterator[str]:
    """Yields the meaning of ranges of marks, and the items needed for a single mark."""
    ranges = [row for row in numbers if row["mark"] and " to " in row["mark"]]
    if ranges:
        yield "A to C: the interval covers several marks"
    for row in ranges:
        if row["more_items"]:
            yield (
                f"{row['measure']} ({row['dataset']}, {row['model']}): a single mark needs "
                f"{row['more_items']:,} more items"
            )


def factors_text(factors: str) -> str:
    """Explains the factors of an interval, such as `clusters x names`."""
    if not factors.startswith("clusters"):
        return factors
    return f"clusters ({CLUSTERS}){factors.removeprefix('clusters')}"


def mass_lines(facts: GridFacts) -> Text:
    """Returns the total probability of the options of scored datasets, a line for each cell."""
    lines = Text()
    for cell, cell_facts in facts.cells.items():
        mass = cell_facts.get("answered", {}).get("mass")
        if mass is None:
            continue
        if not lines:
            lines.append("Mass (probability of all options together):\n", "bold")
        dataset, _, model = cell.partition("/")
        median, lowest_tenth = format_number(mass["median"]), format_number(mass["lowest_tenth"])
        numbers = f"median {median}, lowest tenth below {lowest_tenth}"
        lines.append(f"  {dataset}, {model}: {numbers}\n", "not bold")
    return lines


def flag_lines(flags: Iterable[SummaryRow]) -> Text:
    """Returns the validity flags of cells in words.

    Args:
        flags: rows of `tables.summary.flag_rows`.
    """
    lines = Text()
    for withholds, group in groupby(flags, key=lambda flag: flag["withholds"]):
        heading, style = "Warnings:", "bold yellow"
        if withholds:
            heading, style = "Not measurable:", "bold red"
        lines.append(f"{heading}\n", style)
        for flag in group:
            models = ", ".join(flag["models"])
            lines.append(f"  {flag['dataset']}: {flag['flag']} ({models})\n")
    return lines


def finding_lines(findings: Sequence[Finding], width: int) -> RenderableType:
    """Returns the verdicts: sentences, or a table with a row for each of many models.

    Args:
        findings: the findings of each model.
        width: the maximum number of characters in a line.
    """
    lines = Text("Found:\n", style="bold")
    if len(findings) > MOST_IN_SENTENCES:
        return Group(lines, verdict_table(findings, width))
    for finding in findings:
        lines.append(f"  {finding.model}\n", "not bold")
        lines.append("".join(f"    {cell.sentence}\n" for cell in finding.cells), "not bold")
    return lines


def verdict_table(findings: Sequence[Finding], width: int) -> RenderableType:
    """Returns a table of datasets, with a row for each model and a column for each verdict."""
    from biasgrid.tables.verdicts import VERDICTS_OF_CELLS

    table = terminal_table(["model", *VERDICTS_OF_CELLS], [], width)
    for finding in findings:
        datasets = [", ".join(finding.datasets_with(verdict)) for verdict in VERDICTS_OF_CELLS]
        table.add_row(finding.model, *(names or "-" for names in datasets))
    return table


def rank_lines(ranks: Iterable[SummaryRow]) -> Text:
    """Returns the ranks of models in words, a line for each set that is ranked together.

    Args:
        ranks: rows of `tables.summary.main_ranks`.
    """
    lines = Text()
    names = ("dataset", "bias_type", "measure", "set")
    # The set tells rankings apart, and is not printed.
    for key, models in groupby(ranks, key=lambda row: tuple(row[name] for name in names)):
        if not lines:
            lines.append(
                "Ranks (1 is the largest number, or the one furthest from equal treatment; "
                "a..b is the interval of a rank):\n",
                "bold",
            )
        subject = ", ".join(name for name in key[:-1] if name)
        order = ", ".join(
            f"{row['rank']} {row['model']} ({row['rank_low']}..{row['rank_high']})"
            for row in models
        )
        lines.append(f"  {subject}: {order}\n", "not bold")
    return lines


def print_summary(results: Path) -> None:
    """Prints measures, validity flags, findings and ranks, and the path of the report.

    Args:
        results: the folder of results.

    Raises:
        UserError: there is no summary yet.
    """
    from biasgrid.stats.compare.comparability import same_models
    from biasgrid.tables.comparison import RANKS
    from biasgrid.tables.files import read_table
    from biasgrid.tables.summary import flag_rows, main_ranks

    measured, provenance = read_summary(results)
    facts = GridFacts.from_provenance(provenance)
    level = provenance.get("statistics", {}).get("level", 0.95)
    console.print(coverage_lines(facts), end="")
    headlines = measured.filter("headline").iter_rows(named=True)
    console.print(summary_tables(headlines, console.width, level, facts))
    masses = mass_lines(facts)
    if masses:
        console.print(masses)
    console.print(flag_lines(flag_rows(measured).to_dicts()))
    console.print(findings_of_run(results, measured, facts))
    ranks: list[SummaryRow] = []
    for file in sorted(results.glob("ranks/*.parquet")):
        table = main_ranks(measured, read_table(file, RANKS), facts.silenced)
        ranks += table.iter_rows(named=True)
    if ranks:
        console.print(rank_lines(ranks))
    same_models_text = same_models(provenance.get("measures", {}))
    if same_models_text:
        console.print(Text(same_models_text))
    print_report_path(results)


def print_findings(results: Path) -> None:
    """Prints the findings, and the paths of numbers and report; see `print_summary`."""
    measured, provenance = read_summary(results)
    facts = GridFacts.from_provenance(provenance)
    console.print(coverage_lines(facts), end="")
    console.print(findings_of_run(results, measured, facts))
    console.print(f"Numbers: biasgrid summary {results}", soft_wrap=True)
    print_report_path(results)


def print_report_path(results: Path) -> None:
    """Prints the path of the report."""
    console.print(f"Report: {results / 'report' / 'index.html'}", soft_wrap=True)


def coverage_lines(facts: GridFacts) -> Text:
    """Returns a note that a run is a trial, or that datasets were asked in part; else empty."""
    lines = Text()
    trial = facts.trial_text()
    if trial:
        lines.append(f"{trial}.\n", "bold yellow")
        return lines
    sentences = facts.coverage_sentences()
    if sentences:
        lines.append("Asked in part:\n", "bold yellow")
        lines.append("".join(f"  {sentence}\n" for sentence in sentences))
    return lines


def read_summary(results: Path) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Reads the summary of a run and its provenance; raises UserError if there is none."""
    from biasgrid.tables.files import read_provenance, read_table
    from biasgrid.tables.measures import SUMMARY

    path = results / SUMMARY_TABLE
    if not path.exists():
        raise UserError(
            f"there is no {path}: the run has not finished, or has not started; `biasgrid status "
            "CONFIG` shows its progress"
        )
    return read_table(path, SUMMARY), read_provenance(path)


def findings_of_run(results: Path, measured: pl.DataFrame, facts: GridFacts) -> RenderableType:
    """Returns the verdicts of a run with a summary."""
    from biasgrid.report.findings import findings
    from biasgrid.runs.results import Results

    return finding_lines(findings(Results(results).verdicts(), measured, facts), console.width)
