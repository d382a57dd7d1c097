"""Which jobs have failed, and why: told from the logs that the workflow's scripts write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from biasgrid.layout import Layout

# As `biasgrid.logs.start_log` formats them.
ERROR_LINE = re.compile(r"^\S+ \S+ ERROR (.*)", re.MULTILINE)


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


def failure_of(rule: str, log: Path, output: Path | None) -> Failure | None:
    """Returns the failure that a log tells of, None where there is none or the output has been made since."""
    if not log.exists() or (output is not None and is_up_to_date(output, [log])):
        return None
    error = last_error(log.read_text(encoding="utf-8", errors="replace"))
    return None if error is None else Failure(rule, str(log), error)


def last_error(log: str) -> str | None:
    """Returns the last error of a log in one line, None where there is none.

    An error of the user's is told by its message, or where that is a heading by the first line under it; any other
    by the last line of its traceback.
    """
    errors = list(ERROR_LINE.finditer(log))
    if not errors:
        return None
    message, rest = errors[-1][1], log[errors[-1].end() :].strip().splitlines()
    if message == "failed" and rest:
        return rest[-1].strip()
    return rest[0].strip() if message.endswith(":") and rest else message


def other_failures(layout: Layout) -> Iterator[Failure]:
    """Yields the failures of other rules than `predict`, but not of models and datasets that are not selected."""
    config = layout.config
    variants = {variant for _, variant in config.selected_variants()}
    names = {*config.run.models, *config.run.datasets, *config.tokenizers, *variants}
    for log in sorted(layout.logs.rglob("*.log")):
        rule, *parts = log.relative_to(layout.logs).as_posix().removesuffix(".log").split("/")
        if rule == "predict" or not names.issuperset(parts):
            continue
        failure = failure_of(rule, log, layout.output_of(log))
        if failure is not None:
            yield failure


def is_up_to_date(output: Path, inputs: Sequence[Path]) -> bool:
    """Says whether a file is there and none of the files that it was made from has changed since."""
    made = modified(output)
    return made is not None and all(made >= (modified(path) or 0) for path in inputs)


def modified(path: Path) -> float | None:
    """Returns when a file was last changed, in seconds since 1970; None where there is none."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # A run may remove it at any moment.
        return None
