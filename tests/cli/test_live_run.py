"""Runs tell how far they are while they run, and what to do when they are interrupted: real
processes on a terminal.
"""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
import yaml
from small_grid import write_general_grid, write_grid

from biasgrid.jobs.run_progress import AnsweredRows, RunProgress

BIASGRID = [sys.executable, "-c", "from biasgrid.cli.app import app; app()"]
COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
PATIENCE = 300


class Terminal:
    """A command on a terminal of its own; `text` is what it has shown so far."""

    def __init__(self, line: list[str], folder: Path):
        self.text, self.reads = "", None
        self.reads, writes = pty.openpty()
        environment = os.environ | {"COLUMNS": "160", "TERM": "xterm-256color"}
        self.process = subprocess.Popen(
            line,
            cwd=folder,
            env=environment,
            stdin=writes,
            stdout=writes,
            stderr=writes,
            start_new_session=True,
        )
        os.close(writes)

    def read_until(self, wanted: str) -> None:
        """Reads until a text is shown, or the command ends."""
        deadline = time.monotonic() + PATIENCE
        # A terminal whose last process has ended gives an error in place of the end of a file.
        with suppress(OSError):
            while wanted not in self.text and time.monotonic() < deadline:
                self.text += COLOURS.sub("", os.read(self.reads, 65536).decode(errors="replace"))

    def end(self) -> int:
        """Reads to the end, and returns the exit code."""
        self.read_until("\0")
        os.close(self.reads)
        return self.process.wait(PATIENCE)


def of_one_cell(path: Path) -> Path:
    """Writes a config again with one cell, under a name that needs quotes."""
    content = yaml.safe_load(path.read_text())
    content["run"] = {"models": ["one"], "datasets": ["people"]}
    content["results"] = "results"
    named = path.parent / "my grid.yaml"
    named.write_text(yaml.safe_dump(content))
    return named


@pytest.fixture
def config(folders: Path, tmp_path: Path) -> Path:
    return of_one_cell(write_general_grid(tmp_path, str(folders / "qa")))


@pytest.mark.family("a whole run is of one of them")
def test_a_run_shows_bars_and_goes_on_after_an_interrupt(folders: Path, tmp_path: Path) -> None:
    config = of_one_cell(write_grid(tmp_path, str(folders / "qa")))
    line = [*BIASGRID, "run", config.name, "--cores", "2"]
    first = Terminal(line, config.parent)
    first.read_until("asks the model")
    first.process.send_signal(signal.SIGINT)
    assert first.end() == 130, first.text
    assert "Stopped. Finished work is kept. To go on: biasgrid run 'my grid.yaml'" in first.text
    assert "Traceback" not in first.text
    assert (config.parent / "results/instances").is_dir()
    second = Terminal(line, config.parent)
    assert second.end() == 0, second.text
    assert re.search(r"\d+ of \d+ jobs done", second.text)
    _, ending = second.text.split("Found:")
    assert "  one" in ending
    assert "Report: results/report/index.html" in ending


def test_a_run_that_was_stopped_from_elsewhere_leaves_nothing_running(config: Path) -> None:
    line = [*BIASGRID, "run", config.name]
    command = subprocess.Popen(
        line, cwd=config.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    for text in command.stdout or ():
        if "writes the questions" in text:
            break
    command.kill()
    command.communicate()
    deadline = time.monotonic() + 60
    lock = config.parent / "results/.lock"
    again = ["flock", "--nonblock", str(lock), "true"]
    while subprocess.run(again).returncode and time.monotonic() < deadline:
        time.sleep(0.2)
    assert time.monotonic() < deadline


def test_a_failed_run_says_how_to_go_on(config: Path) -> None:
    # A file where a folder is needed.
    (config.parent / "results").mkdir()
    (config.parent / "results/predictions").write_text("in the way")
    line = [*BIASGRID, "run", config.name]
    told = subprocess.run(line, cwd=config.parent, capture_output=True, text=True)
    assert told.returncode == 1
    last = told.stderr.rstrip().splitlines()[-1]
    expected = (
        "The run failed. Finished work is kept. Fix the problem above, then continue with: "
        "biasgrid run"
    )
    assert last == f"{expected} 'my grid.yaml'"


def test_files_and_options_are_passed_to_snakemake(config: Path) -> None:
    def run(*options: str) -> subprocess.CompletedProcess[str]:
        line = [*BIASGRID, "run", config.name, *options]
        return subprocess.run(line, cwd=config.parent, capture_output=True, text=True)

    planned = run("--", "-n", "--quiet", "rules")
    assert planned.returncode == 0, planned.stderr
    assert re.search(r"\nexpand +1\n", planned.stdout + planned.stderr)
    instances = config.parent / "results/instances/people/texts.parquet"
    assert not instances.exists()
    assert run("results/instances/people/texts.parquet").returncode == 0
    instances.write_text("in the way")
    failed = run("results/summary.csv")
    assert failed.returncode == 1
    typed = "biasgrid run 'my grid.yaml' -- results/summary.csv"
    assert f"then continue with: {typed}\n" in failed.stderr


@pytest.mark.family("subjects of one token are asked for in one of them")
def test_a_run_that_is_refused_at_its_start_shows_the_reason_and_no_lines_of_the_workflow(
    folders: Path, tmp_path: Path
) -> None:
    config = write_grid(
        tmp_path, str(folders / "lm"), run={"models": ["masked"], "datasets": ["people"]}
    )
    (tmp_path / "word_lists/subjects.txt").write_text(
        "[subj] African-American\n[subj] Middle-Eastern\n"
    )
    told = subprocess.run(
        [*BIASGRID, "run", config.name], cwd=tmp_path, capture_output=True, text=True
    )
    assert told.returncode == 1
    fault, detail, last = told.stderr.rstrip().splitlines()
    assert fault == "1 fault in the input:"
    assert "nothing to ask, because too few subjects are a single token" in detail
    assert last.startswith("The run failed.")


def test_bad_input_is_said_before_anything_runs(config: Path) -> None:
    config.write_text(config.read_text() + "\nscorin: exact\n")
    told = subprocess.run(
        [*BIASGRID, "run", config.name], cwd=config.parent, capture_output=True, text=True
    )
    assert told.returncode == 2
    assert "unknown key (did you mean 'scoring'?)" in told.stderr


@pytest.mark.parametrize(
    ("answered", "text"),
    [
        (None, "1:05  measures: 3 of 12 jobs done"),
        (
            AnsweredRows(1200, 4000.0, 140.4, 20),
            "1:05  measures: 3 of 12 jobs done; 1,200 of 4,000 rows (30 %)",
        ),
        (AnsweredRows(7, None, None, None), "1:05  measures: 3 of 12 jobs done; 7 rows"),
    ],
)
def test_progress_is_said_in_a_line(answered: AnsweredRows | None, text: str) -> None:
    now = RunProgress(65.4, 3, 12, ["measures"], answered)
    assert now.text.startswith(text)
    assert now.text.endswith("140 rows/s, 20 s left") == (
        answered is not None and answered.rows == 1200
    )
