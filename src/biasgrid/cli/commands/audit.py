"""The command that compares a run's files with its manifest."""

from __future__ import annotations

import json

import typer

from biasgrid.cli.options import AsJson, ResultsFolder
from biasgrid.cli.output import FAILED, print_text, report_errors


def audit(
    results: ResultsFolder,
    as_json: AsJson = False,
) -> None:
    """Compares a run's files with its manifest, and names those that are damaged, missing or
    foreign.

    The exit code is 1 if a file is damaged or missing, or if the last run failed. In that case it
    also says why, and what is still missing.
    """
    from biasgrid.runs.audit import audit_results
    from biasgrid.runs.counts import json_data

    with report_errors():
        report = audit_results(results)
    if as_json:
        content = report._asdict() | {
            "findings": [finding._asdict() for finding in report.findings],
            "stores": [store._asdict() for store in report.stores],
            "failures": json_data(report.failures),
        }
        print_text(json.dumps(content, indent=2))
    else:
        for finding in report.findings:
            print_text(f"{finding.state:8} {results / finding.file}")
        changed = len(report.findings)
        print_text(f"{report.files} files compared, {changed} changed, missing or foreign.")
        for store in report.stores:
            cell = f"{store.dataset}/{store.model}"
            print_text(
                f"{cell}: {store.held} answers were paid for, and {store.used} of them are used."
            )
        for failure in report.failures:
            print_text(f"The last run failed in {failure.rule} ({failure.log}): {failure.error}")
        if report.command:
            print_text(f"To make them again:\n  {report.command}")
    if report.command:
        raise typer.Exit(FAILED)
