"""Finds failed jobs and their errors in the logs that the workflow's scripts write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from biasgrid.report.figures.registry import GRID
from biasgrid.runs.layout import RECORDS, Layout

PREDICTS = ("predict", "predict_scorer")
"""The rules whose failures are reported with their cells."""
LAST_WORDS = re.compile(r"^\S+ \S+ CRITICAL (.*)", re.MULTILINE)
"""A line that a job logs only if it fails; see `jobs.logs.log_exception`."""


@dataclass(frozen=True)
class Failure:
    """A job that failed.

    Attributes:
        rule: its rule.
        log: its log file.
        error: the last error in it, in one line.
    """

    rule: str
    log: str
    error: str


def failure_of(rule: str, log: Path) -> Failure | None:
    """Returns the failure in a job's log; None without one, or without a log.

    Every run of a job begins its log anew, so the log never has the failure of an earlier run.
    """
    if not log.exists():
        return None
    error = last_error(log.read_text(encoding="utf-8", errors="replace"))
    return None if error is None else Failure(rule, str(log), error)


def last_error(log: str) -> str | None:
    """Returns the error in the text of a log in one line, None if the job did not fail.

    For a user's error this is the message or, if it ends in a colon, the first line below. For any
    other error it is the last line of the traceback.
    """
    errors = list(LAST_WORDS.finditer(log))
    if not errors:
        return None
    message = errors[-1][1]
    lines_below = log[errors[-1].end() :].strip().splitlines()
    if message == "failed" and lines_below:
        return lines_below[-1].strip()
    if message.endswith(":") and lines_below:
        return lines_below[0].strip()
    return message


def other_failures(layout: Layout) -> Iterator[Failure]:
    """Yields the failures of all rules but `PREDICTS`.

    A log is skipped if its path names a model, dataset or variant that is not selected.
    """
    config = layout.config
    selected_names = {
        *config.run.models,
        *config.scorer_models,
        *config.run.datasets,
        *config.tokenizers,
        *RECORDS,
        GRID,
    }
    for dataset, variant in config.needed_variants:
        selected_names.update((dataset, variant))
    for log in sorted(layout.logs.rglob("*.log")):
        rule, *parts = log.relative_to(layout.logs).as_posix().removesuffix(".log").split("/")
        if rule in PREDICTS or not selected_names.issuperset(parts):
            continue
        failure = failure_of(rule, log)
        if failure is not None:
            yield failure
