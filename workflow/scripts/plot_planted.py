"""Rule plot_planted: planted and measured associations -> a figure."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

import polars as pl

from biasgrid.plots.draw import draw_planted
from biasgrid.table_files import read_table
from biasgrid.tables import MEASURES, PLANTED, SUMMARY

draw_planted(
    measures=pl.concat(read_table(path, MEASURES) for path in snakemake.input.measures),
    planted_bias=read_table(snakemake.input.planted, PLANTED),
    summary=read_table(snakemake.input.summary, SUMMARY),
    strengths=snakemake.params.strengths,
    titles=snakemake.params.titles,
    folder=Path(snakemake.output.svg).parent,
)
