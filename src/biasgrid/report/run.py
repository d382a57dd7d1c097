"""What the report is told of a run: models, datasets, figures and tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.stats.recovery import StrengthsOfCells
from biasgrid.tables.metric import NO_CONTROLS, Controls, Measure


@dataclass(frozen=True)
class ReportModel:
    """A model, as the report names it.

    Attributes:
        name: its name in the config.
        kind: what sort of model it is.
        label: its name in plots.
        task: its Hugging Face task.
        source: where its weights are from (repository, folder, or what it was trained on), or its dumps.
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
        answered: of generative models, what `tables.answered.how_answered` says of their answers.
        family: the name of its family, whose view the page has.
        reference: the reference of its family, whose module `payload` tells what the view shows.
        sensitive: whether its texts are hidden until asked for.
        templates: what each of its templates says, by number; empty where that is not known.
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


@dataclass(frozen=True)
class ReportRun:
    """What was run.

    Attributes:
        title: the report's title.
        config: the name of the config.
        versions: the versions of this package and of the libraries that numbers depend on.
        models: the models, in the order of the report.
        datasets: the datasets, in the order of the report.
        strengths: the models that learned a planted bias.
        level: the coverage of intervals.
        controls: which cells are negative controls.
        results: the folder of results, for commands.
        settings: the config, which the page carries.
        megabytes: how large the page may become; sentences are carried as far as they fit.
        same_models: which models are one, in words; empty where none are.
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
        examples: schema `EVIDENCE`.
        statistics: schema `STATISTICS`.
        parts: schema `EVIDENCE_PARTS`.
        comparisons: schema `COMPARISONS`.
        ranks: schema `RANKS`.
        planted: schema `PLANTED`, what models were trained on; without rows where none were.
        published: schema `biasgrid.report.published.PUBLISHED`, to put ours beside it.
    """

    measures: pl.DataFrame
    summary: pl.DataFrame
    examples: pl.DataFrame
    statistics: pl.DataFrame
    parts: pl.DataFrame
    comparisons: pl.DataFrame
    ranks: pl.DataFrame
    planted: pl.DataFrame
    published: pl.DataFrame
