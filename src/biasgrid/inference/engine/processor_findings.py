"""What was found out about a model on a processor, kept beside its answers; light, as a plan reads
it.

Shards and resumed runs take what was found before, so that they never differ by it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from biasgrid.base.files import write_text

PROCESSOR = "processor-"
"""What the names of files begin with that hold what was found on a type of processor."""


REPORTED_SPEEDUP = 2.0
"""How many times as fast `precision: auto` must be for someone to be told."""


def find_once(file: Path | None, find: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Returns what was found at the first call for a file, by whatever process.

    Args:
        file: where it is kept; None finds it anew.
        find: finds it; what it returns can be written as JSON.
    """
    if file is None:
        return find()
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{file}.lock"):
        try:
            found: dict[str, Any] = json.loads(file.read_text())
        except (OSError, ValueError):
            found = find()
            write_text(file, json.dumps(found, indent=2) + "\n")
    return found


def read_findings(answers: Path) -> Iterator[dict[str, Any]]:
    """Yields what was found on each type of processor that has answered a cell.

    Args:
        answers: the folder of the cell's answers.
    """
    for file in sorted(answers.glob(f"*/{PROCESSOR}*.json")):
        try:
            yield json.loads(file.read_text())
        except (OSError, ValueError):
            continue


def precision_note(found: dict[str, Any]) -> str:
    """Words what `precision: auto` would do, of what was found: its speed, and the drift of the
    audited rows.
    """
    drift = found["drift"]
    return (
        f"{found['auto_is_faster']} times as fast at matrix products on {found['processor']}; the "
        f"probabilities in the audit would change by up to {drift['largest_drift']:.2g}, "
        f"{drift['mean_drift']:.2g} on average"
    )
