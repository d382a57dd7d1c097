"""A run of Snakemake with a bar of its progress, or with lines where there is no terminal."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from biasgrid.cli.output import FAILED, INTERRUPTED, PlainConsole, print_text
from biasgrid.jobs.cell_warnings import CellWarning, gather_warnings
from biasgrid.jobs.run_progress import (
    FOR_PROGRAMS,
    PROGRESS,
    RUN_FAILED,
    STOPPED,
    RecentRate,
    RunProgress,
    rule_activity,
)
from biasgrid.runs.failures import Failure, failure_of

ALWAYS_SHOWN = ("warning: ", "SLURM")
"""Prefixes of lines that are always shown: warnings, and the name of the jobs in SLURM's queue."""
REFUSED = re.compile(r"^WorkflowError in file .*\n")
"""The line that Snakemake prints before the reason why it did not start a run."""
PLACE_IN_WORKFLOW = re.compile(r"^  File .*\n?", re.MULTILINE)
STARTED = re.compile(r"^(?:local)?rule (\w+):")
FAILED_RULE = re.compile(r"^Error in rule (\w+):")
LOG = re.compile(r"^    log: (\S.*?)(?: \(check log file\(s\) for error details\))?$")
LAST_LINES = 15
SECONDS_WITHOUT_LINE = 15.0
"""The maximum time between lines where there is no terminal."""
RATE_SECONDS = 30.0
"""The time over which the rate of answers is shown."""


class ProgressLog:
    """Prints each stage when it begins and, every 15 seconds, the progress of the run."""

    def __init__(self) -> None:
        """Begins to count time."""
        self.began = self.last = time.monotonic()
        self.seen: set[str] = set()

    def begin(self, stage: str) -> None:
        """Prints a stage, unless it was printed before."""
        if stage not in self.seen:
            self.seen.add(stage)
            print_text(f"{time.monotonic() - self.began:5.0f} s  {stage}")

    def show(self, now: RunProgress) -> None:
        """Prints the progress, unless it was printed less than 15 seconds ago."""
        if time.monotonic() - self.last >= SECONDS_WITHOUT_LINE:
            self.last = time.monotonic()
            print_text(now.text)

    def close(self) -> None:
        """Leaves the lines as they are."""


class ProgressBars:
    """Draws a bar of the jobs of a run and, while a model is asked, a bar of its rows."""

    def __init__(self, console: PlainConsole) -> None:
        """Begins to draw."""
        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"))
        self.progress = Progress(*columns, TimeElapsedColumn(), console=console)
        self.jobs = self.progress.add_task("starts", total=None, text="")
        self.rows: TaskID | None = None
        self.progress.start()

    def begin(self, stage: str) -> None:
        """Names a stage beside the bar."""
        self.progress.update(self.jobs, description=stage)

    def show(self, now: RunProgress) -> None:
        """Draws the progress of a run."""
        if now.activities:
            self.begin(", ".join(now.activities))
        text = f"{now.jobs} of {now.all_jobs} jobs done"
        self.progress.update(self.jobs, completed=now.jobs, total=now.all_jobs, text=text)
        if now.answers:
            if self.rows is None:
                self.rows = self.progress.add_task("rows", total=None, text="")
            rows = now.answers
            self.progress.update(
                self.rows, completed=rows.rows, total=rows.all_rows, text=rows.text
            )

    def close(self) -> None:
        """Leaves the bars as they are."""
        self.progress.stop()


def snakemake_command(
    config: Path, snakefile: Path, cores: int | None, profile: Path | None = None
) -> list[str]:
    """Returns the command that runs a grid.

    Args:
        config: its config.
        snakefile: the workflow.
        cores: the number of processors for it; None leaves it to the profile.
        profile: the folder of a profile that replaces the workflow's own one.
    """
    command = [sys.executable, "-m", "snakemake"]
    command += ["--snakefile", str(snakefile), "--configfile", str(config)]
    if cores is not None:
        command += ["--cores", str(cores)]
    if profile is not None:
        command += ["--workflow-profile", str(profile)]
    return command


def run_to_the_end(config: Path, command: Sequence[str], go_on: str) -> None:
    """Runs a grid to its end, and shows its progress.

    Args:
        config: its config.
        command: from `snakemake_command`.
        go_on: the command that continues the run, for messages.

    Raises:
        typer.Exit: the run failed, after its last lines, or was interrupted.
    """
    # In its own process group: Ctrl-C would otherwise reach the jobs twice, once from the terminal
    # and once from `end_run`.
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {PROGRESS: FOR_PROGRAMS},
    )
    try:
        output = show_progress(process)
    except KeyboardInterrupt:
        end_run(process)
        print_text(f"{STOPPED}: {go_on}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    for line in gather_warnings(without_shipped_lists(config, output.warnings)):
        print_text(line, err=True)
    if process.wait():
        print_text(f"{output.failure_text}{RUN_FAILED}: {go_on}", err=True)
        raise typer.Exit(FAILED)


def without_shipped_lists(config: Path, warnings: Sequence[CellWarning]) -> list[CellWarning]:
    """Returns the warnings of datasets whose word lists do not come with biasgrid.

    Of the others, which users need not mend, the logs of jobs tell.
    """
    from biasgrid.cli.quickstart.config import unchanged_datasets
    from biasgrid.config import load_config
    from biasgrid.config.paths import workflow_folder

    if not warnings:
        return []
    shipped = unchanged_datasets(workflow_folder(), load_config(config))
    return [warning for warning in warnings if warning.dataset not in shipped]


class RunOutput:
    """What a run has printed, as far as it says why the run failed.

    Attributes:
        last_lines: its last lines.
        failures: the failed jobs with an error in their log, in their order.
        warnings: the warnings of cells.
    """

    def __init__(self) -> None:
        """Begins without lines."""
        self.last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.failures: list[Failure] = []
        self.warnings: list[CellWarning] = []
        self._failed_rule = ""

    def add(self, line: str) -> Failure | None:
        """Adds a line; returns the failed job whose log the line names."""
        warning = CellWarning.from_line(line)
        if warning:
            self.warnings.append(warning)
            return None
        self.last_lines.append(line)
        failed = FAILED_RULE.match(line)
        if failed:
            self._failed_rule = failed[1]
        log = LOG.match(line)
        if not (log and self._failed_rule):
            return None
        failure = failure_of(self._failed_rule, Path(log[1]))
        self._failed_rule = ""
        if failure:
            self.failures.append(failure)
        return failure

    @property
    def failure_text(self) -> str:
        """Why the run failed: the errors of its jobs, or the reason why it did not start.

        Without either these are its last lines. Empty if the errors were printed already.
        """
        if self.failures:
            return ""
        lines = list(self.last_lines)
        for position, line in enumerate(lines):
            if REFUSED.match(line):
                reason = "".join(lines[position + 1 :])
                return PLACE_IN_WORKFLOW.sub("", reason)
        return "".join(lines)


def show_progress(process: subprocess.Popen[str]) -> RunOutput:
    """Shows the progress of a run and the errors of its jobs until it ends."""
    output, rate = RunOutput(), RecentRate(RATE_SECONDS)
    terminal = PlainConsole(stderr=True, markup=False, emoji=False)
    display = ProgressBars(terminal) if terminal.is_terminal else ProgressLog()
    activities: list[str] = []
    with closing(display):
        for line in process.stdout or ():
            progress = RunProgress.from_line(line)
            if progress:
                activities = progress.activities
                display.show(rate.applied(progress))
                continue
            if line.startswith(ALWAYS_SHOWN):
                print_text(line, err=True, nl=False)
            failure = output.add(line)
            if failure:
                print_text(job_failure_text(failure, activities), err=True)
            rule = STARTED.match(line)
            stage = rule_activity(rule[1]) if rule else None
            if stage:
                display.begin(stage)
    return output


def job_failure_text(failure: Failure, activities: Sequence[str]) -> str:
    """Returns a message on a failed job.

    Args:
        failure: the job.
        activities: what the run was doing, the failed job included.
    """
    failed = rule_activity(failure.rule) or failure.rule
    running = [activity for activity in activities if activity != failed]
    waits = f"\nOther jobs are finished first: {', '.join(running)}." if running else ""
    return f"error: {failure.error}\n  ({failed}; log: {failure.log}){waits}"


def end_run(process: subprocess.Popen[str]) -> None:
    """Interrupts a run as Ctrl-C would, and waits for its end; a second Ctrl-C kills it.

    Args:
        process: the leader of its own process group (`start_new_session=True`), with a piped
            standard output.
    """
    try:
        os.killpg(process.pid, signal.SIGINT)
        process.communicate()
    except KeyboardInterrupt:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
