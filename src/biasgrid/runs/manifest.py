"""Makes the manifest of a run: counts, times, precision and origin of every cell of its results.

Of a run that failed there is a manifest, too, with its failures and unfinished outputs.
"""

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
from biasgrid.runs.audit import digest_results, refuse_empty
from biasgrid.runs.counts import json_data
from biasgrid.runs.failures import Failure, failure_of
from biasgrid.runs.layout import Layout
from biasgrid.runs.status import read_status
from biasgrid.stats.compare.comparability import same_models
from biasgrid.tables.files import count_rows, read_provenance
from biasgrid.tables.provenance import table_provenance

PREDICTION_FACTS = (
    "task",
    "scoring",
    "scored_by",
    "prompt",
    "date",
    "labels",
    "target_scoring",
    "precision",
    "devices",
    "answered_as",
    "hardware",
    "audit",
    "dump",
    "logs",
    "biasgrid",
    "libraries",
    "code",
    "config",
)
"""Facts in the provenance of a cell's predictions that the manifest repeats, if they are there."""


def make_manifest(config: Config, content: Mapping[str, Any], config_file: str) -> dict[str, Any]:
    """Describes the finished results of a config; docs/outputs.md has all keys.

    Args:
        config: the config.
        content: the config as Snakemake has it, of which only a digest is recorded.
        config_file: the config's name.

    Returns:
        The facts of `tables.provenance.table_provenance`, and `title`, `results` (the folder),
        `datasets` (see `describe_dataset`), `word_lists` (digests by `DATASET/VARIANT`), `models`
        (records by name), `same_models` (a sentence on models that are the same), `cells` (see
        `cell_facts`), `totals`, `config_file` and `files` (SHA-256 of all outputs, by their paths
        below the folder of results).

    Raises:
        UserError: a file is damaged or empty.
    """
    layout = Layout(config)
    refuse_empty(layout)
    cells = []
    descriptions = {}
    for model, dataset in config.cells():
        cells.append(cell_facts(layout, dataset, model))
        descriptions[dataset] = describe_dataset(config, dataset)
    word_lists = {}
    for dataset, variant in config.selected_variants:
        instances = read_provenance(layout.instances(dataset, variant))
        word_lists[f"{dataset}/{variant}"] = instances["word_lists"]
    models = {}
    for model in [*config.run.models, *config.scorer_models]:
        path = layout.record("models", model)
        if path.exists():
            models[model] = read_record(path)
    return table_provenance(
        content,
        title=config.title,
        results=config.results,
        datasets=descriptions,
        word_lists=word_lists,
        same_models=same_models(read_provenance(layout.summary("parquet"))["measures"]),
        models=models,
        cells=cells,
        totals=sum_cells(cells),
        config_file=config_file,
        files=digest_results(layout.results, layout.outputs),
    )


def sum_cells(cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns sums over cells (see `cell_facts`), with their number as `cells`.

    Imported cells, whose `seconds` are None, count as 0 s.
    """
    return {
        "cells": len(cells),
        "instances_expected": sum(cell["instances_expected"] for cell in cells),
        "instances_made": sum(cell["instances_made"] for cell in cells),
        "seconds": round(sum(cell["seconds"] or 0 for cell in cells), 3),
    }


def describe_dataset(config: Config, dataset: str) -> dict[str, Any]:
    """Returns `title`, `about` (lines of text) and `control_of` of a dataset.

    `control_of` is the dataset whose control it is, None if it is no control.
    """
    return {
        "title": config.dataset_title(dataset),
        "about": [*config.family(dataset).about(config, dataset)],
        "control_of": config.datasets[dataset].control_of,
    }


def cell_facts(layout: Layout, dataset: str, model: str) -> dict[str, Any]:
    """Returns the facts of a finished cell.

    Returns:
        `dataset` and `model`; `instances_expected` and `instances_made`, the numbers of instances
        and predictions; those of `timing_facts`; the `PREDICTION_FACTS` that its predictions have;
        and of `server_facts`.
    """
    shards = layout.shards(dataset, model)
    timings = [read_run_json(shard.timing, "how long a shard took") for shard in shards]
    predictions = layout.predictions_of_cell(dataset, model)
    provenance = read_provenance(layout.measures(dataset, model))["predictions"]
    return {
        "dataset": dataset,
        "model": model,
        "instances_expected": count_rows(layout.instances_of_cell(dataset, model)),
        "instances_made": sum(map(count_rows, predictions)),
        **timing_facts(timings),
        **{key: provenance[key] for key in PREDICTION_FACTS if key in provenance},
        **server_facts(layout, dataset, model, predictions),
    }


def timing_facts(timings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Summarises the timings of a cell's shards.

    Args:
        timings: the timing of each shard; empty for imported cells.

    Returns:
        `instances_found`, the number of predictions that earlier runs made, 0 without shards;
        `seconds` of inference, None without shards; `rows_per_second`, None if no time was
        measured; `sequences` and `tokens` that were read in this time, None if nothing was, or if
        nobody counted it; `peak_mb` and `gpu_peak_mb`, the maximum over shards, None without
        shards or GPUs; and `hosts`, sorted.
    """
    rows = sum(timing["rows"] for timing in timings)
    found = sum(timing["found"] for timing in timings)
    seconds = sum(timing["seconds"] for timing in timings)
    gpu_peak_mb = max((timing["gpu_peak_mb"] or 0 for timing in timings), default=0)
    return {
        "instances_found": found,
        "seconds": round(seconds, 3) if timings else None,
        # Rows of earlier runs took no time.
        "rows_per_second": round((rows - found) / seconds, 1) if seconds else None,
        "sequences": sum_of_asked(timings, "sequences"),
        "tokens": sum_of_asked(timings, "tokens"),
        "peak_mb": max((timing["peak_mb"] for timing in timings), default=None),
        "gpu_peak_mb": gpu_peak_mb or None,
        "hosts": sorted({timing["host"] for timing in timings}),
    }


def sum_of_asked(timings: Sequence[Mapping[str, Any]], key: str) -> int | None:
    """Returns the sum of a count of inputs over the shards that asked a model.

    It is None if there are none of these, or if the back end of one could not count.
    """
    counts = [timing[key] for timing in timings if timing["rows"] > timing["found"]]
    return sum(counts) if counts and None not in counts else None


def server_facts(
    layout: Layout, dataset: str, model: str, predictions: Sequence[Path]
) -> dict[str, Any]:
    """Returns the usage of a cell's server as `spent`: the fields of `Holdings`, and `cost`.

    The cost is None if prices are unknown. Empty for a cell without a store of answers.
    """
    holdings = count_holdings(layout.answers(dataset, model), predictions)
    if holdings is None:
        return {}
    question = layout.config.question(model, dataset)
    charge = layout.config.models[model].source.charge(question.answer)
    cost = charge.cost(holdings.tokens_in, holdings.tokens_out) if charge else None
    return {"spent": {**holdings._asdict(), "cost": cost}}


NO_LOGGED_ERROR = (
    "the job ended without an error message, so it was probably killed; if memory "
    f"ran out, {LESS_AT_ONCE}"
)


class UnfinishedJob(NamedTuple):
    """A job that a run planned and did not finish.

    Attributes:
        rule: its rule.
        log: its log file.
        outputs: the files and folders that it should have made.
        has_failed: whether it failed; otherwise it was not begun, or stopped.
    """

    rule: str
    log: str
    outputs: list[str]
    has_failed: bool


def write_failed_manifest(
    config: Config, content: Mapping[str, Any], config_file: str, jobs: Sequence[UnfinishedJob]
) -> None:
    """Writes the manifest of a failed run.

    The manifest of an earlier run is removed if this run should have made it again.

    Args:
        config: the config.
        content: the config as Snakemake has it, of which only a digest is recorded.
        config_file: the config's name.
        jobs: the jobs that the run did not finish.

    Raises:
        UserError: the file cannot be written.
    """
    layout = Layout(config)
    manifest = make_failed_manifest(layout, content, config_file, jobs)
    write_text(layout.failed_manifest, json.dumps(manifest, indent=2) + "\n")
    if any(str(layout.manifest) in job.outputs for job in jobs):
        layout.manifest.unlink(missing_ok=True)


def make_failed_manifest(
    layout: Layout, content: Mapping[str, Any], config_file: str, jobs: Sequence[UnfinishedJob]
) -> dict[str, Any]:
    """Describes the results of a failed run; see `write_failed_manifest`.

    Returns:
        The facts of `tables.provenance.table_provenance`, and `title`, `config_file`; `cells` and
        `totals` as in `biasgrid status`; `failures` (see `Failure`); `missing`, the outputs of
        unfinished jobs; and `files`, the SHA-256 of existing outputs. Paths are relative to the
        folder of results.

    Raises:
        InputError: see `read_status`.
    """
    status = read_status(layout.config)
    failures = []
    missing = []
    for job in jobs:
        if job.has_failed:
            failure = failure_of(job.rule, Path(job.log))
            # A killed job has logged no error.
            failures.append(failure or Failure(job.rule, job.log, NO_LOGGED_ERROR))
        missing += [str(Path(output).relative_to(layout.results)) for output in job.outputs]
    return table_provenance(
        content,
        title=layout.config.title,
        config_file=config_file,
        cells=json_data(status.cells),
        totals=json_data(status.totals),
        failures=json_data(failures),
        missing=sorted(missing),
        files=digest_results(layout.results, layout.outputs),
    )
