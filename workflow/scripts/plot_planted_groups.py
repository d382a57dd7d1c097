"""Rule plot_planted_groups: planted and measured scores of groups -> a figure."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.plots.draw import draw_planted_groups
from biasgrid.table_files import read_tables
from biasgrid.tables.group_measures import GROUP_MEASURES
from biasgrid.tables.planted import PLANTED_GROUPS

draw_planted_groups(
    measures=read_tables(snakemake.input.measures, GROUP_MEASURES),
    planted_effects=read_tables(snakemake.input.planted, PLANTED_GROUPS),
    strengths=snakemake.params.strengths,
    titles=snakemake.params.titles,
    folder=Path(snakemake.output.svg).parent,
)
