"""Findings about a model's speed on a processor, in files beside its answers.

Later shards and resumed runs use the findings of the first one: other ones would change their last
digits. No import here is slow, as a plan reads the files, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from filelock import FileLock

from biasgrid.base.files import write_text

PROCESSOR = "processor-"
"""How the names of files begin that have the findings about a type of processor."""
REPORTED_SPEEDUP = 2.0
"""How many times as fast `precision: bfloat16` must be to be reported."""


def find_once(
    file: Path | None,
    find: Callable[[], dict[str, Any]],
    field_names: Collection[str] = (),
) -> dict[str, Any]:
    """Returns the findings in a file; the first process that asks for them makes the file.

    Args:
        file: the file; None calls `find` each time. A damaged file is made anew.
        find: returns the findings, as values of JSON.
        field_names: the names of all findings; a file with other names is made anew, too. Any names
            by default.
    """
    if file is None:
        return find()
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{file}.lock"):
        findings = findings_in(file)
        is_foreign = field_names and findings.keys() != set(field_names)
        if not findings or is_foreign:
            findings = find()
            write_text(file, json.dumps(findings, indent=2) + "\n")
    return findings


def findings_in(file: Path) -> dict[str, Any]:
    """Returns the findings in a file; none if it is missing or damaged."""
    try:
        content = json.loads(file.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def read_findings(answers: Path) -> Iterator[dict[str, Any]]:
    """Yields the findings about each type of processor that has answered a cell.

    Missing and damaged files are skipped.

    Args:
        answers: the folder of the cell's answers.
    """
    for file in sorted(answers.glob(f"*/{PROCESSOR}*.json")):
        findings = findings_in(file)
        if findings:
            yield findings


def precision_note(findings: dict[str, Any]) -> str:
    """Describes the speed of `precision: bfloat16`, and how far it would change answers.

    Args:
        findings: see `autotune.time_kernels`; with `bfloat16_drift`, see `audit.measure_drift`.
    """
    drift = findings["bfloat16_drift"]
    return (
        f"{findings['bfloat16_is_faster']} times as fast at matrix products on "
        f"{findings['processor']}; the probabilities in the audit would change by up to "
        f"{drift['largest_drift']:.2g}, {drift['mean_drift']:.2g} on average"
    )
