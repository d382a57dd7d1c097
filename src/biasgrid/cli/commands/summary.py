"""The summary of a grid as tables for a terminal: numbers, with how sure they are below them."""

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
"""The findings of more models are a table."""
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
        rows: the rows of the summary (schema `SUMMARY`) that are of headline measures.
        width: how many characters a line may have.
        level: the coverage of intervals.
        facts: between what the numbers of measures are.
    """
    cells: dict[tuple[Any, ...], list[SummaryRow]] = {}
    for row in rows:
        cells.setdefault(
            (row["dataset"], row["model"], row["bias_type"], row["scoring"]), []
        ).append(row)
    tables: dict[tuple[tuple[str, str], ...], list[list[SummaryRow]]] = {}
    for cell in cells.values():
        tables.setdefault(tuple((row["measure"], row["options"]) for row in cell), []).append(cell)
    of_tables = (
        summary_table(measures, lines, width, level, facts) for measures, lines in tables.items()
    )
    return Group(*(part for parts in of_tables for part in parts))


def summary_table(
    measures: Sequence[tuple[str, str]],
    lines: Sequence[Sequence[SummaryRow]],
    width: int,
    level: float,
    facts: GridFacts,
) -> Iterator[RenderableType]:
    """Yields a table of cells with the same headline measures, its legend, and the options of its
    measures.
    """
    columns = {
        name: title for name, title in HEADLINE_NAMES.items() if lines[0][0][name] is not None
    }
    titles = [name.replace("_", "\n") for name, _ in measures]
    known = any(is_known(row) for cell in lines for row in cell)
    counts = ["clusters", "n"] if known else ["n"]
    table = terminal_table([*columns.values()], [*titles, *counts], width)
    for cell in lines:
        numbers = [headline_text(row, known, facts) for row in cell]
        clusters = (
            [str(max((row["clusters"] or 0 for row in cell), default=0) or "-")] if known else []
        )
        names, counts = [cell[0][name] or "" for name in columns], [*clusters, f"{cell[-1]['n']:,}"]
        # A text without a second line is level with the numbers, not with their intervals.
        second = "\n " if known else ""
        table.add_row(
            *(f"{name}{second}" for name in names),
            *numbers,
            *(f"{count}{second}" for count in counts),
        )
    # The main measure comes first.
    yield fit_to_width(
        table, ["scoring", "n", *reversed(titles[1:]), "clusters"], width, names=len(columns)
    )
    if known:
        yield Text(legend([row for cell in lines for row in cell], level, facts), style="dim")
    yield Text(
        "".join(f"{name}: {options}\n" for name, options in measures if options), style="dim"
    )


def is_known(row: SummaryRow) -> bool:
    """Returns whether the uncertainty of a number is known."""
    return any(row[name] is not None for name in ("low", "null_mean"))


def headline_text(row: SummaryRow, known: bool, facts: GridFacts) -> Text:
    """Returns a number and, in a second line where any number has one, its interval or noise floor;
    a dash for none.

    Args:
        row: the number's row of the summary.
        known: whether any number of the table has a second line.
        facts: between what the numbers of measures are.
    """
    if row["measure"] == TESTS:
        return Text(tests_text(row, "\n" if known else " "))
    written = format_estimate(row, facts.range_of(row), "..")
    number = f"{written.value} {row['mark'] or ''}".strip()
    style = "dim" if written.says_little else ""
    return Text(f"{number}\n{written.interval or noise_floor(row)}" if known else number, style)


def tests_text(row: SummaryRow, between: str) -> str:
    """Returns how many tests are significant, of how many, and how many more could not be
    tested.
    """
    if row["value"] is None and not row["left_out"]:
        return NO_NUMBER
    found = NO_NUMBER if row["value"] is None else f"{row['value']:.0f}"
    untestable = f" (+{row['left_out']:,})" if row["left_out"] else ""
    return f"{found}{between}of {row['n']:,}{untestable}"


def noise_floor(row: SummaryRow) -> str:
    """Returns the noise floor of a number without an interval, a dash where it has none."""
    return NO_NUMBER if row["null_mean"] is None else f">{format_number(row['null_mean'])}"


def legend(rows: Sequence[SummaryRow], level: float, facts: GridFacts) -> str:
    """Returns the meaning of the second lines, and of what is dim."""
    lines = []
    numbers, tests = (
        [row for row in rows if (row["measure"] == TESTS) == of_tests] for of_tests in (False, True)
    )
    factors = dict.fromkeys(
        row["generalises_to"] or "" for row in numbers if row["low"] is not None
    )
    if factors:
        lines.append(
            f"a..b: {100 * level:g} % interval over {'; '.join(map(factors_text, factors))}"
        )
    if any(row["null_mean"] is not None and row["low"] is None for row in numbers):
        lines.append(">c: noise alone would give c")
    if tests:
        lines.append(
            f"{TESTS}: significant of those tested (q <= 0.05: the share of false positives among "
            "the significant, averaged over such cells, is at most 5 %)"
        )
    if any(row["left_out"] for row in tests):
        lines.append("(+d): d more could not be tested, because there are too few clusters")
    lines += [
        (
            f"{row['measure']} of {row['dataset']}, {row['model']}: over {row['n']:,} of "
            f"{row['n'] + row['left_out']:,}; nothing is known about the others"
        )
        for row in numbers
        if is_size(row["measure"]) and row["left_out"]
    ]
    lines += facts.relative_sentences(numbers)
    if any(format_estimate(row, facts.range_of(row)).says_little for row in numbers):
        lines.append(f"dim: {TOO_LITTLE} (the interval is wider than half the range)")
    ranges = [row for row in numbers if row["mark"] and " to " in row["mark"]]
    if ranges:
        lines.append("A to C: the interval covers several marks")
    lines += [
        (
            f"{row['measure']} ({row['dataset']}, {row['model']}): a single mark needs "
            f"{row['more_items']:,} more items"
        )
        for row in ranges
        if row["more_items"]
    ]
    return "\n".join(lines)


def factors_text(factors: str) -> str:
    """Says what the factors of an interval are, such as `clusters x names`."""
    return (
        f"clusters ({CLUSTERS}){factors.removeprefix('clusters')}"
        if factors.startswith("clusters")
        else factors
    )


def mass_lines(facts: GridFacts) -> Text:
    """Returns how probable the options of scored datasets are together, a line for each cell where
    that is known.
    """
    lines = Text()
    for cell, of_cell in facts.cells.items():
        mass = of_cell.get("answered", {}).get("mass")
        if mass is None:
            continue
        if not lines:
            lines.append("Mass (probability of all options together):\n", "bold")
        dataset, _, model = cell.partition("/")
        numbers = (
            f"median {format_number(mass['median'])}, lowest "
            f"tenth below {format_number(mass['lowest_tenth'])}"
        )
        lines.append(f"  {dataset}, {model}: {numbers}\n", "not bold")
    return lines


def flag_lines(flags: Iterable[SummaryRow]) -> Text:
    """Returns the validity flags of cells in words.

    Args:
        flags: rows of `tables.summary.flags_of`.
    """
    lines = Text()
    for withholds, group in groupby(flags, key=lambda flag: flag["withholds"]):
        heading, style = (
            ("Not measurable:", "bold red") if withholds else ("Warnings:", "bold yellow")
        )
        lines.append(f"{heading}\n", style)
        lines.append(
            "".join(
                f"  {flag['dataset']}: {flag['flag']} ({', '.join(flag['models'])})\n"
                for flag in group
            )
        )
    return lines


def finding_lines(findings: Sequence[Finding], width: int) -> RenderableType:
    """Returns the verdicts: sentences, or a table with a row for each model where there are many.

    Args:
        findings: those of each model.
        width: how many characters a line may have.
    """
    lines = Text("Found:\n", style="bold")
    if len(findings) > MOST_IN_SENTENCES:
        return Group(lines, verdict_table(findings, width))
    for finding in findings:
        lines.append(f"  {finding.model}\n", "not bold")
        lines.append("".join(f"    {cell.sentence}\n" for cell in finding.cells), "not bold")
    return lines


def verdict_table(findings: Sequence[Finding], width: int) -> RenderableType:
    """Returns a table of the datasets in which each model has which verdict."""
    from biasgrid.tables.verdicts import VERDICTS_OF_CELLS

    table = terminal_table(["model", *VERDICTS_OF_CELLS], [], width)
    for finding in findings:
        table.add_row(
            finding.model,
            *(", ".join(finding.datasets_of(verdict)) or "-" for verdict in VERDICTS_OF_CELLS),
        )
    return table


def rank_lines(ranks: Iterable[SummaryRow]) -> Text:
    """Returns the ranks of models in words: a line for those that are ranked together.

    Args:
        ranks: rows of `tables.summary.main_ranks`.
    """
    lines = Text()
    names = ("dataset", "bias_type", "measure", "set")
    for together, models in groupby(ranks, key=lambda row: tuple(row[name] for name in names)):
        if not lines:
            lines.append(
                "Ranks (1 is the largest number, or the one furthest from equal treatment; "
                "a..b is the interval of a rank):\n",
                "bold",
            )
        subject = ", ".join(name for name in together[:-1] if name)
        order = ", ".join(
            f"{row['rank']} {row['model']} ({row['rank_low']}..{row['rank_high']})"
            for row in models
        )
        lines.append(f"  {subject}: {order}\n", "not bold")
    return lines


def print_summary(results: Path) -> None:
    """Prints what was measured, what was found, and where the report is.

    Args:
        results: the folder of results.

    Raises:
        UserError: nothing was measured there yet.
    """
    from biasgrid.stats.compare.comparability import same_models
    from biasgrid.tables.comparison import RANKS
    from biasgrid.tables.files import read_table
    from biasgrid.tables.summary import flag_rows, main_ranks

    measured, provenance = read_summary(results)
    facts = GridFacts.of_summary(provenance)
    level = provenance.get("statistics", {}).get("level", 0.95)
    console.print(coverage_lines(facts), end="")
    console.print(
        summary_tables(
            measured.filter("headline").iter_rows(named=True), console.width, level, facts
        )
    )
    if masses := mass_lines(facts):
        console.print(masses)
    console.print(flag_lines(flag_rows(measured).to_dicts()))
    console.print(findings_of_run(results, measured, facts))
    ranks = [read_table(file, RANKS) for file in sorted(results.glob("ranks/*.parquet"))]
    if order := rank_lines(
        row
        for table in ranks
        for row in main_ranks(measured, table, facts.silenced).iter_rows(named=True)
    ):
        console.print(order)
    if same := same_models(provenance.get("measures", {})):
        console.print(Text(same))
    print_report_path(results)


def print_findings(results: Path) -> None:
    """Prints the findings, and where numbers and report are; see `print_summary`."""
    measured, provenance = read_summary(results)
    facts = GridFacts.of_summary(provenance)
    console.print(coverage_lines(facts), end="")
    console.print(findings_of_run(results, measured, facts))
    console.print(f"Numbers: biasgrid summary {results}", soft_wrap=True)
    print_report_path(results)


def print_report_path(results: Path) -> None:
    """Prints where the report is."""
    console.print(f"Report: {results / 'report' / 'index.html'}", soft_wrap=True)


def coverage_lines(facts: GridFacts) -> Text:
    """Returns that a run is a quick trial, or of which datasets not all was asked; nothing where
    all was.
    """
    lines = Text()
    if trial := facts.trial_text():
        lines.append(f"{trial}.\n", "bold yellow")
    elif sentences := facts.coverage_sentences():
        lines.append("Asked in part:\n", "bold yellow")
        lines.append("".join(f"  {sentence}\n" for sentence in sentences))
    return lines


def read_summary(results: Path) -> tuple[pl.DataFrame, Mapping[str, Any]]:
    """Reads the summary of a run, and its provenance.

    Raises:
        UserError: there is none.
    """
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
