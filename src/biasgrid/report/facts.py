"""Gathers what the report says of a run from the files that the run has made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.provenance import provenance
from biasgrid.report.page import ReportDataset, ReportFigure, ReportModel, ReportRun
from biasgrid.tables import read_provenance


def gather_run(
    title: str,
    config: str,
    scoring: str,
    models: Mapping[str, Mapping[str, Any]],
    datasets: Mapping[str, str],
    records: Iterable[Mapping[str, Any]],
    instances: Iterable[Path],
) -> ReportRun:
    """Says what was run.

    Args:
        title: the report's title.
        config: the name of the config.
        scoring: `exact` or `unqover`.
        models: kind, label, task and planted strength of each model, by name.
        datasets: titles of the datasets, by name.
        records: the record of each model's checkpoint, in the order of `models`.
        instances: the instances tables, at `DATASET/VARIANT.parquet`.
    """
    versions = provenance()
    return ReportRun(
        title=title,
        config=config,
        scoring=scoring,
        versions={"biasgrid": versions["biasgrid"], **versions["libraries"]},
        models=[
            ReportModel(name=name, source=source(record), revision=revision(record), **facts)
            for (name, facts), record in zip(models.items(), records, strict=True)
        ],
        datasets=[gather_dataset(name, title, instances) for name, title in datasets.items()],
    )


def gather_dataset(name: str, title: str, instances: Iterable[Path]) -> ReportDataset:
    """Counts a dataset's instances and names the subjects that were dropped, by variant."""
    tables = {path.stem: path for path in instances if path.parent.name == name}
    counts = {variant: pl.scan_parquet(path).select(pl.len()).collect().item() for variant, path in tables.items()}
    dropped = {variant: read_provenance(path)["dropped_subjects"] for variant, path in tables.items()}
    return ReportDataset(name, title, counts, {variant: names for variant, names in dropped.items() if names})


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
