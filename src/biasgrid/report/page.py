"""Builds the report: one HTML file with all figures in it, which needs no network and no other file."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from biasgrid.plots.captions import CAPTIONS
from biasgrid.report.content import association_examples, grid_rows, published_rows
from biasgrid.report.group_content import difference_examples, group_section
from biasgrid.report.planted import planted_group_rows, planted_rows

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
        strength: the planted strength that it was trained on, None for others.
        planted_in: the dataset in whose cases that was planted; None for planted associations.
    """

    name: str
    kind: str
    label: str
    task: str
    source: str
    revision: str
    strength: str | None = None
    planted_in: str | None = None


@dataclass(frozen=True)
class ReportDataset:
    """A dataset, as the report names it.

    Attributes:
        name: its name in the config.
        title: its name for people.
        instances: how many instances each of its variants has.
        dropped: the subjects that each variant leaves out, because they are not one token.
        imported: how many instances the dump of each imported model holds.
        threshold: its failure threshold; None where its groups are not compared.
    """

    name: str
    title: str
    instances: Mapping[str, int]
    dropped: Mapping[str, Sequence[str]] = field(default_factory=dict)
    imported: Mapping[str, int] = field(default_factory=dict)
    threshold: float | None = None


@dataclass(frozen=True)
class ReportRun:
    """What was run.

    Attributes:
        title: the report's title.
        config: the name of the config.
        scoring: `exact` or `unqover`.
        versions: the versions of this package and of the libraries that numbers depend on.
        models: the models, in the order of the report.
        datasets: the datasets, in the order of the report.
    """

    title: str
    config: str
    scoring: str
    versions: Mapping[str, str]
    models: Sequence[ReportModel]
    datasets: Sequence[ReportDataset]


@dataclass(frozen=True)
class ReportFigure:
    """A saved figure.

    Attributes:
        name: which of `CAPTIONS` belongs to it.
        svg: the figure as SVG.
        png: the figure as PNG.
        dataset: the dataset it is about, None for the whole grid.
    """

    name: str
    svg: Path
    png: Path
    dataset: str | None = None

    @property
    def caption(self) -> str:
        """What one sees and what it does not mean."""
        return CAPTIONS[self.name]

    @property
    def uri(self) -> str:
        """The figure as a data URI: an image cannot clash with the page or with the ids of other figures."""
        svg, png = self.svg.read_bytes(), self.png.read_bytes()
        if len(svg) <= max(LARGEST_SVG, len(png)):
            return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()
        return "data:image/png;base64," + base64.b64encode(png).decode()


@dataclass(frozen=True)
class ReportTables:
    """What was measured, of all cells; a table has no rows where the run has nothing of the kind.

    Attributes:
        summary: schema `SUMMARY`, of datasets of the underspecified family.
        measures: schema `MEASURES`, of the same.
        examples: schema `EXAMPLES`, of the same.
        group_measures: schema `GROUP_MEASURES`.
        failures: schema `FAILURES`.
        case_examples: schema `CASE_EXAMPLES`.
        planted: schema `PLANTED`, what models were trained on.
        planted_groups: schema `PLANTED_GROUPS`, what classifiers were trained on.
        published: schema `biasgrid.reference.PUBLISHED`, to put ours beside it.
    """

    summary: pl.DataFrame
    measures: pl.DataFrame
    examples: pl.DataFrame
    group_measures: pl.DataFrame
    failures: pl.DataFrame
    case_examples: pl.DataFrame
    planted: pl.DataFrame
    planted_groups: pl.DataFrame
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
        ValueError: a dataset whose groups are compared has no measures of its main score.
    """
    groups = {
        dataset.name: group_section(tables.group_measures, tables.failures, dataset.name, dataset.threshold)
        for dataset in run.datasets
        if dataset.threshold is not None
    }
    names = [dataset.name for dataset in run.datasets]
    strengths_of_cells = {name: strengths for name in names if (strengths := strengths_in(run, name))}
    return page_template().render(
        run=run,
        models={model.name: model for model in run.models},
        titles={dataset.name: dataset.title for dataset in run.datasets},
        grid={name: grid_rows(tables.summary, name) for name in names},
        examples={name: association_examples(tables.examples, name) for name in names},
        has_grid=not tables.summary.is_empty(),
        has_groups=bool(groups),
        groups=groups,
        differences={name: difference_examples(tables.case_examples, name) for name in names},
        figures=figures,
        planted=planted_rows(tables.measures, tables.planted, tables.summary, strengths_in(run, None)),
        planted_groups=planted_group_rows(tables.group_measures, tables.planted_groups, strengths_of_cells),
        published=published_rows(tables.summary, tables.measures, tables.published),
    )


def strengths_in(run: ReportRun, dataset: str | None) -> dict[str, str]:
    """Returns the strengths of the models that learned what is planted in a dataset's cases; of None, associations."""
    return {
        model.name: model.strength for model in run.models if model.strength is not None and model.planted_in == dataset
    }


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
