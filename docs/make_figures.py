"""Writes the numbers and pictures of the documents from results, so that they do not go stale.

`make figures` runs both demos first; where they are done, that takes seconds. Tables of benchmarks
are those that the scripts in `benchmarks/` wrote when they last ran (`make benchmarks`).
"""

from __future__ import annotations

import sys
from functools import partial
from io import StringIO
from pathlib import Path

import large_values
from benchmark_numbers import benchmark_tables, with_numbers
from rich.console import Console

from biasgrid.cli.commands.summary import finding_lines, read_summary
from biasgrid.report.findings import findings
from biasgrid.runs.results import Results
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.docs import Makers, with_tables

ROOT = Path(__file__).parents[1]
DEMO, FULL_DEMO = ROOT / "results/demo", ROOT / "results/demo-full"
PAPER = ROOT / "paper/paper.md"
WIDTH = 116


def demo_findings(results: Path) -> str:
    """Returns the verdicts that the demo prints at its end, as a block of text."""
    measured, provenance = read_summary(results)
    found = findings(Results(results).verdicts(), measured, GridFacts.of_summary(provenance))
    written = Console(width=WIDTH, file=StringIO())
    with written.capture() as capture:
        written.print(finding_lines(found, WIDTH))
    lines = [line.rstrip() for line in capture.get().splitlines() if line.strip()]
    return "\n".join(["```text", *lines, "Report: results/demo/report/index.html", "```"])


def write_tables(path: Path, makers: Makers) -> None:
    """Writes the tables of a document anew."""
    path.write_text(with_tables(path.read_text(encoding="utf-8"), makers), encoding="utf-8")


def main() -> None:
    """Writes all of them."""
    write_tables(ROOT / "README.md", {"findings of the demo": partial(demo_findings, DEMO)})
    write_tables(
        ROOT / "docs/statistics.md", {large_values.NAME: partial(large_values.table, FULL_DEMO)}
    )
    write_tables(ROOT / "docs/benchmarks.md", benchmark_tables())
    PAPER.write_text(with_numbers(PAPER.read_text(encoding="utf-8")), encoding="utf-8")
    sys.path.insert(0, str(ROOT / "tests/helpers"))
    sys.path.insert(0, str(ROOT / "docs/pictures"))
    from take import take

    take(FULL_DEMO, ROOT / "docs/pictures")


if __name__ == "__main__":
    main()
