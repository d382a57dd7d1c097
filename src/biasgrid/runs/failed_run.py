"""What a run that failed leaves in place of a manifest: what is done, what failed and why, and what is missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import LESS_AT_ONCE
from biasgrid.base.files import write_text
from biasgrid.config import Config
from biasgrid.runs.audit import digests_of
from biasgrid.runs.estimates import plain
from biasgrid.runs.failed_jobs import Failure, failure_of
from biasgrid.runs.layout import Layout
from biasgrid.runs.status import read_status
from biasgrid.tables.provenance import provenance

WITHOUT_A_WORD = f"it ended without a last word, as a job does that is killed; where memory ran out, {LESS_AT_ONCE}"


class Unfinished(NamedTuple):
    """A job that a run should have done and has not.

    Attributes:
        rule: its rule.
        log: its log file.
        outputs: what it should have made.
        failed: whether it was begun and failed.
    """

    rule: str
    log: str
    outputs: list[str]
    failed: bool


def write_failed_manifest(
    config: Config, digest_of: Mapping[str, Any], config_file: str, jobs: Sequence[Unfinished]
) -> None:
    """Writes the manifest of a failed run, and removes the manifest of an earlier one which that run has outdated.

    Args:
        config: the config.
        digest_of: the config as it was given, of which a digest is kept.
        config_file: its name.
        jobs: what the run has not done.

    Raises:
        UserError: the file cannot be written.
    """
    layout = Layout(config)
    manifest = make_failed_manifest(layout, digest_of, config_file, jobs)
    write_text(layout.failed_manifest, json.dumps(manifest, indent=2) + "\n")
    if str(layout.manifest) in (output for job in jobs for output in job.outputs):
        layout.manifest.unlink(missing_ok=True)


def make_failed_manifest(
    layout: Layout, digest_of: Mapping[str, Any], config_file: str, jobs: Sequence[Unfinished]
) -> dict[str, Any]:
    """Returns what a failed run leaves.

    Returns:
        The facts of `tables.provenance.provenance`, and `title`, `config_file`; `cells` and `totals` as `biasgrid
        status` tells them; `failures` (see `Failure`); `missing`, the outputs that the run has not made, or not made
        anew, and `files`, the SHA-256 of those that are there, by their paths below the folder of results.

    Raises:
        InputError: not all instances are expanded, and the word lists by which they are counted have faults.
    """
    status = read_status(layout.config)
    return provenance(
        digest_of,
        title=layout.config.title,
        config_file=config_file,
        cells=plain(status.cells),
        totals=plain(status.totals),
        failures=[plain(failure_of_job(job)) for job in jobs if job.failed],
        missing=sorted(str(Path(output).relative_to(layout.results)) for job in jobs for output in job.outputs),
        files=digests_of(layout.results, layout.made),
    )


def failure_of_job(job: Unfinished) -> Failure:
    """Returns why a job failed: as its log tells, or that this tells nothing."""
    return failure_of(job.rule, Path(job.log)) or Failure(job.rule, job.log, WITHOUT_A_WORD)
