"""The command that writes the bias section of a model card."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biasgrid.cli.options import ResultsFolder
from biasgrid.cli.output import print_text, report_errors


def card(
    results: ResultsFolder,
    model: Annotated[str, typer.Option(help="name of the model")],
    out: Annotated[Path | None, typer.Option(help="file to write to, in place of the terminal")] = None,
) -> None:
    """Writes a model card's section in Markdown, after evaluation results in the hub's format (model-index)."""
    from biasgrid.base.files import write_text
    from biasgrid.report.card import card_of
    from biasgrid.report.findings import findings, read_tested
    from biasgrid.runs.audit import command
    from biasgrid.runs.results import Results
    from biasgrid.tables.claims.facts import GridFacts

    with report_errors():
        made = Results(results)
        summary, manifest = made.summary(), made.manifest()
        provenance = made.provenance("summary.parquet")
        facts = GridFacts.of_summary(provenance)
        level = provenance.get("statistics", {}).get("level", 0.95)
        found = findings(summary, read_tested(sorted(results.glob("measures/*/*.parquet"))), facts)
        sentences = {one.model: one.sentence for one in found}
        repeat = command(manifest["config_file"])
        written = str(card_of(model, summary, manifest, level, sentences, repeat, facts))
        if out is not None:
            write_text(out, written)
    if out is None:
        print_text(written)
