"""Intervals in figures: as lines, in words, and in figures with an interval in each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl
from plotnine import (
    aes,
    element_text,
    expand_limits,
    facet_grid,
    facet_wrap,
    geom_point,
    geom_segment,
    geom_vline,
    ggplot,
    labs,
    scale_fill_manual,
    scale_y_discrete,
    theme,
)
from plotnine.geoms.geom import geom

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import (
    both_ends,
    columns_of,
    in_lines,
    most_rows,
    omitted_text,
    order_by_value,
    shorten_all,
)
from biasgrid.report.figures.drawing.theme import (
    CHARACTER,
    FAINT,
    FROM_ZERO,
    OKABE_ITO,
    biasgrid_theme,
)
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.ordering import select_rows, values_in_order
from biasgrid.tables.files import means_by
from biasgrid.tables.measures import ROW, is_over_first_factor

THIN = 0.5
"""Width of the line of an interval."""
PANELS_BESIDE = 5
"""Maximum number of panels side by side."""
LONGEST_NAME = 44
"""Maximum number of characters in the name of a row."""
PANEL, CELL_PANEL = 2.1, 2.3
"""Width in inches of the panel of a model, and of a dataset whose cells are shown."""
PAIR_ROW, MODEL_ROW, DIFFERENCE_ROW = 0.19, 0.24, 0.15
"""Height of a row in inches."""


def interval_note(rows: pl.DataFrame, level: float) -> str:
    """Returns coverage and clusters of the intervals in a figure, such as `95 % over 7 clusters`.

    Args:
        rows: rows with `low` and `clusters`; rows without an interval do not count.
        level: the coverage of intervals.
    """
    with_interval = rows.drop_nulls(["low", "clusters"])
    if with_interval.is_empty():
        return "no intervals: there are too few clusters"
    return f"{100 * level:g} % over {cluster_count_text(with_interval)}"


def cluster_count_text(rows: pl.DataFrame) -> str:
    """Returns the number of clusters of some numbers, such as `2 to 7 clusters`.

    Args:
        rows: rows with `clusters`, at least one.
    """
    counts = rows["clusters"].cast(pl.Int64).to_list()
    fewest, most = min(counts), max(counts)
    number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{number} cluster{'' if most == 1 else 's'}"


def interval_lines(
    rows: pl.DataFrame, y: str, low: str = "low", high: str = "high", **look: object
) -> list[geom]:
    """Returns the layer of horizontal intervals; empty if there are none.

    Args:
        rows: the rows of a figure, with or without an interval.
        y: the column with the vertical place of an interval.
        low: the column of lower ends.
        high: the column of upper ends.
        look: further aesthetics of the lines, such as `color`.
    """
    with_interval = rows.drop_nulls([low, high])
    if with_interval.is_empty():
        return []
    ends = aes(low, y, xend=high, yend=y)
    return [geom_segment(ends, with_interval, **({"size": THIN} | look))]


class ModelPanels(NamedTuple):
    """A panel per model with a row per name.

    Attributes:
        points: the rows that are shown, with the figure's names of models and rows, in its order.
        labels: the figure's names of rows, from the bottom to the top.
        shown: the full names of the rows that are shown.
        columns: the number of panels side by side.
        lines: the number of lines of panels.
        width: the width of names and panels together, in inches.
    """

    points: pl.DataFrame
    labels: list[str]
    shown: list[str]
    columns: int
    lines: int
    width: float


def model_panels(rows: pl.DataFrame, context: FigureContext, order: Sequence[str]) -> ModelPanels:
    """Lays out a panel per model with a row per name.

    Args:
        rows: rows with `model` and `name`.
        context: the facts of models.
        order: the names, from top to bottom; if there are too many, the middle is left out.
    """
    names = context.names(rows)
    models = list(names.values())
    columns = columns_of(len(models), PANELS_BESIDE)
    lines = -(-len(models) // columns)
    shown = both_ends(order, most_rows(lines))
    short = shorten_all(shown, LONGEST_NAME)
    labels = list(short.values())[::-1]
    points = rows.filter(pl.col("name").is_in(shown))
    points = points.with_columns(
        pl.col("name").replace_strict(short), pl.col("model").replace_strict(names)
    )
    points = order_by_value(points, model=models, name=labels)
    width = CHARACTER * max(map(len, labels)) + 0.6 + PANEL * columns
    return ModelPanels(points, labels, shown, columns, lines, width)


def draw_beside_null(
    rows: pl.DataFrame,
    context: FigureContext,
    order: Sequence[str],
    words: Mapping[str, str | None],
) -> ggplot:
    """Draws a number of each pair: a panel per model, a row per pair.

    Args:
        rows: `model`, `name` (of the pair), `value`, `null_mean` and `found`, whether its dot is
            filled; `low`, `high` and `clusters` of a number that may have an interval.
        context: the facts of dataset and models.
        order: the names, from top to bottom; if there are too many, the middle is left out.
        words: `title`, `subtitle` (which explains stroke and dot) and `x`.
    """
    panels = model_panels(rows, context, order)
    points = panels.points
    null_means = points.drop_nulls("null_mean")
    strokes = []
    if len(null_means):
        look = {"shape": "|", "size": 4, "stroke": 1.2, "color": FAINT}
        strokes = [geom_point(aes("null_mean"), null_means, **look)]
    lines, note = [], ""
    if "low" in points.columns:
        lines = interval_lines(points, "name", color=OKABE_ITO[0], size=0.8)
        note = f"\nline: {interval_note(points, context.level)}"
    return (
        ggplot(points, aes("value", "name"))
        + strokes
        + lines
        + geom_point(aes(fill="found"), size=1.8, color=OKABE_ITO[0], stroke=0.5, show_legend=False)
        + facet_wrap("model", ncol=panels.columns, labeller=in_lines(PANEL))
        + scale_fill_manual({True: OKABE_ITO[0], False: "white"})
        + scale_y_discrete(limits=panels.labels)
        + labs(
            title=words["title"],
            subtitle=f"{words['subtitle']}{note}{omitted_text(order, panels.shown, 'pairs')}",
            x=words["x"],
            y="pair of groups",
        )
        + biasgrid_theme(
            max(7.5, panels.width),
            1.6 + panels.lines * (0.45 + PAIR_ROW * max(len(panels.shown), 3)),
        )
        + theme(plot_title_position="plot")
    )


def draw_bias_corrected(
    measures: pl.DataFrame, context: FigureContext, measure: str, title: str, symbol: str
) -> ggplot:
    """Draws a measure of every cell, its noise floor and corrected value: a column per dataset.

    A row is a model.

    Args:
        measures: the measures of all cells.
        context: the facts of datasets and models.
        measure: the measure's name; its bias-corrected value is called `NAME_corrected`.
        title: its name in the figure.
        symbol: its symbol.
    """
    keys = ["dataset", "model"]
    cells = select_rows(measures, measure, intervals=True).select(*keys, "value", "null_mean")
    corrected = select_rows(measures, f"{measure}_corrected", intervals=True)
    corrected = corrected.select(*keys, "low", "high", "clusters", corrected="value")
    facts = context.facts(cells)
    kinds, labels = values_in_order(facts, "kind"), values_in_order(facts, "label")[::-1]
    datasets = values_in_order(cells, "dataset")
    titles = [title for name, title in context.titles.items() if name in datasets]
    rows = cells.join(corrected, on=keys, how="left", maintain_order="left")
    rows = rows.join(facts, on="model", maintain_order="left")
    rows = rows.with_columns(pl.col("dataset").replace_strict(context.titles), zero=pl.lit(0.0))
    rows = order_by_value(rows, dataset=titles, kind=kinds, label=labels)
    null_means = rows.drop_nulls("null_mean")
    bars, dots = [], []
    if len(null_means):
        from_zero = aes("zero", "label", xend="null_mean", yend="label")
        bars = [geom_segment(from_zero, null_means, size=3.2, color="#D5D5D5")]
    with_corrected = rows.drop_nulls("corrected")
    if len(with_corrected):
        dots = [geom_point(aes("corrected"), with_corrected, size=1.8, color=OKABE_ITO[0])]
    return (
        ggplot(rows, aes("value", "label"))
        + bars
        + geom_point(shape="o", fill="none", color=FAINT, size=2.4, stroke=0.7)
        + interval_lines(rows, "label", color=OKABE_ITO[0], size=0.8)
        + dots
        + expand_limits(x=FROM_ZERO)
        + facet_grid(
            "kind", "dataset", scales="free_y", space="free_y", labeller=in_lines(CELL_PANEL)
        )
        + labs(
            title=title,
            subtitle=(
                f"ring: {symbol}; grey bar: its noise floor, which noise alone would give; dot: "
                f"{symbol} beyond the floor, with "
                f"its interval ({interval_note(rows, context.level)})"
            ),
            x=symbol,
            y="model",
        )
        + biasgrid_theme(
            max(8.5, 2.5 + CELL_PANEL * len(titles)),
            1.6 + MODEL_ROW * facts.height + 0.3 * len(kinds),
        )
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )


def signed_rows(
    measures: pl.DataFrame, context: FigureContext, measure: str, keys: Sequence[str]
) -> pl.DataFrame:
    """Picks numbers with their intervals over clusters, items or prompts, and over all factors.

    Args:
        measures: the measures of the cells that are measurable.
        context: the context of the figure, with the table of intervals.
        measure: the measure's name.
        keys: the keys of its rows.

    Returns:
        `model`, the keys, `value`, `clusters`, `low`, `high` (over clusters), `low_all`, `high_all`
        and `found`: whether it is significant over the factors of its claim.
    """
    cells = measures.select("model", "dataset").unique()
    intervals = context.table("intervals")
    others = intervals.join(cells, on=["model", "dataset"], how="semi", maintain_order="left")
    claims = measures.select(others.columns).with_columns(is_claim=pl.lit(value=True))
    rows = pl.concat([claims, others.with_columns(is_claim=pl.lit(value=False))])
    # A number that is compared with a control has a second row, against 0, over the same factors.
    rows = rows.unique(["model", *ROW, "generalises_to"], keep="first", maintain_order=True)
    has_keys = pl.all_horizontal(pl.col(key).is_not_null() for key in keys)
    rows = rows.filter(has_keys, measure=measure)
    names = ["model", *keys]
    over_clusters = rows.filter(is_over_first_factor())
    over_clusters = over_clusters.select(*names, "value", "clusters", "low", "high")
    over_all = rows.filter(pl.col("generalises_to").str.contains(" x "))
    over_all = over_all.select(*names, low_all="low", high_all="high")
    # With prompt formats there are several such rows, of which the claim is first.
    over_all = over_all.unique(names, maintain_order=True)
    found = is_significant().fill_null(value=False)
    tests = rows.filter("is_claim").select(*names, found=found)
    joined = over_clusters.join(over_all, on=names, how="left", maintain_order="left")
    return joined.join(tests, on=names, how="left", maintain_order="left")


def draw_differences(
    rows: pl.DataFrame, context: FigureContext, words: Mapping[str, str]
) -> ggplot:
    """Draws signed numbers: a panel per model, a row per name, in the order of mean values.

    Args:
        rows: from `signed_rows`, with `name`, the name of a row.
        context: the facts of dataset and models.
        words: `title`, `x`, `y` and `many`, the plural noun of the rows.
    """
    means = means_by(rows, ["name"]).sort("value", "name", descending=[True, False])
    order = means["name"].to_list()
    panels = model_panels(rows, context, order)
    points = panels.points
    return (
        ggplot(points, aes("value", "name"))
        + geom_vline(xintercept=0, color=FAINT, size=0.5)
        + interval_lines(points, "name", color=OKABE_ITO[4], size=1.6)
        + interval_lines(points, "name", "low_all", "high_all", color=OKABE_ITO[0], size=0.5)
        + geom_point(aes(fill="found"), size=1.5, color=OKABE_ITO[0], stroke=0.4, show_legend=False)
        + facet_wrap("model", ncol=panels.columns, labeller=in_lines(PANEL))
        + scale_fill_manual({True: OKABE_ITO[0], False: "white"})
        + scale_y_discrete(limits=panels.labels)
        + labs(
            title=f"{words['title']}: {context.title}",
            subtitle=(
                f"thick: {interval_note(points, context.level)}; thin: over these and all else "
                "that was "
                f"sampled; filled: significant{omitted_text(order, panels.shown, words['many'])}"
            ),
            x=words["x"],
            y=words["y"],
        )
        + biasgrid_theme(
            max(9, panels.width),
            1.5 + panels.lines * (0.45 + DIFFERENCE_ROW * max(len(panels.shown), 4)),
        )
    )
