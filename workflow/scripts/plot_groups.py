"""Rule plot_groups: the group measures of a dataset's cells -> its figures of groups."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.plots.draw import draw_groups
from biasgrid.summary import ModelFacts
from biasgrid.table_files import read_tables
from biasgrid.tables.group_measures import FAILURES, GROUP_MEASURES

draw_groups(
    measures=read_tables(snakemake.input.measures, GROUP_MEASURES),
    failures=read_tables(snakemake.input.failures, FAILURES),
    models={name: ModelFacts(**facts) for name, facts in snakemake.params.models.items()},
    dataset=snakemake.wildcards.dataset,
    title=snakemake.params.title,
    threshold=snakemake.params.threshold,
    folder=Path(snakemake.output.svg[0]).parent,
)
