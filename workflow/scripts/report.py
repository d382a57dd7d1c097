"""Rule report: tables, figures and records of a run -> an offline page, or several."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

    from biasgrid.runs.inputs.params import ReportParams

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.base.files import write_text
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.report.page import build_report
from biasgrid.report.published import read_published
from biasgrid.report.run import ReportTables, gather_figures, gather_run, without_secrets
from biasgrid.stats.compare.comparability import same_models
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.comparison import COMPARISONS, RANKS
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import read_provenance, read_table, read_tables
from biasgrid.tables.measures import MEASURES, SUMMARY, SYNTHETIC
from biasgrid.tables.provenance import (
    cell_provenances,
    check_compared,
    check_made_from,
    check_made_with,
)
from biasgrid.tables.verdicts import VERDICTS

inputs = snakemake.input
check_made_with(inputs.measures, inputs.evidence + inputs.parts)
provenance_by_cell = cell_provenances(inputs.measures)
check_made_from(inputs.summary, "measures", provenance_by_cell, "the folder of measures")
check_compared(inputs.measures, inputs.comparisons + inputs.ranks)
run_settings: "ReportParams" = snakemake.params.run_settings
run = gather_run(
    records={Path(path).stem: read_record(path) for path in inputs.records},
    predictions=[Path(path) for path in inputs.imported],
    instances=[Path(path) for path in inputs.instances],
    measures=[Path(path) for path in inputs.measures],
    same_models=same_models(provenance_by_cell),
    facts=GridFacts.from_provenance(read_provenance(inputs.summary)),
    settings=without_secrets(snakemake.config),
    **run_settings,
)
tables = ReportTables(
    measures=read_tables(inputs.measures, MEASURES),
    summary=read_table(inputs.summary, SUMMARY),
    verdicts=read_table(inputs.verdicts, VERDICTS),
    examples=read_tables(inputs.evidence, EVIDENCE),
    parts=read_tables(inputs.parts, EVIDENCE_PARTS),
    comparisons=read_tables(inputs.comparisons, COMPARISONS),
    ranks=read_tables(inputs.ranks, RANKS),
    synthetic=read_tables(inputs.synthetic, SYNTHETIC),
    published_figures=read_published(*inputs.references),
)
references = {Path(folder): figures for folder, figures in snakemake.params.figures.items()}
figures = gather_figures(references)
pages = build_report(run=run, tables=tables, figures=figures)
folder = Path(snakemake.output[0]).parent
# An earlier report may have had more pages.
for stale in folder.glob("dataset-*.html"):
    stale.unlink()
for name, page in pages.items():
    write_text(folder / name, page)
