"""What a run has made: gathers counts, times, precision and origin of every cell from the files of its results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from biasgrid.base.files import read_made
from biasgrid.config import Config
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.models.servers.usage import holdings_of
from biasgrid.runs.audit import digests_of, refuse_empty
from biasgrid.runs.layout import Layout
from biasgrid.stats.compare.same_models import same_models
from biasgrid.tables.files import count_rows, read_provenance
from biasgrid.tables.provenance import provenance

OF_PREDICTIONS = (
    "task", "scoring", "scored_by", "prompt", "date", "labels", "target_scoring", "precision", "devices", "hardware",
    "audit", "dump", "biasgrid", "libraries", "code", "config",
)  # fmt: skip


def make_manifest(config: Config, digest_of: dict[str, Any], config_file: str) -> dict[str, Any]:
    """Returns what the finished results of a config hold.

    Args:
        config: the config.
        digest_of: the config as it was given, of which a digest is kept.
        config_file: its name.

    Returns:
        The facts of `tables.provenance.provenance`, and `title`, `results` (the folder), `datasets` (see
        `asked_of`), `word_lists` (digests by dataset and variant), `models` (records by name), `same_models` (which of
        them are one, in words), `cells` (see `facts_of_cell`), `totals`, `config_file` and `files` (SHA-256 of all
        outputs, by their paths below the folder of results).

    Raises:
        UserError: a file is damaged or empty.
    """
    layout = Layout(config)
    refuse_empty(layout)
    cells = [facts_of_cell(layout, dataset, model) for model, dataset in config.cells()]
    records = {model: layout.record("models", model) for model in [*config.run.models, *config.readers]}
    variants = {"/".join(cell): layout.instances(*cell) for cell in config.selected_variants}
    return provenance(
        digest_of,
        title=config.title,
        results=config.results,
        datasets={dataset: asked_of(config, dataset) for _, dataset in config.cells()},
        word_lists={name: read_provenance(path)["word_lists"] for name, path in variants.items()},
        same_models=same_models(read_provenance(layout.summary("parquet"))["measures"]),
        models={model: read_record(path) for model, path in records.items() if path.exists()},
        cells=cells,
        totals={
            "cells": len(cells),
            **{key: sum(cell[key] for cell in cells) for key in ("instances_expected", "instances_made")},
            "seconds": round(sum(cell["seconds"] or 0 for cell in cells), 3),
        },
        config_file=config_file,
        files=digests_of(layout.results, layout.made),
    )


def asked_of(config: Config, dataset: str) -> dict[str, Any]:
    """Returns the title of a dataset, what it is about, in words, and whose control it is."""
    section, family = config.datasets[dataset], config.family(dataset)
    return {"title": section.title, "about": [*family.about(config, dataset)], "control_of": section.control_of}


def facts_of_cell(layout: Layout, dataset: str, model: str) -> dict[str, Any]:
    """Returns what a cell's files say.

    Returns:
        `dataset` and `model`; `instances_expected`, `instances_made` and how many of these were `instances_found`, made
        by earlier runs; `seconds` of inference and `rows_per_second`, over all shards, `peak_mb` and `gpu_peak_mb`, the
        most of any shard, and `hosts`, all null, 0 or empty for cells that were imported; and of the predictions task,
        scoring, precision, devices, hardware, the audit (drift from float32), the dump, versions, and digests of code
        and config, as far as they have them; of servers, what was `spent`.
    """
    timings = [read_made(shard.timing, "how long a shard took") for shard in layout.shards(dataset, model)]
    rows, found, seconds = (sum(timing[key] for timing in timings) for key in ("rows", "found", "seconds"))
    predictions = layout.predictions_of_cell(dataset, model)
    made = read_provenance(layout.measures(dataset, model))["predictions"]
    return {
        "dataset": dataset,
        "model": model,
        "instances_expected": count_rows(layout.instances_of_cell(dataset, model)),
        "instances_made": sum(map(count_rows, predictions)),
        "instances_found": found,
        "seconds": round(seconds, 3) if timings else None,
        "rows_per_second": round((rows - found) / seconds, 1) if seconds else None,
        "peak_mb": max((timing["peak_mb"] for timing in timings), default=None),
        "gpu_peak_mb": max((timing["gpu_peak_mb"] or 0 for timing in timings), default=0) or None,
        "hosts": sorted({timing["host"] for timing in timings}),
        **{key: made[key] for key in OF_PREDICTIONS if key in made},
        **spent_on(layout, dataset, model, predictions),
    }


def spent_on(layout: Layout, dataset: str, model: str, predictions: Sequence[Path]) -> dict[str, Any]:
    """Returns what was spent on a cell as `spent`: see `Holdings`, and `cost`; nothing where no server was asked."""
    holdings = holdings_of(layout.answers(dataset, model), predictions)
    if holdings is None:
        return {}
    charge = layout.config.models[model].charge(layout.config.question(model, dataset).answer)
    cost = charge.cost(holdings.tokens_in, holdings.tokens_out) if charge else None
    return {"spent": {**holdings._asdict(), "cost": cost}}
