"""Rule summary: the measures of all cells -> one row per cell."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

import polars as pl

from biasgrid.provenance import provenance
from biasgrid.summary import ModelFacts, summarise
from biasgrid.tables import MEASURES, SUMMARY, read_table, write_table

measures = pl.concat(read_table(path, MEASURES) for path in snakemake.input.measures)
models = {name: ModelFacts(**facts) for name, facts in snakemake.params.models.items()}
summary = summarise(measures, models, snakemake.params.scoring)
write_table(summary, snakemake.output.parquet, SUMMARY, provenance(code=snakemake.params.code))
summary.write_csv(snakemake.output.csv)
