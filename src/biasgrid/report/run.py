"""The models, datasets, figures and tables of a run, gathered from its files for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from biasgrid.base.addresses import public_address
from biasgrid.base.references import exists, load, stage
from biasgrid.stats.recovery import StrengthsOfCells
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.files import count_rows, read_provenance
from biasgrid.tables.metric import NO_CONTROLS, Controls, Measure
from biasgrid.tables.provenance import table_provenance


@dataclass(frozen=True)
class ReportModel:
    """A model, as the report names it.

    Attributes:
        name: its name in the config.
        kind: what sort of model it is.
        label: its name in plots.
        task: its Hugging Face task.
        source: where its weights are from (repository, folder, or what it was trained on), or its
            dumps.
        revision: the revision of the repository or the digest of the weights or dumps.
    """

    name: str
    kind: str
    label: str
    task: str
    source: str
    revision: str


@dataclass(frozen=True)
class ReportDataset:
    """A dataset, as the report names it.

    Attributes:
        name: its name in the config.
        title: its name for people.
        about: what is asked and compared, in words, a paragraph each.
        measures: its measures, by name.
        instances: how many instances each of its variants has.
        dropped: the subjects that each variant leaves out, because they are not one token.
        imported: how many instances the dump of each imported model holds.
        answered: of generative models, the counts of their answers from
            `tables.summary.answer_counts`.
        family: the name of its family, whose view the page has.
        reference: the reference of its family, whose module `payload` makes what the view shows.
        sensitive: whether its texts are hidden until asked for.
        templates: the text of each of its templates, by number; empty where that is not known.
    """

    name: str
    title: str
    about: Sequence[str]
    measures: Mapping[str, Measure]
    instances: Mapping[str, int]
    dropped: Mapping[str, Sequence[str]] = field(default_factory=dict)
    imported: Mapping[str, int] = field(default_factory=dict)
    answered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    family: str = ""
    reference: str = ""
    sensitive: bool = True
    templates: Sequence[str] = ()

    def module(self, name: str) -> ModuleType | None:
        """Returns a module of its family, `payload` or `evidence`, None where it has none."""
        reference = stage(self.reference, name) if self.reference else ""
        return load(reference) if reference and exists(reference) else None


@dataclass(frozen=True)
class ReportRun:
    """What was run.

    Attributes:
        title: the report's title.
        config: the name of the config.
        versions: the versions of this package and of the libraries that numbers depend on.
        models: the models, in the order of the report.
        datasets: the datasets, in the order of the report.
        strengths: the models that learned a synthetic bias.
        level: the coverage of intervals.
        controls: which cells are negative controls.
        results: the folder of results, for commands.
        settings: the config, which the page carries.
        megabytes: how large the page may become; sentences are carried as far as they fit.
        same_models: which models are one, in words; empty where none are.
        facts: what is known of the cells beside their numbers.
    """

    title: str
    config: str
    versions: Mapping[str, str]
    models: Sequence[ReportModel]
    datasets: Sequence[ReportDataset]
    strengths: StrengthsOfCells = field(default_factory=dict)
    level: float = 0.95
    controls: Controls = NO_CONTROLS
    results: str = "results"
    settings: Mapping[str, Any] = field(default_factory=dict)
    megabytes: float = 8
    same_models: str = ""
    facts: GridFacts = NO_FACTS


@dataclass(frozen=True)
class ReportFigure:
    """A saved figure.

    Attributes:
        name: its name, as that of its module.
        dataset: the dataset it is about, or `GRID`.
        svg: its file, which the page names.
        caption: what one sees and what it does not mean.
    """

    name: str
    dataset: str
    svg: Path
    caption: str


@dataclass(frozen=True)
class ReportTables:
    """What was measured, of all cells.

    Attributes:
        measures: schema `MEASURES`.
        summary: schema `SUMMARY`.
        verdicts: schema `VERDICTS`.
        examples: schema `EVIDENCE`.
        parts: schema `EVIDENCE_PARTS`.
        comparisons: schema `COMPARISONS`.
        ranks: schema `RANKS`.
        synthetic: schema `SYNTHETIC`, what models were trained on; without rows where none were.
        published: schema `biasgrid.report.published.PUBLISHED_SCHEMA`, to put ours beside it.
    """

    measures: pl.DataFrame
    summary: pl.DataFrame
    verdicts: pl.DataFrame
    examples: pl.DataFrame
    parts: pl.DataFrame
    comparisons: pl.DataFrame
    ranks: pl.DataFrame
    synthetic: pl.DataFrame
    published: pl.DataFrame


def gather_run(
    title: str,
    config: str,
    models: Mapping[str, Mapping[str, str]],
    datasets: Mapping[str, Mapping[str, Any]],
    strengths: StrengthsOfCells,
    level: float,
    results: str,
    settings: Mapping[str, Any],
    megabytes: float,
    controls: Controls,
    records: Mapping[str, Mapping[str, Any]],
    imported: Sequence[Path],
    instances: Sequence[Path],
    measures: Sequence[Path],
    same_models: str,
    facts: GridFacts,
) -> ReportRun:
    """Gathers what was run.

    Args:
        title: the report's title.
        config: the name of the config.
        models: kind, label and task of each model, by name.
        datasets: what `ReportDataset` has of each dataset besides the facts in its tables, by name.
        strengths: the models that learned a synthetic bias.
        level: the coverage of intervals.
        results: the folder of results.
        settings: the config.
        megabytes: how large the page may become.
        controls: which cells are negative controls.
        records: the record of each model's checkpoint, by name, for those that are not imported.
        imported: the predictions of imported cells, at `DATASET/MODEL/predictions.parquet`.
        instances: the instances tables, at `DATASET/VARIANT.parquet`.
        measures: the measures of cells, at `DATASET/MODEL.parquet`.
        same_models: which models are one, in words.
        facts: what is known of the cells beside their numbers.
    """
    versions = table_provenance()
    return ReportRun(
        title=title,
        config=config,
        versions={"biasgrid": versions["biasgrid"], **versions["libraries"]},
        models=[
            ReportModel(
                name=name,
                **origin(
                    records.get(name),
                    [read_provenance(path) for path in imported if path.parent.name == name],
                ),
                **of_model,
            )
            for name, of_model in models.items()
        ],
        datasets=[
            gather_dataset(name, facts, instances, imported, measures)
            for name, facts in datasets.items()
        ],
        strengths=strengths,
        level=level,
        results=results,
        settings=settings,
        megabytes=megabytes,
        controls=controls,
        same_models=same_models,
        facts=facts,
    )


def gather_dataset(
    name: str,
    facts: Mapping[str, Any],
    instances: Iterable[Path],
    imported: Iterable[Path],
    measures: Iterable[Path],
) -> ReportDataset:
    """Gathers the facts of a dataset: its instances are counted, and subjects that variants dropped
    are named.
    """
    tables = {path.stem: path for path in instances if path.parent.name == name}
    dumps = {path.parent.name: path for path in imported if path.parents[1].name == name}
    answers = {
        path.stem: read_provenance(path).get("answered")
        for path in measures
        if path.parent.name == name
    }
    # Families that compare no subjects leave none out.
    dropped = {
        variant: read_provenance(path).get("dropped_subjects") for variant, path in tables.items()
    }
    return ReportDataset(
        name,
        **facts,
        instances={variant: count_rows(path) for variant, path in tables.items()},
        dropped={variant: names for variant, names in dropped.items() if names},
        imported={model: count_rows(path) for model, path in dumps.items()},
        answered={model: answered for model, answered in answers.items() if answered},
    )


def origin(record: Mapping[str, Any] | None, dumps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Names source and revision of a model: those of its checkpoint or, without a record, of its
    dumps.
    """
    if record is not None:
        return {"source": source(record), "revision": revision(record)}
    names = [
        f"{dump['dump']['file'] or dump['dump']['url']} (scored as {dump['scoring']})"
        for dump in dumps
    ]
    digests = [f"sha256 {dump['dump']['sha256'][:12]}" for dump in dumps]
    return {"source": "dump " + ", ".join(names), "revision": ", ".join(digests)}


def source(record: Mapping[str, Any]) -> str:
    """Names where a checkpoint is from, or the server that answers; else the keys of the config
    that name it.
    """
    keys = record.get("keys", {})
    for server in keys.values():
        if isinstance(server, dict) and "url" in server:
            return f"{server['model']} at {server['url']}"
    return str(record["checkpoint"] or record["folder"] or f"{', '.join(keys)} in the config")


def revision(record: Mapping[str, Any]) -> str:
    """Names a checkpoint's commit, or the beginning of its weights' digest."""
    weights = [
        digest
        for name, digest in record["files"].items()
        if name.endswith((".safetensors", ".bin"))
    ]
    return str(record["revision"] or (f"sha256 {weights[0][:12]}" if weights else "-"))


def gather_figures(figures: Mapping[Path, Mapping[str, str]]) -> list[ReportFigure]:
    """Finds figures by their folders, `DATASET` or `grid` for those of all datasets, and their
    references there.
    """
    return [
        ReportFigure(name, folder.name, folder / f"{name}.svg", load(reference).CAPTION)
        for folder, references in figures.items()
        for name, reference in references.items()
    ]


def without_secrets(settings: Any) -> Any:
    """Returns a config whose addresses hold nothing that must not be shown, such as keys."""
    if isinstance(settings, Mapping):
        return {str(key): without_secrets(value) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [without_secrets(value) for value in settings]
    return public_address(settings) if isinstance(settings, str) and "://" in settings else settings
