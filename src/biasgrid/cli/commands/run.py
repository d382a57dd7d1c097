"""The command that runs a config."""

from __future__ import annotations

import os
from pathlib import Path
from shlex import join
from typing import Annotated

import typer

from biasgrid.cli.options import ConfigPath, load_checked_config
from biasgrid.cli.output import print_text, report_errors


def run(
    config: ConfigPath,
    cores: Annotated[
        int | None, typer.Option(min=1, help="number of processors to use; default: all")
    ] = None,
) -> None:
    """Runs a config to its end and shows the progress. Finished work is kept; only what has changed
    is redone.

    To run on a cluster, to make single files or to use other options of Snakemake, use `snakemake
    --configfile CONFIG` itself.
    """
    from biasgrid.cli.commands.summary import print_findings
    from biasgrid.cli.live_run import run_to_the_end
    from biasgrid.config.checks import models_left_out
    from biasgrid.config.paths import workflow_folder

    with report_errors():
        parsed = load_checked_config(config, None)
        results = Path(parsed.results)
        own = Path("Snakefile")
        snakefile = own if own.is_file() else workflow_folder() / "Snakefile"
    for note in [*models_left_out(parsed), *parsed.folders.notes]:
        print_text(note)
    with report_errors():
        run_to_the_end(
            config, snakefile, cores or os.cpu_count() or 1, join(["biasgrid", "run", str(config)])
        )
        print_findings(results)
