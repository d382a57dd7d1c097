"""The command that runs a config."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from shlex import join
from typing import Annotated, NoReturn

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.options import ConfigPath, load_checked_config
from biasgrid.cli.output import print_text, report_errors


def run(
    config: ConfigPath,
    options: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILES] [-- OPTIONS]",
            help="files to make, default: all; and behind `--` options of Snakemake",
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option(help="folder of a profile, such as `biasgrid init --profile slurm` writes"),
    ] = None,
    cores: Annotated[
        int | None,
        typer.Option(min=1, help="number of processors to use; default: all, or the profile's"),
    ] = None,
) -> None:
    """Runs a config to its end and shows the progress. Finished work is kept; only what has changed
    is redone.

    With files or options, Snakemake shows its own output: `biasgrid run mine.yaml -- -n --quiet
    rules` counts the jobs that would run.
    """
    from biasgrid.cli.commands.summary import print_findings
    from biasgrid.cli.live_run import run_to_the_end, snakemake_command
    from biasgrid.config.checks import models_left_out
    from biasgrid.config.paths import workflow_folder

    with report_errors():
        if profile is not None:
            check_profile(profile)
        parsed = load_checked_config(config, None)
        results = Path(parsed.results)
        own = Path("Snakefile")
        snakefile = own if own.is_file() else workflow_folder() / "Snakefile"
    for note in [*models_left_out(parsed), *parsed.folders.notes]:
        print_text(note)
    words = ["biasgrid", "run", str(config)]
    if profile is None:
        cores = cores or os.cpu_count() or 1
    else:
        words += ["--profile", str(profile)]
    command = snakemake_command(config, snakefile, cores, profile)
    if options:
        replace_process([*command, *options], [*words, "--", *options])
    with report_errors():
        run_to_the_end(config, command, join(words))
        print_findings(results)


def check_profile(profile: Path) -> None:
    """Refuses a folder without a profile, and one for SLURM where SLURM cannot be used.

    Raises:
        UserError: with the command that mends it.
    """
    from biasgrid.base.yaml import read_yaml
    from biasgrid.jobs.slurm import check_slurm

    file = profile / "profile.yaml"
    if not file.is_file():
        raise UserError(
            f"there is no {file}; expected the folder of a profile, such as the one that "
            "`biasgrid init --profile slurm` writes"
        )
    options = "options of Snakemake, such as `executor: slurm`"
    if read_yaml(file, options, options).content.get("executor") == "slurm":
        check_slurm()


def replace_process(command: Sequence[str], typed: Sequence[str]) -> NoReturn:
    """Replaces this process by Snakemake.

    Args:
        command: the command.
        typed: the command that was typed, with which messages say how to go on.
    """
    from biasgrid.jobs.run_progress import TYPED

    sys.stdout.flush()
    os.execve(command[0], list(command), os.environ | {TYPED: join(typed)})
