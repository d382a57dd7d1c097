"""Gathers what the report says of a run from the files that the run has made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from biasgrid.provenance import provenance
from biasgrid.report.page import ReportDataset, ReportFigure, ReportModel, ReportRun
from biasgrid.table_files import count_rows, read_provenance


def gather_run(
    title: str,
    config: str,
    scoring: str,
    models: Mapping[str, Mapping[str, Any]],
    datasets: Mapping[str, str],
    thresholds: Mapping[str, float],
    records: Mapping[str, Mapping[str, Any]],
    imported: Sequence[Path],
    instances: Iterable[Path],
) -> ReportRun:
    """Says what was run.

    Args:
        title: the report's title.
        config: the name of the config.
        scoring: `exact` or `unqover`.
        models: kind, label and task of each model, and the planted strength that it learned and where, by name.
        datasets: titles of the datasets, by name.
        thresholds: the failure threshold of each dataset whose groups are compared, by name.
        records: the record of each model's checkpoint, by name, for those that are not imported.
        imported: the predictions of imported cells, at `DATASET/MODEL/predictions.parquet`.
        instances: the instances tables, at `DATASET/VARIANT.parquet`, of cases at `DATASET/cases.parquet`.
    """
    versions = provenance()
    return ReportRun(
        title=title,
        config=config,
        scoring=scoring,
        versions={"biasgrid": versions["biasgrid"], **versions["libraries"]},
        models=[
            ReportModel(name=name, **origin(records.get(name), dumps_of(name, imported)), **facts)
            for name, facts in models.items()
        ],
        datasets=[
            gather_dataset(name, title, thresholds.get(name), instances, imported) for name, title in datasets.items()
        ],
    )


def gather_dataset(
    name: str, title: str, threshold: float | None, instances: Iterable[Path], imported: Iterable[Path]
) -> ReportDataset:
    """Counts a dataset's instances, by variant and imported model, and names the subjects that variants dropped."""
    tables = {path.stem: path for path in instances if path.parent.name == name}
    dumps = {path.parent.name: path for path in imported if path.parents[1].name == name}
    # Cases leave no subjects out: they have none.
    dropped = {variant: read_provenance(path).get("dropped_subjects") for variant, path in tables.items()}
    return ReportDataset(
        name,
        title,
        instances={variant: count_rows(path) for variant, path in tables.items()},
        dropped={variant: names for variant, names in dropped.items() if names},
        imported={model: count_rows(path) for model, path in dumps.items()},
        threshold=threshold,
    )


def dumps_of(model: str, imported: Iterable[Path]) -> list[Mapping[str, Any]]:
    """Returns what the tables of an imported model say of its dumps, none of another model's."""
    return [read_provenance(path) for path in imported if path.parent.name == model]


def origin(record: Mapping[str, Any] | None, dumps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Names source and revision of a model: those of its checkpoint or, without a record, of its dumps."""
    if record is not None:
        return {"source": source(record), "revision": revision(record)}
    names = [f"{dump['dump']['file'] or dump['dump']['url']} (scored as {dump['scoring']})" for dump in dumps]
    digests = [f"sha256 {dump['dump']['sha256'][:12]}" for dump in dumps]
    return {"source": "dump " + ", ".join(names), "revision": ", ".join(digests)}


def source(record: Mapping[str, Any]) -> str:
    """Names where a checkpoint is from."""
    return str(record["checkpoint"] or record["folder"])


def revision(record: Mapping[str, Any]) -> str:
    """Names a checkpoint's commit, or the beginning of its weights' digest."""
    weights = [digest for name, digest in record["files"].items() if name.endswith((".safetensors", ".bin"))]
    return str(record["revision"] or f"sha256 {weights[0][:12]}")


def gather_figures(paths: Iterable[Path], datasets: Mapping[str, str]) -> list[ReportFigure]:
    """Finds the figures by their SVG files, at `DATASET/NAME.svg` for those of a dataset."""
    return [
        ReportFigure(
            path.stem, path, path.with_suffix(".png"), path.parent.name if path.parent.name in datasets else None
        )
        for path in paths
    ]
