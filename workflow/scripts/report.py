"""Rule report: measures, summary, examples, figures and records -> one offline page."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

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
    check_compared,
    check_made_from,
    check_made_with,
    provenance_of_cells,
)
from biasgrid.tables.verdicts import VERDICTS

inputs = snakemake.input
check_made_with(inputs.measures, inputs.evidence + inputs.parts)
cells = provenance_of_cells(inputs.measures)
check_made_from(inputs.summary, "measures", cells, "the folder of measures")
check_compared(inputs.measures, inputs.comparisons + inputs.ranks)
run = gather_run(
    records={Path(path).stem: read_record(path) for path in inputs.records},
    imported=[Path(path) for path in inputs.imported],
    instances=[Path(path) for path in inputs.instances],
    measures=[Path(path) for path in inputs.measures],
    same_models=same_models(cells),
    facts=GridFacts.of_summary(read_provenance(inputs.summary)),
    settings=without_secrets(snakemake.config),
    **snakemake.params.facts,
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
    published=read_published(*inputs.references),
)
folders = [Path(folder) for folder in inputs.figures]
figures = gather_figures(dict(zip(folders, snakemake.params.figures, strict=True)))
pages = build_report(run=run, tables=tables, figures=figures)
folder = Path(snakemake.output[0]).parent
# An earlier report may have had more pages.
for stale in folder.glob("dataset-*.html"):
    stale.unlink()
for name, page in pages.items():
    write_text(folder / name, page)
