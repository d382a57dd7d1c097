"""Rule plot_planted: planted and measured associations -> a figure."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.plots.draw import draw_planted
from biasgrid.table_files import read_table, read_tables
from biasgrid.tables.measures import MEASURES, SUMMARY
from biasgrid.tables.planted import PLANTED

draw_planted(
    measures=read_tables(snakemake.input.measures, MEASURES),
    planted_bias=read_table(snakemake.input.planted, PLANTED),
    summary=read_table(snakemake.input.summary, SUMMARY),
    strengths=snakemake.params.strengths,
    titles=snakemake.params.titles,
    folder=Path(snakemake.output.svg).parent,
)
