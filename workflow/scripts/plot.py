"""Rule plot: measures -> the figures of a dataset or of the grid."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import FIGURE_MODULES, start_job

start_job(snakemake.log[0], FIGURE_MODULES)

import polars as pl

from biasgrid.report.figures.drawing.context import (
    CONTEXT_TABLES,
    OF_GRID,
    FigureContext,
    draw_figure,
)
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.tables.files import read_tables
from biasgrid.tables.measures import MEASURES, SYNTHETIC
from biasgrid.tables.provenance import check_made_with
from biasgrid.tables.summary import ModelFacts

tables = {name: files for name, files in snakemake.input.items() if name in CONTEXT_TABLES}
of_cells = [file for name in tables if name not in OF_GRID for file in tables[name]]
check_made_with(snakemake.input.measures, of_cells)
measures = read_tables(snakemake.input.measures, MEASURES)
context = FigureContext(
    titles=snakemake.params.titles,
    models={name: ModelFacts(**facts) for name, facts in snakemake.params.models.items()},
    threshold=snakemake.params.threshold,
    templates=snakemake.params.templates,
    strengths=snakemake.params.strengths,
    synthetic=read_tables(snakemake.input.synthetic, SYNTHETIC),
    marks=snakemake.params.marks,
    sections=snakemake.params.sections,
    level=snakemake.params.level,
    controls=snakemake.params.controls,
    tables={name: read_tables(files, CONTEXT_TABLES[name]) for name, files in tables.items()},
)
for name, reference in snakemake.params.figures.items():
    figure = draw_figure(
        reference,
        measures.filter(pl.col("dataset").is_in(snakemake.params.datasets[name])),
        context,
    )
    save_figure(figure, Path(snakemake.output[0], name), *snakemake.params.look)
