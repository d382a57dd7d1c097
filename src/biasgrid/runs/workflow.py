"""Copies the workflow's files, and runs the workflow from a script or notebook."""

from __future__ import annotations

import shutil
from pathlib import Path

from biasgrid.base.faults import UserError
from biasgrid.config.paths import workflow_folder
from biasgrid.runs.layout import Layout
from biasgrid.runs.results import Results

WORKFLOW_FILES = (
    "Snakefile",
    "config",
    "envs",
    "profiles",
    "reference",
    "rules",
    "word_lists",
    "workflow",
)


def demo_folder() -> Path:
    """Returns the folder for the demo: the working folder if it has the workflow, else another.

    The other one, `biasgrid-demo`, need not exist.
    """
    is_here = Path("Snakefile").is_file() and Path("config/demo.yaml").is_file()
    return Path() if is_here else Path("biasgrid-demo")


def set_up(folder: Path) -> None:
    """Copies the workflow's files into a folder, where users can change them.

    A folder that has a Snakefile is left unchanged.

    Raises:
        UserError: the folder has no Snakefile, but another of the files.
    """
    if (folder / "Snakefile").is_file():
        return
    files = [file for file in sorted(workflow_folder().iterdir()) if file.name in WORKFLOW_FILES]
    conflicts = [file.name for file in files if (folder / file.name).exists()]
    if conflicts:
        raise UserError(
            f"{folder} contains {', '.join(conflicts)} but no Snakefile; expected an empty folder, "
            "or one that biasgrid made"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        if file.is_dir():
            shutil.copytree(file, folder / file.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(file, folder / file.name)


def run_config(
    config: str | Path, cores: int | None = None, snakefile: str | Path | None = None
) -> Results:
    """Runs a config and returns its results; finished files are not made again.

    Args:
        config: a config, such as config/demo.yaml.
        cores: the number of processors to use; None for all.
        snakefile: the Snakefile of the workflow; None for the one that comes with biasgrid.

    Raises:
        InputError: the config has faults.
        UserError: there is no Snakefile, or a job has failed. Snakemake has printed its log.
    """
    from snakemake.cli import args_to_api, parse_args

    from biasgrid.config import load_config
    from biasgrid.jobs.interruption import restore_signals
    from biasgrid.jobs.lock import unlock_results
    from biasgrid.jobs.run_progress import end_progress_lines

    file = Path(snakefile or workflow_folder() / "Snakefile")
    if not file.is_file():
        raise UserError(f"there is no {file}; expected the workflow in that folder")
    layout = Layout(load_config(config))
    # Snakemake reads the profile beside the Snakefile only with the arguments of the command line.
    line = ["--snakefile", str(file), "--configfile", str(config), "--cores", str(cores or "all")]
    parser, arguments = parse_args(line)
    try:
        is_done = args_to_api(arguments, parser)
    finally:
        restore_signals()
        end_progress_lines()
        unlock_results()
    if not is_done:
        raise UserError(
            f"the run of {config} failed; see the logs named above, or run `biasgrid status`"
        )
    # Snakemake calls no handler if there is nothing to do, and an earlier run may have failed.
    layout.failed_manifest.unlink(missing_ok=True)
    return Results(layout.results)
