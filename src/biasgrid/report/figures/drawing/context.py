"""The context of a figure other than its numbers, and drawing it without unmeasurable cells."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
from plotnine import ggplot, labs

from biasgrid.base.references import load
from biasgrid.report.figures.drawing.theme import empty_figure
from biasgrid.stats.recovery import CellStrengths
from biasgrid.tables.claims.marks import MarkSection
from biasgrid.tables.comparison import CONVERGENCE, RANKS
from biasgrid.tables.evidence import EVIDENCE_PARTS
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import DESIGN, INTERVALS, SYNTHETIC
from biasgrid.tables.metric import NO_CONTROLS, NOT_MEASURABLE, Controls
from biasgrid.tables.summary import MarksOfDatasets, ModelFacts

CONTEXT_TABLES = {
    "intervals": INTERVALS,
    "design": DESIGN,
    "parts": EVIDENCE_PARTS,
    "ranks": RANKS,
    "convergence": CONVERGENCE,
}
"""Schemas of the tables that figures can be drawn from."""
GRID_TABLES = ("ranks", "convergence")
"""The tables about all cells together."""
LINE_CHARACTERS = 110
"""Maximum number of characters in a line below a figure."""


@dataclass(frozen=True)
class FigureContext:
    """The facts of datasets and models for a figure, and the numbers that are not measured.

    Attributes:
        titles: the titles of the datasets that are shown, by name, in order.
        models: the facts of each model, by its name in the config, in the order of the figure.
        threshold: the failure threshold of the dataset, None if its groups are not compared.
        templates: the text of each template of the dataset, by number; empty if unknown.
        strengths: the models that learned a synthetic bias.
        synthetic: the known effect (schema `SYNTHETIC`).
        marks: the marks of measures that have some, by dataset.
        sections: the section of each dataset whose marks are judged together with other datasets'.
        level: the coverage of intervals.
        controls: the cells that are negative controls.
        tables: of the same cells `intervals` (of measures over other factors), `design` (components
            of variance) and `parts` (associations by template); of the whole grid `ranks` of models
            and `convergence` (agreement of datasets of different families). `table` gets one.
    """

    titles: Mapping[str, str]
    models: Mapping[str, ModelFacts]
    threshold: float | None = None
    templates: Sequence[str] = ()
    strengths: CellStrengths = field(default_factory=dict)
    synthetic: pl.DataFrame = field(default_factory=lambda: empty_table(SYNTHETIC))
    marks: MarksOfDatasets = field(default_factory=dict)
    sections: Mapping[str, MarkSection] = field(default_factory=dict)
    level: float = 0.95
    controls: Controls = NO_CONTROLS
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def table(self, name: str) -> pl.DataFrame:
        """Returns one of `tables`, without rows if the run lacks it."""
        return self.tables[name] if name in self.tables else empty_table(CONTEXT_TABLES[name])

    @property
    def title(self) -> str:
        """The titles of all datasets of the figure, usually of one."""
        return ", ".join(self.titles.values())

    def template_label(self, template: int) -> str:
        """Returns the name of a template in figures: its number, with its text if known.

        Args:
            template: its number, from 0, as in the column `template`.
        """
        if template >= len(self.templates):
            return str(template)
        text = " ".join(self.templates[template].split())
        return f"{template}: {text}" if text else str(template)

    def model_facts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns `model`, `kind` and `label` of the models in some rows, in the figure's order.

        Args:
            rows: a table with the column `model`.
        """
        present = set(rows["model"])
        models = []
        for name, facts in self.models.items():
            if name in present:
                models.append((name, facts.kind, facts.label))
        schema = dict.fromkeys(("model", "kind", "label"), pl.String)
        return pl.DataFrame(models, schema=schema, orient="row")

    def model_labels(self, rows: pl.DataFrame) -> dict[str, str]:
        """Returns the names of models in figures: labels, with the kind if two labels are equal.

        Args:
            rows: a table with the column `model`.

        Returns:
            The name of each model that is in the rows, by `model`, in the figure's order.
        """
        facts = self.model_facts(rows)
        is_repeated = pl.col("label").is_duplicated()
        with_kind = pl.format("{} ({})", "label", "kind")
        name = pl.when(is_repeated).then(with_kind).otherwise("label")
        return dict(facts.select("model", name).iter_rows())


def draw_figure(reference: str, measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a figure of the cells that are measurable; a note below it names the others.

    Args:
        reference: the module of the figure.
        measures: the measures of the cells that it is about (schema `MEASURES`).
        context: the facts of datasets and models.
    """
    is_withheld = pl.col("flag").str.starts_with(NOT_MEASURABLE)
    cells = ["model", "dataset"]
    withheld = measures.filter(is_withheld).select(cells).unique(maintain_order=True)
    drawn = measures.join(withheld, on=cells, how="anti", maintain_order="left")
    names = ", ".join(cell_names(withheld, context))
    note = textwrap.fill(f"Left out, because not measurable: {names}.", LINE_CHARACTERS)
    if drawn.is_empty():
        return empty_figure(context.title, note)
    figure: ggplot = load(reference).figure(drawn, context)
    return figure if withheld.is_empty() else figure + labs(caption=note)


def cell_names(cells: pl.DataFrame, context: FigureContext) -> list[str]:
    """Returns the names of cells: their models and, in figures of several datasets, these too.

    Args:
        cells: `model` and `dataset`, in this order.
        context: the context of the figure.
    """
    labels = context.model_labels(cells)
    if len(context.titles) == 1:
        return [labels[model] for model in cells["model"]]
    return [f"{labels[model]} on {context.titles[dataset]}" for model, dataset in cells.iter_rows()]
