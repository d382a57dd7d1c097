"""The marks of all models on all metrics, and of sections of probes together."""

from __future__ import annotations

import polars as pl
from plotnine import (
    element_text,
    facet_grid,
    geom_text,
    geom_tile,
    ggplot,
    scale_fill_manual,
    theme,
)

from biasgrid.report.figures.cells.mark_strips import BANDS
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.specification import FigureSpecification, Layer, draw
from biasgrid.report.figures.drawing.theme import INK, NOT_ASKED, empty_figure
from biasgrid.tables.claims.marks import MarkRange, MarkSection, section_range
from biasgrid.tables.measures import rows_about_wholes
from biasgrid.tables.summary import with_marks

CAPTION = (
    "The mark of each model on each metric of each probe, by section, or the range of marks in its "
    "interval, in the color of the worst one. The row `all` is the mark of the section: the mean "
    "of its three worst marks (of all, if there are fewer), or the worst mark minus one if that is "
    "worse, computed from the best and from the worst marks. In GenderBench's mode, the best mark "
    "in the interval counts, and the mean divides by three even if there are only two marks. A "
    "dash means that there is no mark, which is not a good mark. Probes ask different things, so a "
    "model has no overall mark."
)
ALL, NOTHING = "all", "-"
OTHERS = "other probes"


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a table of letters.

    Args:
        measures: the measures of all cells (schema `MEASURES`).
        context: the facts of datasets and models, with `marks` and `sections`.
    """
    title, rows = "Marks", mark_letters(measures, context)
    if rows.is_empty():
        return empty_figure(title, "there are no metrics with marks")
    labels = context.model_labels(rows)
    columns = ["section", "model", "line", "text", "worst"]
    section_rows = section_letters(rows, context)
    table = pl.concat([rows.select(columns), section_rows.select(columns)])
    table = table.with_columns(
        pl.col("model").replace_strict(labels), pl.col("text", "worst").fill_null(NOTHING)
    )
    lines = [*rows["line"].unique(maintain_order=True), ALL]
    line_count = len(lines) + rows["section"].n_unique()
    plot = draw(
        FigureSpecification(
            rows=table,
            x="model",
            y="line",
            layers=[
                Layer(geom_tile, {"fill": "worst"}, {"color": "white", "size": 1}),
                Layer(geom_text, {"label": "text"}, {"color": INK, "size": 8}),
            ],
            title=title,
            x_title="",
            orders={"model": list(labels.values()), "line": lines[::-1]},
            panels=facet_grid(rows="section", scales="free_y", space="free_y"),
            width=4.5 + 0.9 * len(labels),
            height=1.2 + 0.28 * line_count,
        )
    )
    plot += scale_fill_manual({**BANDS, NOTHING: NOT_ASKED}, guide=None)
    return plot + theme(axis_text_x=element_text(rotation=30, ha="right"))


def section_letters(rows: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Returns the marks of each section and model, in the line `ALL`.

    Args:
        rows: from `mark_letters`.
        context: names the sections whose marks are computed as in GenderBench.

    Returns:
        `section`, `model`, `line`, `text` and `worst` (null if there is no mark).
    """
    originals = {section.name for section in context.sections.values() if section.original}
    in_sections = rows.filter(pl.col("section") != OTHERS)
    letters = []
    for (section, model), part in in_sections.group_by("section", "model", maintain_order=True):
        ends = part.filter("counts").select("best", "worst").rows()
        marks = section_range([MarkRange(*pair) for pair in ends], original=section in originals)
        letters.append((section, model, ALL, marks.text, marks.worst))
    schema = dict.fromkeys(("section", "model", "line", "text", "worst"), pl.String)
    return pl.DataFrame(letters, schema=schema, orient="row")


def mark_letters(measures: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Returns the marks of all metrics of probes.

    Args:
        measures: the measures of all cells (schema `MEASURES`).
        context: the facts of datasets and models, with `marks` and `sections`.

    Returns:
        `section`, `model`, `line` (probe and metric), `text`, `best` and `worst` (null if a flag
        withholds the mark), and whether it `counts` in the section's mark.
    """
    texts = dict.fromkeys(("section", "model", "line", "text", "best", "worst"), pl.String)
    tables = [pl.DataFrame(schema={**texts, "counts": pl.Boolean})]
    rows = with_marks(rows_about_wholes(measures), context.marks)
    for dataset, marks in context.marks.items():
        section = context.sections.get(dataset, MarkSection(OTHERS))
        # In GenderBench a mark is one letter, the best one.
        best, worst = ("mark", "mark") if section.original else ("best_mark", "worst_mark")
        for name, metric_marks in marks.items():
            counts = all(mark.counts for mark in metric_marks)
            if not (counts or section.original):
                continue
            line = f"{context.titles[dataset]}: {name.replace('_', ' ')}"
            table = rows.filter(dataset=dataset, measure=name, options="").select(
                "model",
                section=pl.lit(section.name),
                line=pl.lit(line),
                text="mark",
                best=best,
                worst=worst,
                counts=pl.lit(counts),
            )
            tables.append(table.select(tables[0].columns))
    return pl.concat(tables)
