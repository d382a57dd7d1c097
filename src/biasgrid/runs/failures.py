"""Which jobs have failed, and why, from the logs that the workflow's scripts write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from biasgrid.report.figures.registry import GRID
from biasgrid.runs.layout import RECORDS, Layout

PREDICTS = ("predict", "predict_scorer")
"""The rules that ask models: their failures are reported with their cells."""
LAST_WORDS = re.compile(r"^\S+ \S+ CRITICAL (.*)", re.MULTILINE)
"""A line of a log that a job writes only if it fails; see `biasgrid.jobs.logs`."""


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
    """Returns the failure in a log, None if there is none.

    Every run of a job begins its log anew, so an old failure does not stay.
    """
    if not log.exists():
        return None
    error = last_error(log.read_text(encoding="utf-8", errors="replace"))
    return None if error is None else Failure(rule, str(log), error)


def last_error(log: str) -> str | None:
    """Returns in one line the error that a log's job failed with, None if it did not fail.

    A user's error is its message or, if that is a heading, the first line under it; any other error
    is the last line of its traceback.
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
    """Yields the failures of rules that ask no model.

    Failures of models and datasets that are not selected are left out.
    """
    config = layout.config
    names = {
        *config.run.models,
        *config.readers,
        *config.run.datasets,
        *config.tokenizers,
        *RECORDS,
        GRID,
    }
    for dataset, variant in config.needed_variants:
        names.update((dataset, variant))
    for log in sorted(layout.logs.rglob("*.log")):
        rule, *parts = log.relative_to(layout.logs).as_posix().removesuffix(".log").split("/")
        if rule in PREDICTS or not names.issuperset(parts):
            continue
        failure = failure_of(rule, log)
        if failure is not None:
            yield failure
