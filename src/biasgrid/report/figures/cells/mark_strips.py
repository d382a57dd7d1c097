"""Every metric of a probe on the bands of its marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_wrap,
    geom_point,
    geom_rect,
    geom_segment,
    geom_text,
    ggplot,
    labs,
    scale_fill_manual,
    scale_shape_manual,
    scale_y_continuous,
    theme,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import INK, biasgrid_theme, empty_figure
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.summary import with_marks

CAPTION = (
    "Each metric of a probe that has marks, on the bands of the marks A to D. A line is the "
    "metric's interval, and a dotted line is the interval of its placebo. The shape of a point is "
    "its mark, if the whole interval lies within one band. A mark says how far a number is from "
    "what the probe's author considers fair; authors chose the widths of the bands."
)
BANDS = {"A": "#E6F2EC", "B": "#F7F1D5", "C": "#F6DFC9", "D": "#EBC8C3"}
RANGE, NONE = "a range", "no mark"
MARK_SHAPES = {"A": "o", "B": "^", "C": "s", "D": "X", RANGE: "D", NONE: "x"}
BESIDE = 0.25
"""How far below a metric's line the interval of its placebo is drawn."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a strip for each metric, with a line for each model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models, with `marks`.
    """
    title = f"Metrics and their marks: {context.title}"
    marks = {
        name: of_metric
        for of in context.titles
        for name, of_metric in context.marks.get(of, {}).items()
    }
    about_all = [pl.col(key).is_null() for key in MEASURE_KEYS]
    whole = with_marks(measures.filter(*about_all), context.marks)
    rows = whole.filter(pl.col("measure").is_in(list(marks)), options="").drop_nulls("value")
    if rows.is_empty():
        return empty_figure(title, "there are no metrics with marks and values")
    names = context.names(rows)
    shape = (
        pl.when(pl.col("mark").str.contains(" to ", literal=True))
        .then(pl.lit(RANGE))
        .otherwise("mark")
        .fill_null(NONE)
    )
    rows = rows.select("model", "dataset", "value", "low", "high", metric="measure", mark=shape)
    lines = {model: len(names) - place for place, model in enumerate(names)}
    points = rows.with_columns(line=pl.col("model").replace_strict(lines, return_dtype=pl.Float64))
    placebos = placebo_intervals(whole, marks, points)
    metrics = {
        name: strip_title(name, of) for name, of in marks.items() if name in set(rows["metric"])
    }
    points, placebos = (
        order_by_value(
            each.with_columns(pl.col("metric").replace(metrics)), metric=list(metrics.values())
        )
        for each in (points, placebos)
    )
    bands = bands_of(marks, metrics, len(names))
    ranges = points.drop_nulls(["low", "high"])
    return (
        ggplot(points, aes("value", "line"))
        + geom_rect(
            aes(xmin="low", xmax="high", ymin="bottom", ymax="top", fill="letter"),
            bands,
            inherit_aes=False,
        )
        + geom_text(
            aes(x="middle", y="top", label="letter"),
            bands,
            size=7,
            va="top",
            color=INK,
            inherit_aes=False,
        )
        + (
            geom_segment(aes(x="low", xend="high", yend="line"), ranges, color=INK)
            if len(ranges)
            else labs()
        )
        + (placebo_segments(placebos) if len(placebos) else labs())
        + geom_point(aes(shape="mark"), size=2.6, fill="white", color=INK)
        + facet_wrap("metric", ncol=1, scales="free_x")
        + scale_y_continuous(breaks=list(lines.values()), labels=list(names.values()))
        + scale_fill_manual(BANDS, guide=None)
        + scale_shape_manual(MARK_SHAPES)
        + labs(title=title, x="value", y="", shape="mark")
        + biasgrid_theme(7.5, 1.4 + len(metrics) * (0.75 + 0.25 * len(names)))
        + theme(strip_text=element_text(ha="left"))
    )


def placebo_intervals(
    rows: pl.DataFrame, marks: Mapping[str, Sequence[Mark]], points: pl.DataFrame
) -> pl.DataFrame:
    """Returns the intervals of placebos of metrics that are shown, in lines below those of the
    metrics.
    """
    names = {"metric": list(marks), "measure": [of[0].placebo for of in marks.values()]}
    named = pl.DataFrame(names, schema=dict.fromkeys(names, pl.String)).filter(
        pl.col("measure") != ""
    )
    own = points.select("model", "dataset", "metric", pl.col("line") - BESIDE)
    ends = rows.filter(options="").select("model", "dataset", "measure", "low", "high").drop_nulls()
    return own.join(named, on="metric").join(ends, on=["model", "dataset", "measure"])


def placebo_segments(placebos: pl.DataFrame) -> geom_segment:
    """Draws the intervals of placebos."""
    return geom_segment(
        aes(x="low", xend="high", y="line", yend="line"),
        placebos,
        color=INK,
        linetype="dotted",
        inherit_aes=False,
    )


def strip_title(name: str, marks: Sequence[Mark]) -> str:
    """Returns the title of a metric's strip, with the harm that its marks warn of."""
    harm = marks[0].harm
    return name.replace("_", " ") + (f" ({harm})" if harm else "")


def bands_of(
    marks: Mapping[str, Sequence[Mark]], metrics: Mapping[str, str], models: int
) -> pl.DataFrame:
    """Returns the bands of metrics.

    Args:
        marks: the marks of each metric.
        metrics: what the figure calls those that are shown.
        models: how many lines a strip has.

    Returns:
        `metric`, `letter`, `low`, `middle`, `high`, `bottom` and `top` of each range.
    """
    rows = [
        (title, mark.letter, mark.low, (mark.low + mark.high) / 2, mark.high, 0.4, models + 0.9)
        for name, title in metrics.items()
        for mark in marks[name]
    ]
    columns = ["metric", "letter", "low", "middle", "high", "bottom", "top"]
    return order_by_value(
        pl.DataFrame(rows, schema=columns, orient="row"), metric=list(metrics.values())
    )
