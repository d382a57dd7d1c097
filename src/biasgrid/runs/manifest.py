"""Makes the manifest of a run: counts, times, precision and origin of every cell of its results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import LESS_AT_ONCE
from biasgrid.base.files import read_run_json, write_text
from biasgrid.config import Config
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.models.servers.usage import count_holdings
from biasgrid.runs.audit import digests_of_results, refuse_empty
from biasgrid.runs.counts import json_data
from biasgrid.runs.failures import Failure, failure_of
from biasgrid.runs.layout import Layout
from biasgrid.runs.status import read_status
from biasgrid.stats.compare.comparability import same_models
from biasgrid.tables.files import count_rows, read_provenance
from biasgrid.tables.provenance import table_provenance

OF_PREDICTIONS = (
    "task",
    "scoring",
    "scored_by",
    "prompt",
    "date",
    "labels",
    "target_scoring",
    "precision",
    "devices",
    "hardware",
    "audit",
    "dump",
    "logs",
    "biasgrid",
    "libraries",
    "code",
    "config",
)


def make_manifest(config: Config, digest_of: dict[str, Any], config_file: str) -> dict[str, Any]:
    """Describes the finished results of a config.

    Args:
        config: the config.
        digest_of: the config as it was given, of which a digest is kept.
        config_file: its name.

    Returns:
        The facts of `tables.provenance.table_provenance`, and `title`, `results` (the folder),
        `datasets` (see `description_of_dataset`), `word_lists` (digests by dataset and variant),
        `models` (records by name), `same_models` (names of one and the same model, in words),
        `cells` (see `facts_of_cell`), `totals`, `config_file` and `files` (SHA-256 of all outputs,
        by their paths below the folder of results).

    Raises:
        UserError: a file is damaged or empty.
    """
    layout = Layout(config)
    refuse_empty(layout)
    cells = []
    descriptions = {}
    for model, dataset in config.cells():
        cells.append(facts_of_cell(layout, dataset, model))
        descriptions[dataset] = description_of_dataset(config, dataset)
    word_lists = {}
    for dataset, variant in config.selected_variants:
        instances = read_provenance(layout.instances(dataset, variant))
        word_lists[f"{dataset}/{variant}"] = instances["word_lists"]
    models = {}
    for model in [*config.run.models, *config.readers]:
        path = layout.record("models", model)
        if path.exists():
            models[model] = read_record(path)
    return table_provenance(
        digest_of,
        title=config.title,
        results=config.results,
        datasets=descriptions,
        word_lists=word_lists,
        same_models=same_models(read_provenance(layout.summary("parquet"))["measures"]),
        models=models,
        cells=cells,
        totals=totals_of_cells(cells),
        config_file=config_file,
        files=digests_of_results(layout.results, layout.outputs),
    )


def totals_of_cells(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns sums over cells, see `facts_of_cell`; imported cells took no seconds."""
    return {
        "cells": len(cells),
        "instances_expected": sum(cell["instances_expected"] for cell in cells),
        "instances_made": sum(cell["instances_made"] for cell in cells),
        "seconds": round(sum(cell["seconds"] or 0 for cell in cells), 3),
    }


def description_of_dataset(config: Config, dataset: str) -> dict[str, Any]:
    """Returns `title`, `about`, in words, and `control_of`, the dataset that it is a control of."""
    return {
        "title": config.dataset_title(dataset),
        "about": [*config.family(dataset).about(config, dataset)],
        "control_of": config.datasets[dataset].control_of,
    }


def facts_of_cell(layout: Layout, dataset: str, model: str) -> dict[str, Any]:
    """Returns the facts in a cell's files.

    Returns:
        `dataset` and `model`; `instances_expected`, `instances_made` and `instances_found`, the
        number of these that earlier runs made; the facts of `timing_facts`; of the predictions
        task, scoring, precision, devices, hardware, the audit (drift from
        float32), the dump, logs of other harnesses, versions, and digests of code and config, as
        far as they have them; of servers, `spent`.
    """
    shards = layout.shards(dataset, model)
    timings = [read_run_json(shard.timing, "how long a shard took") for shard in shards]
    predictions = layout.predictions_of_cell(dataset, model)
    made = read_provenance(layout.measures(dataset, model))["predictions"]
    return {
        "dataset": dataset,
        "model": model,
        "instances_expected": count_rows(layout.instances_of_cell(dataset, model)),
        "instances_made": sum(map(count_rows, predictions)),
        **timing_facts(timings),
        **{key: made[key] for key in OF_PREDICTIONS if key in made},
        **usage_of_cell(layout, dataset, model, predictions),
    }


def timing_facts(timings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarises the timings of a cell's shards.

    Returns:
        `instances_found`; `seconds` of inference and `rows_per_second`, over all shards, `peak_mb`
        and `gpu_peak_mb`, the maximum over shards, and `hosts`. All are null, 0 or empty for cells
        that were imported, which have no shards.
    """
    rows = sum(timing["rows"] for timing in timings)
    found = sum(timing["found"] for timing in timings)
    seconds = sum(timing["seconds"] for timing in timings)
    gpu_peak_mb = max((timing["gpu_peak_mb"] or 0 for timing in timings), default=0)
    return {
        "instances_found": found,
        "seconds": round(seconds, 3) if timings else None,
        # Rows that earlier runs made took no time.
        "rows_per_second": round((rows - found) / seconds, 1) if seconds else None,
        "peak_mb": max((timing["peak_mb"] for timing in timings), default=None),
        "gpu_peak_mb": gpu_peak_mb or None,
        "hosts": sorted({timing["host"] for timing in timings}),
    }


def usage_of_cell(
    layout: Layout, dataset: str, model: str, predictions: Sequence[Path]
) -> dict[str, Any]:
    """Returns the usage of a cell's server as `spent`: see `Holdings`, and `cost`.

    Without a server nothing is returned.
    """
    holdings = count_holdings(layout.answers(dataset, model), predictions)
    if holdings is None:
        return {}
    question = layout.config.question(model, dataset)
    charge = layout.config.models[model].source.charge(question.answer)
    cost = charge.cost(holdings.tokens_in, holdings.tokens_out) if charge else None
    return {"spent": {**holdings._asdict(), "cost": cost}}


NO_ERROR_LOGGED = (
    "the job ended without an error message, so it was probably killed; if memory "
    f"ran out, {LESS_AT_ONCE}"
)


class UnfinishedJob(NamedTuple):
    """A job that a run should have done and has not.

    Attributes:
        rule: its rule.
        log: its log file.
        outputs: the files and folders that it should have made.
        failed: whether it was begun and failed.
    """

    rule: str
    log: str
    outputs: list[str]
    failed: bool


def write_failed_manifest(
    config: Config, digest_of: Mapping[str, Any], config_file: str, jobs: Sequence[UnfinishedJob]
) -> None:
    """Writes the manifest of a failed run.

    The manifest of an earlier run is removed if this run has outdated it.

    Args:
        config: the config.
        digest_of: the config as it was given, of which a digest is kept.
        config_file: its name.
        jobs: the jobs that the run has not done.

    Raises:
        UserError: the file cannot be written.
    """
    layout = Layout(config)
    manifest = make_failed_manifest(layout, digest_of, config_file, jobs)
    write_text(layout.failed_manifest, json.dumps(manifest, indent=2) + "\n")
    if any(str(layout.manifest) in job.outputs for job in jobs):
        layout.manifest.unlink(missing_ok=True)


def make_failed_manifest(
    layout: Layout, digest_of: Mapping[str, Any], config_file: str, jobs: Sequence[UnfinishedJob]
) -> dict[str, Any]:
    """Describes the results of a failed run.

    Returns:
        The facts of `tables.provenance.table_provenance`, and `title`, `config_file`; `cells` and
        `totals` as `biasgrid status` has them; `failures` (see `Failure`); `missing`, the outputs
        that the run has not made, or not made anew, and `files`, the SHA-256 of those that are
        there, by their paths below the folder of results.

    Raises:
        InputError: not all instances are expanded, and the word lists by which they are counted
            have faults.
    """
    status = read_status(layout.config)
    failures = []
    missing = []
    for job in jobs:
        if job.failed:
            failure = failure_of(job.rule, Path(job.log))
            # A job that was killed had no time to log an error.
            failures.append(failure or Failure(job.rule, job.log, NO_ERROR_LOGGED))
        missing += [str(Path(output).relative_to(layout.results)) for output in job.outputs]
    return table_provenance(
        digest_of,
        title=layout.config.title,
        config_file=config_file,
        cells=json_data(status.cells),
        totals=json_data(status.totals),
        failures=json_data(failures),
        missing=sorted(missing),
        files=digests_of_results(layout.results, layout.outputs),
    )
