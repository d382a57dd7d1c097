"""The models, datasets, figures and tables of a run, gathered from its files for the report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import polars as pl

from biasgrid.base.addresses import public_address
from biasgrid.base.references import exists, load, stage_module
from biasgrid.stats.recovery import CellStrengths
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
from biasgrid.tables.files import count_rows, read_provenance
from biasgrid.tables.metric import NO_CONTROLS, Controls, Measure
from biasgrid.tables.provenance import table_provenance


@dataclass(frozen=True)
class ReportModel:
    """A model, as the report names it.

    Attributes:
        name: its name in the config.
        kind: the kind of model, such as `BERT`.
        label: its name in plots.
        task: its Hugging Face task.
        source: the origin of its weights (repository, folder, or training data), or its dumps.
        revision: the revision of the repository, or the digest of the weights or dumps.
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
        about: paragraphs about its questions and comparisons.
        measures: its measures, by name.
        instances: the number of instances of each of its variants.
        dropped_subjects: the subjects that each variant leaves out, because they are not one token.
        dump_instances: the number of instances in the dump of each imported model.
        answer_counts: the counts of generative models' answers, by model, from
            `tables.summary.answer_counts`.
        family: the name of its family, whose view the page has; `""` if it is unknown.
        reference: the reference of its family, whose module `page` makes the content of the
            view; `""` if it is unknown.
        sensitive: whether its texts are hidden until a click.
        templates: the text of each of its templates, by number; empty if unknown.
    """

    name: str
    title: str
    about: Sequence[str]
    measures: Mapping[str, Measure]
    instances: Mapping[str, int]
    dropped_subjects: Mapping[str, Sequence[str]] = field(default_factory=dict)
    dump_instances: Mapping[str, int] = field(default_factory=dict)
    answer_counts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    family: str = ""
    reference: str = ""
    sensitive: bool = True
    templates: Sequence[str] = ()

    def module(self, name: str) -> ModuleType | None:
        """Returns a module of its family, `page` or `evidence`, None if there is none."""
        reference = stage_module(self.reference, name) if self.reference else ""
        return load(reference) if reference and exists(reference) else None


@dataclass(frozen=True)
class ReportRun:
    """Models, datasets and facts of a run.

    Attributes:
        title: the report's title.
        config: the name of the config.
        versions: the versions of this package and of the libraries that numbers depend on.
        models: the models, in the order of the report.
        datasets: the datasets, in the order of the report.
        strengths: the models that learned a synthetic bias.
        level: the coverage of intervals.
        controls: the cells that are negative controls.
        results: the folder of results, for commands.
        settings: the config, which the page carries.
        megabytes: the maximum size of the page; sentences are carried as far as they fit.
        same_models: a sentence about models that are the same; empty if none are.
        facts: facts about the cells other than their numbers.
    """

    title: str
    config: str
    versions: Mapping[str, str]
    models: Sequence[ReportModel]
    datasets: Sequence[ReportDataset]
    strengths: CellStrengths = field(default_factory=dict)
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
        name: its name, which is also its module's.
        dataset: the dataset that it is about, or `GRID`.
        svg: its file, which the page names.
        caption: explains the figure, and warns of misreadings.
    """

    name: str
    dataset: str
    svg: Path
    caption: str


@dataclass(frozen=True)
class ReportTables:
    """The tables of all cells.

    Attributes:
        measures: schema `MEASURES`.
        summary: schema `SUMMARY`.
        verdicts: schema `VERDICTS`.
        examples: schema `EVIDENCE`.
        parts: schema `EVIDENCE_PARTS`.
        comparisons: schema `COMPARISONS`.
        ranks: schema `RANKS`.
        synthetic: schema `SYNTHETIC`, the training data of models; no rows if none were trained.
        published_figures: numbers of others, for comparison with ours (schema
            `biasgrid.report.published.PUBLISHED_SCHEMA`).
    """

    measures: pl.DataFrame
    summary: pl.DataFrame
    verdicts: pl.DataFrame
    examples: pl.DataFrame
    parts: pl.DataFrame
    comparisons: pl.DataFrame
    ranks: pl.DataFrame
    synthetic: pl.DataFrame
    published_figures: pl.DataFrame


def gather_run(
    *,
    title: str,
    config: str,
    models: Mapping[str, Mapping[str, str]],
    datasets: Mapping[str, Mapping[str, Any]],
    strengths: CellStrengths,
    level: float,
    results: str,
    settings: Mapping[str, Any],
    megabytes: float,
    controls: Controls,
    records: Mapping[str, Mapping[str, Any]],
    predictions: Sequence[Path],
    instances: Sequence[Path],
    measures: Sequence[Path],
    same_models: str,
    facts: GridFacts,
) -> ReportRun:
    """Gathers the models, datasets and facts of a run.

    Args:
        title: the report's title.
        config: the name of the config.
        models: kind, label and task of each model, by name.
        datasets: the attributes of each `ReportDataset` that are not read from its tables, by name.
        strengths: the models that learned a synthetic bias.
        level: the coverage of intervals.
        results: the folder of results.
        settings: the config.
        megabytes: the maximum size of the page.
        controls: the cells that are negative controls.
        records: the record of each model's checkpoint, by name; imported models have none.
        predictions: the predictions of imported cells, at `DATASET/MODEL/predictions.parquet`.
        instances: the instances tables, at `DATASET/VARIANT.parquet`.
        measures: the measures of cells, at `DATASET/MODEL.parquet`.
        same_models: a sentence about models that are the same.
        facts: facts about the cells other than their numbers.
    """
    report_models = []
    for name, attributes in models.items():
        dumps = [read_provenance(path) for path in predictions if path.parent.name == name]
        report_models.append(
            ReportModel(name=name, **origin(records.get(name), dumps), **attributes)
        )
    report_datasets = [
        gather_dataset(name, attributes, instances, predictions, measures)
        for name, attributes in datasets.items()
    ]
    versions = table_provenance()
    return ReportRun(
        title=title,
        config=config,
        versions={"biasgrid": versions["biasgrid"], **versions["libraries"]},
        models=report_models,
        datasets=report_datasets,
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
    attributes: Mapping[str, Any],
    instances: Iterable[Path],
    predictions: Iterable[Path],
    measures: Iterable[Path],
) -> ReportDataset:
    """Gathers a dataset: its attributes, and counts from its tables.

    Args:
        name: its name.
        attributes: see `gather_run`, as the tables of all datasets.
        instances: the instances tables.
        predictions: the predictions of imported cells.
        measures: the measures of cells.
    """
    instance_counts, dropped_subjects = {}, {}
    for path in instances:
        if path.parent.name == name:
            instance_counts[path.stem] = count_rows(path)
            # Families that compare no subjects leave none out.
            subjects = read_provenance(path).get("dropped_subjects")
            if subjects:
                dropped_subjects[path.stem] = subjects
    dump_instances = {}
    for path in predictions:
        if path.parents[1].name == name:
            dump_instances[path.parent.name] = count_rows(path)
    answer_counts = {}
    for path in measures:
        if path.parent.name == name:
            counts = read_provenance(path).get("answered")
            if counts:
                answer_counts[path.stem] = counts
    return ReportDataset(
        name,
        **attributes,
        instances=instance_counts,
        dropped_subjects=dropped_subjects,
        dump_instances=dump_instances,
        answer_counts=answer_counts,
    )


def origin(record: Mapping[str, Any] | None, dumps: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Returns `source` and `revision` of a model.

    Args:
        record: the record of its checkpoint, None for an imported model.
        dumps: the provenance of its predictions, which names the dumps of an imported model.
    """
    if record is not None:
        return {"source": source(record), "revision": revision(record)}
    names, digests = [], []
    for provenance in dumps:
        dump = provenance["dump"]
        names.append(f"{dump['file'] or dump['url']} (scored as {provenance['scoring']})")
        digests.append(f"sha256 {dump['sha256'][:12]}")
    return {"source": "dump " + ", ".join(names), "revision": ", ".join(digests)}


def source(record: Mapping[str, Any]) -> str:
    """Returns the origin of a checkpoint, or the server of a model.

    A checkpoint that is neither in a repository nor in a folder is named by its config keys.
    """
    keys = record.get("keys", {})
    for server in keys.values():
        if isinstance(server, dict) and "url" in server:
            return f"{server['model']} at {server['url']}"
    return str(record["checkpoint"] or record["folder"] or f"{', '.join(keys)} in the config")


def revision(record: Mapping[str, Any]) -> str:
    """Returns a checkpoint's commit, or the first digits of its weights' digest; `-` if unknown."""
    if record["revision"]:
        return str(record["revision"])
    for name, digest in record["files"].items():
        if name.endswith((".safetensors", ".bin")):
            return f"sha256 {digest[:12]}"
    return "-"


def gather_figures(figures: Mapping[Path, Mapping[str, str]]) -> list[ReportFigure]:
    """Returns the saved figures.

    Args:
        figures: references of figures by name, by folder. A folder is named like its dataset, or
            `grid` if its figures are of all datasets.
    """
    saved_figures = []
    for folder, references in figures.items():
        for name, reference in references.items():
            svg = folder / f"{name}.svg"
            saved_figures.append(ReportFigure(name, folder.name, svg, load(reference).CAPTION))
    return saved_figures


def without_secrets(settings: Any) -> Any:
    """Returns a config without the parts of addresses that must not be shown, such as keys."""
    if isinstance(settings, Mapping):
        return {str(key): without_secrets(value) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return [without_secrets(value) for value in settings]
    if isinstance(settings, str) and "://" in settings:
        return public_address(settings)
    return settings
