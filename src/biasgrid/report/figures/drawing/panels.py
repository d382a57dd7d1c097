"""Panels of figures: one per model with a row per name, or one per dataset with a row per model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl
from plotnine import facet_grid, facet_wrap, scale_y_continuous, scale_y_discrete

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import (
    both_ends,
    most_rows,
    panel_columns,
    panel_title,
    shorten_all,
    shorten_text,
)
from biasgrid.report.figures.drawing.theme import CHARACTER
from biasgrid.stats.ordering import values_in_order

MODEL_PANELS, RANKED_PANELS = 5, 3
"""Maximum number of panels side by side, and of panels whose rows have names of their own."""
LONGEST_NAME, LONGEST_PAIR = 44, 46
"""Maximum number of characters in the name of a row, for panels with the same and own names."""
MODEL_PANEL, RANKED_PANEL = 2.1, 2.4
"""Width of the panel of a model in inches."""
PAIR_ROW = 0.19
"""Height of the row of a pair of groups, in inches."""
KEY_SEPARATOR = "\N{INFORMATION SEPARATOR ONE}"


@dataclass(frozen=True)
class ModelPanels:
    """A panel per model; the panels have the same rows, each with a name.

    Attributes:
        rows: the rows that are drawn, with `model` and `name` as in the figure.
        orders: the models in the order of panels, and the names from the bottom to the top.
        shown_names: the names that are drawn before they were shortened, from top to bottom.
        columns: the number of panels side by side.
        lines: the number of lines of panels.
        width: the width of names and panels together, in inches.
    """

    rows: pl.DataFrame
    orders: Mapping[str, Sequence[str]]
    shown_names: Sequence[str]
    columns: int
    lines: int
    width: float

    @property
    def facet(self) -> facet_wrap:
        """The panels of plotnine."""
        return facet_wrap("model", ncol=self.columns, labeller=panel_title(MODEL_PANEL))

    def height(self, *, row_height: float, fewest_rows: int) -> float:
        """Returns the height of all lines of panels in inches.

        Args:
            row_height: the height of a row in inches.
            fewest_rows: a panel with fewer rows is as high as with these.
        """
        row_count = max(len(self.shown_names), fewest_rows)
        return self.lines * (0.45 + row_height * row_count)


def model_panels(rows: pl.DataFrame, context: FigureContext, order: Sequence[str]) -> ModelPanels:
    """Lays out a panel per model with a row per name.

    Args:
        rows: rows with `model` and `name`.
        context: the facts of models.
        order: the names, from top to bottom; if there are too many, the middle is left out.
    """
    labels = context.model_labels(rows)
    columns = panel_columns(len(labels), MODEL_PANELS)
    lines = -(-len(labels) // columns)
    shown_names = both_ends(order, most_rows(lines))
    short_names = shorten_all(shown_names, LONGEST_NAME)
    is_shown = pl.col("name").is_in(shown_names)
    drawn_rows = rows.filter(is_shown).with_columns(
        pl.col("name").replace_strict(short_names), pl.col("model").replace_strict(labels)
    )
    names = list(short_names.values())[::-1]
    orders = {"model": list(labels.values()), "name": names}
    width = CHARACTER * max(map(len, names)) + 0.6 + MODEL_PANEL * columns
    return ModelPanels(drawn_rows, orders, shown_names, columns, lines, width)


@dataclass(frozen=True)
class RankedPanels:
    """A panel per model; each has rows of its own, in an order of its own.

    Attributes:
        rows: the rows, with `place`, a key of model and row, and `model` as in the figure.
        orders: the models in the order of panels, and the places from the bottom to the top.
        labels: the text of each place.
        columns: the number of panels side by side.
        lines: the number of lines of panels.
        width: the width of names and panels together, in inches.
    """

    rows: pl.DataFrame
    orders: Mapping[str, Sequence[str]]
    labels: Mapping[str, str]
    columns: int
    lines: int
    width: float

    @property
    def facet(self) -> facet_wrap:
        """The panels of plotnine."""
        return facet_wrap("model", ncol=self.columns, scales="free_y")

    @property
    def scale(self) -> scale_y_discrete:
        """The vertical axis, with the texts of places."""
        return scale_y_discrete(labels=lambda places: [self.labels[place] for place in places])


def ranked_panel_lines(panel_count: int) -> int:
    """Returns the number of lines that `RankedPanels` have."""
    return -(-panel_count // panel_columns(panel_count, RANKED_PANELS))


def ranked_panels(rows: pl.DataFrame, labels: Mapping[str, str], place: pl.Expr) -> RankedPanels:
    """Lays out a panel per model with the rows of this model.

    Args:
        rows: rows with `model`, from top to bottom in each model.
        labels: the model's name in the figure, by `model`, in the order of panels.
        place: the place of a row, from `place_in_model`.
    """
    models = values_in_order(rows, "model")
    panels = [label for model, label in labels.items() if model in models]
    drawn_rows = rows.with_columns(place=place, model=pl.col("model").replace_strict(labels))
    places = drawn_rows["place"].to_list()[::-1]
    texts = {}
    for key in places:
        _, _, pair = key.partition(KEY_SEPARATOR)
        texts[key] = shorten_text(pair, LONGEST_PAIR)
    columns = panel_columns(len(panels), RANKED_PANELS)
    text_width = CHARACTER * max(map(len, texts.values()))
    return RankedPanels(
        rows=drawn_rows,
        orders={"model": panels, "place": places},
        labels=texts,
        columns=columns,
        lines=ranked_panel_lines(len(panels)),
        width=columns * (text_width + RANKED_PANEL),
    )


def place_in_model(before: str, after: str) -> pl.Expr:
    """Returns a key of a row in `RankedPanels`, as a pair may be in the panels of several models.

    Args:
        before: the column before the colon in the text of the row.
        after: the column after it.
    """
    return pl.format("{}{}{}: {}", "model", pl.lit(KEY_SEPARATOR), before, after)


@dataclass(frozen=True)
class CellGrid:
    """A column of panels per dataset, a block per kind of model, and a row per model.

    Attributes:
        rows: the rows, with `kind`, `label` (of the model), and `dataset` as in the figure.
        orders: the datasets, the kinds, and the labels from the bottom to the top.
        model_count: the number of models.
    """

    rows: pl.DataFrame
    orders: Mapping[str, Sequence[str]]
    model_count: int

    def facet(self, panel_width: float) -> facet_grid:
        """Returns the panels of plotnine.

        Args:
            panel_width: the width of a panel in inches.
        """
        title = panel_title(panel_width)
        return facet_grid("kind", "dataset", scales="free_y", space="free_y", labeller=title)

    def width(self, panel_width: float) -> float:
        """Returns the width of all panels in inches."""
        return panel_width * len(self.orders["dataset"])

    def height(self, row_height: float) -> float:
        """Returns the height of all panels in inches."""
        return row_height * self.model_count + 0.3 * len(self.orders["kind"])


def cell_grid(rows: pl.DataFrame, context: FigureContext) -> CellGrid:
    """Lays out the numbers of cells: a column per dataset, a block per kind, a row per model.

    Args:
        rows: rows with `dataset` and `model`.
        context: the facts of datasets and models.
    """
    facts = context.model_facts(rows)
    orders = {
        "dataset": shown_titles(rows, context),
        "kind": values_in_order(facts, "kind"),
        "label": values_in_order(facts, "label")[::-1],
    }
    drawn_rows = rows.join(facts, on="model", maintain_order="left")
    drawn_rows = drawn_rows.with_columns(pl.col("dataset").replace_strict(context.titles))
    return CellGrid(drawn_rows, orders, facts.height)


def shown_titles(rows: pl.DataFrame, context: FigureContext) -> list[str]:
    """Returns the titles of the datasets that rows are about, in the order of the context."""
    datasets = set(rows["dataset"])
    return [title for name, title in context.titles.items() if name in datasets]


def model_offset(models: Sequence[str], share: float) -> pl.Expr:
    """Returns the distance of a model's marks above the middle of a row of all models.

    Args:
        models: the names of models, from top to bottom.
        share: the share of the row's height that the marks of all models take.
    """
    offsets = {}
    for position, model in enumerate(models):
        offsets[model] = ((len(models) - 1) / 2 - position) * share / len(models)
    return pl.col("model").replace_strict(offsets, return_dtype=pl.Float64)


def numbered_rows_scale(
    places: Sequence[float], labels: Sequence[str], margin: float
) -> scale_y_continuous:
    """Returns a vertical axis of rows that several models share.

    Args:
        places: the middle of each row.
        labels: the name of each row.
        margin: the room above the first and below the last row, in rows.
    """
    return scale_y_continuous(breaks=places, labels=labels, minor_breaks=[], expand=(0, margin))
