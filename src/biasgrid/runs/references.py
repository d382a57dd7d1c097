"""Headlines of a run as references in the format of `stats.compare.references`."""

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
    faults = list(unknown_names("the command line", "--model", models, known))
    if faults:
        raise InputError(faults)
    level = made.provenance("summary.parquet").get("statistics", {}).get("level")
    rows = summary.filter("headline", pl.col("model").is_in(models or known)).drop_nulls("value")
    cells = rows.unique(["model", "dataset"], keep="first", maintain_order=True)
    figures = []
    for row in rows.iter_rows(named=True):
        fields = {name: row[name] for name in StoredFigure.model_fields if name in row}
        figures.append(StoredFigure(**fields))
    return StoredReferences(
        about={"results": manifest["title"], "config": manifest["config"]},
        cells=[reference_cell(made, manifest, row, level) for row in cells.iter_rows(named=True)],
        figures=figures,
    )


def reference_cell(
    made: Results, manifest: dict[str, Any], row: dict[str, Any], level: float | None
) -> StoredCell:
    """Describes a cell by the facts on which its numbers depend.

    Args:
        made: the tables of the run.
        manifest: its manifest.
        row: a row of the cell in the summary.
        level: the level of its intervals, None if it is not known.
    """
    dataset, model = row["dataset"], row["model"]
    predictions = made.provenance(f"measures/{dataset}/{model}.parquet")["predictions"]
    record = manifest["models"].get(model, {})
    # A folder has no revision, but digests of its weights.
    name = record.get("checkpoint") or record.get("folder")
    state = record.get("revision") or record.get("weights")
    return StoredCell(
        dataset=dataset,
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
    """Returns a name of the texts that a model was asked.

    It is made of the digests of their lists, and of subjects that were left out; None for a dump,
    which has none.

    Args:
        instances: the provenance of the instances.
    """
    lists, dropped = instances.get("word_lists"), instances.get("dropped_subjects")
    if lists and dropped:
        return f"{lists} without {digest(dropped)[:16]}"
    return lists


def public_models(results: Path) -> list[str]:
    """Returns the measured models of a run from the hub at a fixed commit.

    Anybody can ask these again.

    Raises:
        UserError: there are none.
    """
    made = Results(results)
    records = made.manifest()["models"]
    # Models that only read the texts of others are in the manifest, too.
    measured = made.summary()["model"].unique(maintain_order=True).to_list()
    public = []
    for name in measured:
        record = records.get(name, {})
        if record.get("checkpoint") and record.get("revision"):
            public.append(name)
    if not public:
        raise UserError(
            f"{results} has no model from the hub at a fixed commit, which others could measure "
            "too; to save one of its other models, expected --model with "
            f"one of {', '.join(measured)}"
        )
    return public
