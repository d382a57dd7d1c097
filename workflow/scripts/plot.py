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
    GRID_TABLES,
    FigureContext,
    draw_figure,
)
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.tables.files import read_tables
from biasgrid.tables.measures import MEASURES, SYNTHETIC
from biasgrid.tables.provenance import check_made_with
from biasgrid.tables.summary import ModelFacts

params = snakemake.params
files = {name: snakemake.input[name] for name in CONTEXT_TABLES}
cell_files = [file for name in files if name not in GRID_TABLES for file in files[name]]
check_made_with(snakemake.input.measures, cell_files)
measures = read_tables(snakemake.input.measures, MEASURES)
tables = {name: read_tables(paths, CONTEXT_TABLES[name]) for name, paths in files.items()}
context = FigureContext(
    titles=params.titles,
    models={name: ModelFacts(**facts) for name, facts in params.models.items()},
    threshold=params.threshold,
    templates=params.templates,
    strengths=params.strengths,
    synthetic=read_tables(snakemake.input.synthetic, SYNTHETIC),
    marks=params.marks,
    sections=params.sections,
    level=params.level,
    controls=params.controls,
    tables=tables,
)
for name, reference in params.figures.items():
    measures_of_figure = measures.filter(pl.col("dataset").is_in(params.datasets[name]))
    figure = draw_figure(reference, measures_of_figure, context)
    save_figure(figure, Path(snakemake.output[0], name), params.font, params.scale)
