"""The command that writes the bias section of a model card."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.base.faults import UserError, one_of
from biasgrid.cli.options import ResultsFolder
from biasgrid.cli.output import print_text, report_errors

if TYPE_CHECKING:
    import polars as pl


def card(
    results: ResultsFolder,
    model: Annotated[
        str | None, typer.Option(help="name of the model, if the run has several")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="file to write, instead of printing to the terminal")
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "the name of a dataset on the hub, as DATASET=OWNER/NAME:TASK; writes "
                ".eval_results/DATASET.yaml beside --out"
            )
        ),
    ] = None,
) -> None:
    """Writes a section of a model card in Markdown, headed by results in the hub's format
    (model-index).
    """
    from biasgrid.base.files import write_text
    from biasgrid.report.card import model_card
    from biasgrid.report.findings import findings
    from biasgrid.report.hub_results import Benchmark, hub_files
    from biasgrid.runs.audit import command
    from biasgrid.runs.results import Results
    from biasgrid.tables.claims.facts import GridFacts

    if benchmark and out is None:
        raise typer.BadParameter(
            "expected --out, because .eval_results is written beside that file",
            param_hint="--benchmark",
        )
    with report_errors():
        run = Results(results)
        summary, manifest = run.summary(), run.manifest()
        model = model or single_model(results, summary)
        provenance = run.provenance("summary.parquet")
        facts = GridFacts.from_provenance(provenance)
        level = provenance.get("statistics", {}).get("level", 0.95)
        findings_by_model = {
            finding.model: finding for finding in findings(run.verdicts(), summary, facts)
        }
        repeat = command(manifest["config_file"])
        card = model_card(
            model,
            summary=summary,
            manifest=manifest,
            level=level,
            model_findings=findings_by_model,
            command=repeat,
            facts=facts,
        )
        written = str(card)
        headlines = summary.filter("headline", model=model)
        files = hub_files(
            [Benchmark.parse(text) for text in benchmark or []], headlines, manifest, level
        )
        if out is not None:
            write_text(out, written)
            for name, content in files.items():
                write_text(out.parent / ".eval_results" / name, content)
    if out is None:
        print_text(written)


def single_model(results: Path, summary: pl.DataFrame) -> str:
    """Returns the model of a run of one; raises UserError with the names of several."""
    models: list[str] = summary["model"].unique(maintain_order=True).to_list()
    if len(models) != 1:
        names = one_of(models)
        example = f"biasgrid card {results} --model {models[0]}"
        raise UserError(f"--model is missing; expected {names}, as in `{example}`")
    return models[0]
