"""Rule plot_grid: the summary -> figures that compare all cells."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.plots.draw import draw_grid
from biasgrid.table_files import read_table
from biasgrid.tables.measures import SUMMARY

summary = read_table(snakemake.input.summary, SUMMARY)
draw_grid(summary, snakemake.params.titles, Path(snakemake.output.svg[0]).parent)
