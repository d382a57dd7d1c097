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
from biasgrid.jobs.run_progress import (
    FOR_PROGRAMS,
    PROGRESS,
    RUN_FAILED,
    SECONDS_BETWEEN_LINES,
    STOPPED,
    RunProgress,
    rule_activity,
)

WARNING_LINE = "warning: "
"""Prefix of lines that are always shown."""
REFUSED = re.compile(r"^WorkflowError in file .*\n")
"""The line that Snakemake prints before the reason why it did not start a run."""
PLACE_IN_WORKFLOW = re.compile(r"^  File .*\n?", re.MULTILINE)
STARTED = re.compile(r"^(?:local)?rule (\w+):")
LAST_LINES = 15


class ProgressLog:
    """Prints each stage when it begins and, once a minute, the progress of the run."""

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
        """Prints the progress, unless a line was printed less than a minute ago."""
        if time.monotonic() - self.last >= SECONDS_BETWEEN_LINES:
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


def run_to_the_end(command: Sequence[str], go_on: str) -> None:
    """Runs a grid to its end, and shows its progress.

    Args:
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
        last_lines = show_progress(process)
    except KeyboardInterrupt:
        end_run(process)
        print_text(f"{STOPPED}: {go_on}", err=True)
        raise typer.Exit(INTERRUPTED) from None
    if process.wait():
        print_text(f"{failure_text(last_lines)}{RUN_FAILED}: {go_on}", err=True)
        raise typer.Exit(FAILED)


def show_progress(process: subprocess.Popen[str]) -> Sequence[str]:
    """Shows the progress of a run until it ends, and returns the last lines that it printed."""
    last_lines: deque[str] = deque(maxlen=LAST_LINES)
    terminal = PlainConsole(stderr=True, markup=False, emoji=False)
    display = ProgressBars(terminal) if terminal.is_terminal else ProgressLog()
    with closing(display):
        for line in process.stdout or ():
            progress = RunProgress.from_line(line)
            if progress:
                display.show(progress)
                continue
            if line.startswith(WARNING_LINE):
                print_text(line, err=True, nl=False)
            last_lines.append(line)
            rule = STARTED.match(line)
            stage = rule_activity(rule[1]) if rule else None
            if stage:
                display.begin(stage)
    return last_lines


def failure_text(last_lines: Sequence[str]) -> str:
    """Returns the last lines of a failed run, or only the reason if it did not start."""
    lines = list(last_lines)
    for position, line in enumerate(lines):
        if REFUSED.match(line):
            reason = "".join(lines[position + 1 :])
            return PLACE_IN_WORKFLOW.sub("", reason)
    return "".join(lines)


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
