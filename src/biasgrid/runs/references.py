"""The headlines of a run as references, with which other runs can be compared later."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.faults import InputError, UserError, unknown_names
from biasgrid.runs.results import Results
from biasgrid.stats.compare.references import StoredCell, StoredFigure, StoredReferences
from biasgrid.tables.provenance import digest


def run_references(results: Path, models: Sequence[str] = ()) -> StoredReferences:
    """Returns the headlines of a run that have a value.

    Args:
        results: the folder of results.
        models: the names of models; empty for all.

    Raises:
        InputError: there is no such model.
        UserError: the run has not finished.
    """
    run = Results(results)
    summary, manifest = run.summary(), run.manifest()
    all_models = summary["model"].unique(maintain_order=True).to_list()
    faults = list(unknown_names("the command line", "--model", models, all_models))
    if faults:
        raise InputError(faults)
    level = run.provenance("summary.parquet").get("statistics", {}).get("level")
    rows = summary.filter("headline", pl.col("model").is_in(models or all_models)).drop_nulls(
        "value"
    )
    cells = rows.unique(["model", "dataset"], keep="first", maintain_order=True)
    figures = []
    for row in rows.iter_rows(named=True):
        fields = {name: row[name] for name in StoredFigure.model_fields if name in row}
        figures.append(StoredFigure(**fields))
    return StoredReferences(
        about={"results": manifest["title"], "config": manifest["config"]},
        cells=[reference_cell(run, manifest, row, level) for row in cells.iter_rows(named=True)],
        figures=figures,
    )


def reference_cell(
    run: Results, manifest: dict[str, Any], row: dict[str, Any], level: float | None
) -> StoredCell:
    """Describes a cell by the facts on which its numbers depend.

    Args:
        run: the tables of the run.
        manifest: the manifest of the run.
        row: any row of the cell in the summary.
        level: the level of its intervals, None if the summary does not have it.
    """
    dataset, model = row["dataset"], row["model"]
    predictions = run.provenance(f"measures/{dataset}/{model}.parquet")["predictions"]
    record = manifest["models"].get(model, {})
    # A model in a folder has no revision; its state is the digest of its weights.
    name = record.get("checkpoint") or record.get("folder")
    state = record.get("revision") or record.get("weights")
    return StoredCell(
        dataset=dataset,
        kind=row["kind"],
        label=row["label"],
        asked=text_digest(predictions.get("instances", {})),
        scoring=row["scoring"],
        precision=predictions.get("precision"),
        biasgrid=manifest["biasgrid"],
        model=" at ".join(filter(None, (name, state))) or None,
        level=level,
    )


def text_digest(instances: Mapping[str, Any]) -> str | None:
    """Returns an identifier of the texts that a model was asked; None for a dump.

    It is the digest of the word lists and, if a tokenizer has dropped subjects, a digest of these.

    Args:
        instances: the provenance of the instances; empty for a dump.
    """
    word_lists, dropped_subjects = instances.get("word_lists"), instances.get("dropped_subjects")
    if word_lists and dropped_subjects:
        return f"{word_lists} without {digest(dropped_subjects)[:16]}"
    return word_lists


def public_models(results: Path) -> list[str]:
    """Returns the measured models of a run that are on the hub at a fixed commit.

    Anybody can measure these again.

    Raises:
        UserError: there is none.
    """
    run = Results(results)
    records = run.manifest()["models"]
    # The manifest also has scorers, which are not measured.
    measured_models = run.summary()["model"].unique(maintain_order=True).to_list()
    public = []
    for name in measured_models:
        record = records.get(name, {})
        if record.get("checkpoint") and record.get("revision"):
            public.append(name)
    if not public:
        raise UserError(
            f"{results} has no model from the hub at a fixed commit, which others could measure "
            "too; to save one of its other models, expected --model with "
            f"one of {', '.join(measured_models)}"
        )
    return public
