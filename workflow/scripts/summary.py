"""Rule summary: measures of all cells -> measures of whole cells and bias types, and verdicts."""

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

params = snakemake.params
measures = read_tables(snakemake.input.measures, MEASURES)
models = {name: ModelFacts(**facts) for name, facts in params.models.items()}
cells = provenance_of_cells(snakemake.input.measures)
level = params.statistics["level"]
silenced = params.claims.get("silenced", {})
summary, verdicts = summarise(
    measures,
    with_scoring(models, cells),
    params.headlines,
    params.marks,
    params.controls,
    GridFacts(**params.claims, cells=cells),
    planned=partial(items_for_half_width, alpha=1 - level),
    sizes=sizes_beside_controls(measures, params.headlines, params.controls, silenced),
)
facts = table_provenance(
    snakemake.config,
    code=params.code,
    statistics=params.statistics,
    measures=cells,
    **{CLAIMS: params.claims},
)
write_table(summary, snakemake.output.parquet, SUMMARY, facts)
write_table(verdicts, snakemake.output.verdicts, VERDICTS, facts)
# Where measures are tested against controls, convergence needs their intervals against 0.
controlled = measures.drop_nulls("control").select("model", "dataset")
controlled_cells = set(controlled.unique().rows())
against_zero = []
for path in map(Path, snakemake.input.intervals):
    if (path.stem, path.parent.name) in controlled_cells:
        against_zero.append(path)
intervals = read_tables(against_zero, INTERVALS) if against_zero else None
agreement = convergence(measures, params.groups, level, intervals)
write_table(agreement, snakemake.output.convergence, CONVERGENCE, facts)
write_text(snakemake.output.csv, for_spreadsheets(headline_lines(summary)).write_csv())
