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
        found = audit_results(results)
    if as_json:
        lists = {
            name: [one._asdict() for one in getattr(found, name)] for name in ("findings", "stores")
        }
        lists |= {"failures": json_data(found.failures)}
        print_text(json.dumps(found._asdict() | lists, indent=2))
    else:
        for finding in found.findings:
            print_text(f"{finding.state:8} {results / finding.file}")
        print_text(
            f"{found.files} files compared, {len(found.findings)} changed, missing or foreign."
        )
        for store in found.stores:
            print_text(
                f"{store.dataset}/{store.model}: {store.held} answers were paid for, and "
                f"{store.used} of them are used."
            )
        for failure in found.failures:
            print_text(f"The last run failed in {failure.rule} ({failure.log}): {failure.error}")
        if found.command:
            print_text(f"To make them again:\n  {found.command}")
    if found.command:
        raise typer.Exit(FAILED)
