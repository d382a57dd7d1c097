"""What a run has measured, as references in the format of `stats.compare.references`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.faults import InputError, UserError, unknown_names
from biasgrid.runs.results import Results
from biasgrid.stats.compare.references import StoredCell, StoredFigure, StoredReferences
from biasgrid.tables.provenance import digest


def references_of_run(results: Path, models: Sequence[str] = ()) -> StoredReferences:
    """Returns the headlines of a run that have a value.

    Args:
        results: the folder of results.
        models: the models; all by default.

    Raises:
        InputError: there is no such model.
        UserError: the run has not finished.
    """
    made = Results(results)
    summary, manifest = made.summary(), made.manifest()
    known = summary["model"].unique(maintain_order=True).to_list()
    if faults := list(unknown_names("the command line", "--model", models, known)):
        raise InputError(faults)
    level = made.provenance("summary.parquet").get("statistics", {}).get("level")
    rows = summary.filter("headline", pl.col("model").is_in(models or known)).drop_nulls("value")
    cells = rows.unique(["model", "dataset"], keep="first", maintain_order=True)
    return StoredReferences(
        about={"results": manifest["title"], "config": manifest["config"]},
        cells=[reference_cell(made, manifest, row, level) for row in cells.iter_rows(named=True)],
        figures=[
            StoredFigure(**{name: row[name] for name in StoredFigure.model_fields if name in row})
            for row in rows.iter_rows(named=True)
        ],
    )


def reference_cell(
    made: Results, manifest: dict[str, Any], row: dict[str, Any], level: float | None
) -> StoredCell:
    """Returns what is known of a cell."""
    predictions = made.provenance(f"measures/{row['dataset']}/{row['model']}.parquet")[
        "predictions"
    ]
    record = manifest["models"].get(row["model"], {})
    name, state = (
        record.get("checkpoint") or record.get("folder"),
        record.get("revision") or record.get("weights"),
    )
    return StoredCell(
        dataset=row["dataset"],
        kind=row["kind"],
        label=row["label"],
        asked=digests_of_texts(predictions.get("instances", {})),
        scoring=row["scoring"],
        precision=predictions.get("precision"),
        biasgrid=manifest["biasgrid"],
        model=" at ".join(filter(None, (name, state))) or None,
        level=level,
    )


def digests_of_texts(instances: Mapping[str, Any]) -> str | None:
    """Returns what names the texts that a model was asked: the digest of their lists, and of
    subjects left out.

    Args:
        instances: the provenance of the instances; a dump has none.
    """
    lists, dropped = instances.get("word_lists"), instances.get("dropped_subjects")
    return f"{lists} without {digest(dropped)[:16]}" if lists and dropped else lists


def public_models(results: Path) -> list[str]:
    """Returns the measured models of a run that are a commit of the hub's, which anybody can ask
    again.

    Raises:
        UserError: there are none.
    """
    made = Results(results)
    known, measured = made.manifest()["models"], made.summary()["model"].unique(maintain_order=True)
    # Models that only read the texts of others are in the manifest, too.
    records = {name: known.get(name, {}) for name in measured}
    public = [
        name
        for name, record in records.items()
        if record.get("checkpoint") and record.get("revision")
    ]
    if not public:
        raise UserError(
            f"{results} has no model from the hub at a fixed commit, which others could measure "
            "too; to save one of its other models, expected --model with "
            f"one of {', '.join(records)}"
        )
    return public
