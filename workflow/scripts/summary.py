"""Rule summary: measures of all cells -> summary, verdicts and convergence of the grid."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from functools import partial
from pathlib import Path

from biasgrid.base.files import write_text
from biasgrid.stats.compare.controls import sizes_against_controls
from biasgrid.stats.compare.convergence import convergence
from biasgrid.stats.power import items_for_half_width
from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.claims.facts import CLAIMS, GridFacts
from biasgrid.tables.comparison import CONVERGENCE
from biasgrid.tables.files import read_tables, write_table
from biasgrid.tables.measures import INTERVALS, MEASURES, SUMMARY
from biasgrid.tables.provenance import cell_provenances, table_provenance
from biasgrid.tables.summary import ModelFacts, for_spreadsheets, headline_lines, with_scoring
from biasgrid.tables.verdicts import VERDICTS

params = snakemake.params
measures = read_tables(snakemake.input.measures, MEASURES)
models = {name: ModelFacts(**section) for name, section in params.models.items()}
provenance_by_cell = cell_provenances(snakemake.input.measures)
level = params.statistics["level"]
silenced = params.claims.get("silenced", {})
summary, verdicts = summarise(
    measures,
    models=with_scoring(models, provenance_by_cell),
    headlines=params.headlines,
    marks=params.marks,
    controls=params.controls,
    facts=GridFacts(**params.claims, cells=provenance_by_cell),
    plan_items=partial(items_for_half_width, alpha=1 - level),
    sizes=sizes_against_controls(measures, params.headlines, params.controls, silenced),
)
provenance = table_provenance(
    snakemake.config,
    code=params.code,
    statistics=params.statistics,
    measures=provenance_by_cell,
    **{CLAIMS: params.claims},
)
write_table(summary, snakemake.output.parquet, SUMMARY, provenance)
write_table(verdicts, snakemake.output.verdicts, VERDICTS, provenance)
# The measures of cells with controls are tested against these; convergence needs their intervals
# against 0 instead.
controlled = measures.drop_nulls("control").select("model", "dataset")
controlled_cells = set(controlled.unique().rows())
against_zero = []
for path in map(Path, snakemake.input.intervals):
    model, dataset = path.stem, path.parent.name
    if (model, dataset) in controlled_cells:
        against_zero.append(path)
intervals = read_tables(against_zero, INTERVALS) if against_zero else None
agreement = convergence(measures, params.groups, level, intervals)
write_table(agreement, snakemake.output.convergence, CONVERGENCE, provenance)
write_text(snakemake.output.csv, for_spreadsheets(headline_lines(summary)).write_csv())
