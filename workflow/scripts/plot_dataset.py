"""Rule plot_dataset: the measures of a dataset's cells -> its figures."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.plots.draw import draw_dataset
from biasgrid.summary import ModelFacts, summarise
from biasgrid.table_files import read_tables
from biasgrid.tables.measures import MEASURES

measures = read_tables(snakemake.input.measures, MEASURES)
models = {name: ModelFacts(**facts) for name, facts in snakemake.params.models.items()}
draw_dataset(
    measures=measures,
    summary=summarise(measures, models),
    dataset=snakemake.wildcards.dataset,
    title=snakemake.params.title,
    folder=Path(snakemake.output.svg[0]).parent,
)
