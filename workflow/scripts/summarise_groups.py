"""Rule group_summary: the group measures of all cells -> those of whole bias types."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.files import write_text
from biasgrid.provenance import provenance
from biasgrid.summary import summarise_groups
from biasgrid.table_files import read_provenance, read_tables, write_table
from biasgrid.tables.group_measures import GROUP_MEASURES, GROUP_SUMMARY

summary = summarise_groups(read_tables(snakemake.input.measures, GROUP_MEASURES))
cells = {"/".join(Path(path).with_suffix("").parts[-2:]): read_provenance(path) for path in snakemake.input.measures}
facts = provenance(snakemake.config, code=snakemake.params.code, group_measures=cells)
write_table(summary, snakemake.output.parquet, GROUP_SUMMARY, facts)
write_text(snakemake.output.csv, summary.write_csv())
