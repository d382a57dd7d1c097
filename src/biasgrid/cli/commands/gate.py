"""The command that checks models against thresholds, for CI pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.options import ResultsFolder
from biasgrid.cli.output import print_text, report_errors

MISSING_OF_TRIAL = (
    "The rest was not asked. To check the model on everything, set `sample: all` in the trial's "
    "config, then run that config first."
)


def gate(
    results: ResultsFolder,
    largest: Annotated[
        list[str] | None,
        typer.Option(
            "--max", help="largest value allowed, as DATASET.MEASURE=NUMBER; may be repeated"
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="a config with `thresholds`")] = None,
    model: Annotated[
        list[str] | None, typer.Option(help="name of a model to check; default: all")
    ] = None,
    on: Annotated[
        Literal["interval", "value"],
        typer.Option(help="what is checked: the upper end of the interval, or the value itself"),
    ] = "interval",
    junit: Annotated[
        Path | None, typer.Option(help="JUnit file to write, for CI pipelines")
    ] = None,
) -> None:
    """Checks measures against thresholds.

    The exit code is 0 if all measures are within their thresholds, 1 if the upper end of an
    interval is above its threshold, 3 if none is above but something is not measurable, and 2 for
    bad input.
    """
    from biasgrid.base.files import write_text
    from biasgrid.cli.thresholds import (
        EXIT_PASSED,
        add_thresholds,
        check_thresholds,
        conclusion_text,
        exit_code,
        junit_report,
        parse_thresholds,
    )
    from biasgrid.config import load_config
    from biasgrid.runs.results import Results
    from biasgrid.tables.claims.facts import GridFacts

    with report_errors():
        thresholds = parse_thresholds(largest or [], "--max")
        if config is not None:
            configured = load_config(config).thresholds
            thresholds = add_thresholds(thresholds, configured, f"{config}, thresholds")
        if not thresholds:
            raise UserError(
                "no threshold is given; expected --max DATASET.MEASURE=NUMBER, or "
                "--config with `thresholds`"
            )
        run_results = Results(results)
        provenance = run_results.provenance("summary.parquet")
        facts = GridFacts.from_provenance(provenance)
        checks = check_thresholds(run_results.summary(), thresholds, model or [], on, facts)
        level = provenance.get("statistics", {}).get("level", 0.95)
        conclusion = conclusion_text(checks, on, level)
        if junit is not None:
            write_text(junit, junit_report(checks, conclusion))
    trial = facts.trial_text(model)
    if trial:
        print_text(f"{trial}. {MISSING_OF_TRIAL}")
    for sentence in facts.coverage_sentences(model):
        print_text(f"asked in part  {sentence}")
    for check in checks:
        print_text(check.line)
    print_text(conclusion)
    code = exit_code(checks)
    if code != EXIT_PASSED:
        raise typer.Exit(code)
