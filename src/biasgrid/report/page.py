"""Builds the report: one HTML file with all figures in it, which needs no network and no other file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from biasgrid.faults import UserError
from biasgrid.plots import GRID
from biasgrid.report.content import dataset_section, definitions, headlines, measure_tables, planted_rows
from biasgrid.report.published import published_rows
from biasgrid.statistics.recovery import StrengthsOfCells
from biasgrid.statistics.selection import in_order
from biasgrid.tables.measure import Measure

LARGEST_SVG = 300_000
"""Larger SVG files (in bytes) are only taken if the PNG is larger still."""


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
    """

    name: str
    title: str
    about: Sequence[str]
    measures: Mapping[str, Measure]
    instances: Mapping[str, int]
    dropped: Mapping[str, Sequence[str]] = field(default_factory=dict)
    imported: Mapping[str, int] = field(default_factory=dict)
    answered: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


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
    """

    title: str
    config: str
    versions: Mapping[str, str]
    models: Sequence[ReportModel]
    datasets: Sequence[ReportDataset]
    strengths: StrengthsOfCells = field(default_factory=dict)
    level: float = 0.95


@dataclass(frozen=True)
class ReportFigure:
    """A saved figure.

    Attributes:
        name: its name, as that of its module.
        dataset: the dataset it is about, or `GRID`.
        svg: the figure as SVG.
        png: the figure as PNG.
        caption: what one sees and what it does not mean.
    """

    name: str
    dataset: str
    svg: Path
    png: Path
    caption: str

    @property
    def uri(self) -> str:
        """The figure as a data URI: an image cannot clash with the page or with the ids of other figures.

        Raises:
            UserError: a file is empty, as after a full disk.
        """
        svg, png = self.svg.read_bytes(), self.png.read_bytes()
        for path, content in ((self.svg, svg), (self.png, png)):
            if not content:
                raise UserError(f"{path}: the file is empty; remove {path.parent} and run again")
        if len(svg) <= max(LARGEST_SVG, len(png)):
            return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
        return "data:image/png;base64," + base64.b64encode(png).decode()


@dataclass(frozen=True)
class ReportTables:
    """What was measured, of all cells.

    Attributes:
        measures: schema `MEASURES`.
        summary: schema `SUMMARY`.
        examples: schema `EVIDENCE`.
        planted: schema `PLANTED`, what models were trained on; without rows where none were.
        published: schema `biasgrid.report.published.PUBLISHED`, to put ours beside it.
    """

    measures: pl.DataFrame
    summary: pl.DataFrame
    examples: pl.DataFrame
    planted: pl.DataFrame
    published: pl.DataFrame


def build_report(run: ReportRun, tables: ReportTables, figures: Sequence[ReportFigure]) -> str:
    """Builds the report.

    Args:
        run: what was run.
        tables: what was measured.
        figures: the saved figures, in the order of the report.

    Returns:
        The page; it refers to nothing outside of itself and names no date, so that the same run gives the same
        page.

    Raises:
        OSError: a figure cannot be read.
    """
    declared = {dataset.name: dataset.measures for dataset in run.datasets}
    headline_columns = {name: headlines(measures) for name, measures in declared.items()}
    return page_template().render(
        run=run,
        models={model.name: model for model in run.models},
        titles={dataset.name: dataset.title for dataset in run.datasets},
        scorings=in_order(tables.summary.drop_nulls("scoring"), "scoring"),
        about=list(dict.fromkeys(paragraph for dataset in run.datasets for paragraph in dataset.about)),
        definitions=definitions(declared.values()),
        grid=measure_tables(tables.summary, tables.measures, headline_columns),
        sections={name: dataset_section(name, measures, vars(tables)) for name, measures in declared.items()},
        figures={name: [each for each in figures if each.dataset == name] for name in (GRID, *declared)},
        planted=planted_rows(tables.measures, tables.planted, declared, run.strengths),
        published=published_rows(tables.summary, tables.measures, tables.published),
    )


def page_template() -> Template:
    """Loads the page's template, in which every value is escaped."""
    environment = Environment(
        loader=PackageLoader("biasgrid.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    return environment.get_template("page.html")


def number(value: float | None, decimals: int = 3) -> str:
    """Writes a number with fixed decimals and a real minus sign, a dash where there is none."""
    if value is None:
        return "\N{EN DASH}"
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
