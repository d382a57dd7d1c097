"""What a figure is given beside the numbers, and how it is drawn without the cells that are not
measurable.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
from plotnine import ggplot, labs

from biasgrid.base.references import load
from biasgrid.report.figures.drawing.theme import empty_figure
from biasgrid.stats.recovery import StrengthsOfCells
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
"""Of the tables that figures may be made of."""
OF_GRID = ("ranks", "convergence")
"""Those of them that are of all cells together."""
LINE_CHARACTERS = 110
"""Characters in a line below a figure."""


@dataclass(frozen=True)
class FigureContext:
    """The facts of datasets and models for a figure, and the numbers that are not measured.

    Attributes:
        titles: the titles of the datasets that are shown, by name, in order.
        models: the facts of each model, by its name in the config, in the order of the figure.
        threshold: the failure threshold of the dataset, None where its groups are not compared.
        templates: the text of each template of the dataset, by number; empty where that is not
            known.
        strengths: the models that learned a synthetic bias.
        synthetic: the known effect (schema `SYNTHETIC`).
        marks: for each dataset the marks of those of its measures that have marks.
        sections: of datasets whose marks are judged with those of others, what they are called
            together.
        level: the coverage of intervals.
        controls: which of the cells are negative controls.
        tables: of the same cells the `intervals` of measures over other factors, `design`, where
            their variance is, and `parts`, what associations are by template; of the whole grid
            `ranks` of models and `convergence`, how datasets of different families agree. Those
            that a run lacks have no rows.
    """

    titles: Mapping[str, str]
    models: Mapping[str, ModelFacts]
    threshold: float | None = None
    templates: Sequence[str] = ()
    strengths: StrengthsOfCells = field(default_factory=dict)
    synthetic: pl.DataFrame = field(default_factory=lambda: empty_table(SYNTHETIC))
    marks: MarksOfDatasets = field(default_factory=dict)
    sections: Mapping[str, MarkSection] = field(default_factory=dict)
    level: float = 0.95
    controls: Controls = NO_CONTROLS
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def table(self, name: str) -> pl.DataFrame:
        """Returns one of `tables`, without rows where there is none."""
        return self.tables[name] if name in self.tables else empty_table(CONTEXT_TABLES[name])

    @property
    def title(self) -> str:
        """The titles of all datasets: of figures of one dataset its own."""
        return ", ".join(self.titles.values())

    def template(self, number: int) -> str:
        """Returns what a figure calls a template: its number in the tables, and its text where that
        is known.
        """
        words = " ".join(self.templates[number].split()) if number < len(self.templates) else ""
        return f"{number}: {words}" if words else str(number)

    def facts(self, measured: pl.DataFrame) -> pl.DataFrame:
        """Returns `model`, `kind` and `label` of the models that are measured, in order.

        Args:
            measured: a table with the column `model`.
        """
        present = set(measured["model"])
        rows = [
            (name, fact.kind, fact.label) for name, fact in self.models.items() if name in present
        ]
        return pl.DataFrame(
            rows, schema=dict.fromkeys(("model", "kind", "label"), pl.String), orient="row"
        )

    def names(self, measured: pl.DataFrame) -> dict[str, str]:
        """Returns what a figure calls the models that are measured: their labels, with the kind
        where two are the same.

        Args:
            measured: a table with the column `model`.
        """
        facts = self.facts(measured)
        alike = pl.col("label").is_duplicated()
        name = pl.when(alike).then(pl.format("{} ({})", "label", "kind")).otherwise("label")
        return dict(facts.select("model", name).iter_rows())


def draw_figure(reference: str, measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a figure of the cells that are measurable; a note below it names those that are not.

    Args:
        reference: where the figure is.
        measures: the measures of the cells that it is about (schema `MEASURES`).
        context: the facts of datasets and models.
    """
    flagged = measures.filter(pl.col("flag").str.starts_with(NOT_MEASURABLE))
    withheld = flagged.select("model", "dataset").unique(maintain_order=True)
    shown = measures.join(withheld, on=["model", "dataset"], how="anti", maintain_order="left")
    note = textwrap.fill(
        f"Left out, because not measurable: {', '.join(cell_names(withheld, context))}.",
        LINE_CHARACTERS,
    )
    if shown.is_empty():
        return empty_figure(context.title, note)
    figure: ggplot = load(reference).figure(shown, context)
    return figure if withheld.is_empty() else figure + labs(caption=note)


def cell_names(cells: pl.DataFrame, context: FigureContext) -> list[str]:
    """Names cells by their models, and where a figure is about several datasets by these too."""
    names = context.names(cells)
    several = len(context.titles) > 1
    return [
        f"{names[model]} on {context.titles[of]}" if several else names[model]
        for model, of in cells.iter_rows()
    ]
