"""Rule summary: measures of all cells -> what is measured of whole cells and bias types."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from functools import partial
from pathlib import Path

from biasgrid.base.files import write_text
from biasgrid.stats.compare.controls import sizes_beside_controls
from biasgrid.stats.compare.convergence import convergence
from biasgrid.stats.power import items_for_half_width
from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.claims.facts import CLAIMS, GridFacts
from biasgrid.tables.comparison import CONVERGENCE
from biasgrid.tables.files import read_tables, write_table
from biasgrid.tables.measures import INTERVALS, MEASURES, SUMMARY
from biasgrid.tables.provenance import provenance_of_cells, table_provenance
from biasgrid.tables.summary import ModelFacts, for_spreadsheets, headline_lines, with_scoring
from biasgrid.tables.verdicts import VERDICTS

measures = read_tables(snakemake.input.measures, MEASURES)
models = {name: ModelFacts(**facts) for name, facts in snakemake.params.models.items()}
cells = provenance_of_cells(snakemake.input.measures)
claims = snakemake.params.claims
told = (
    snakemake.params.headlines,
    snakemake.params.marks,
    snakemake.params.controls,
    GridFacts(**claims, cells=cells),
)
planned = partial(items_for_half_width, alpha=1 - snakemake.params.statistics["level"])
sizes = sizes_beside_controls(
    measures, snakemake.params.headlines, snakemake.params.controls, claims.get("silenced", {})
)
summary, verdicts = summarise(
    measures, with_scoring(models, cells), *told, planned=planned, sizes=sizes
)
facts = table_provenance(
    snakemake.config,
    code=snakemake.params.code,
    statistics=snakemake.params.statistics,
    measures=cells,
    **{CLAIMS: claims},
)
write_table(summary, snakemake.output.parquet, SUMMARY, facts)
write_table(verdicts, snakemake.output.verdicts, VERDICTS, facts)
beyond = set(measures.drop_nulls("control").select("model", "dataset").unique().rows())
against_zero = [
    path
    for path in snakemake.input.intervals
    if (Path(path).stem, Path(path).parent.name) in beyond
]
intervals = read_tables(against_zero, INTERVALS) if against_zero else None
converging = convergence(
    measures, snakemake.params.groups, snakemake.params.statistics["level"], intervals
)
write_table(converging, snakemake.output.convergence, CONVERGENCE, facts)
write_text(snakemake.output.csv, for_spreadsheets(headline_lines(summary)).write_csv())
