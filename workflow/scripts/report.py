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

check_made_with(snakemake.input.measures, snakemake.input.evidence + snakemake.input.parts)
cells, summary = provenance_of_cells(snakemake.input.measures), snakemake.input.summary
check_made_from(summary, "measures", cells, "the folder of measures")
check_compared(snakemake.input.measures, snakemake.input.comparisons + snakemake.input.ranks)
pages = build_report(
    run=gather_run(
        records={Path(path).stem: read_record(path) for path in snakemake.input.records},
        imported=[Path(path) for path in snakemake.input.imported],
        instances=[Path(path) for path in snakemake.input.instances],
        measures=[Path(path) for path in snakemake.input.measures],
        same_models=same_models(cells),
        facts=GridFacts.of_summary(read_provenance(summary)),
        settings=without_secrets(snakemake.config),
        **snakemake.params.facts,
    ),
    tables=ReportTables(
        measures=read_tables(snakemake.input.measures, MEASURES),
        summary=read_table(summary, SUMMARY),
        verdicts=read_table(snakemake.input.verdicts, VERDICTS),
        examples=read_tables(snakemake.input.evidence, EVIDENCE),
        parts=read_tables(snakemake.input.parts, EVIDENCE_PARTS),
        comparisons=read_tables(snakemake.input.comparisons, COMPARISONS),
        ranks=read_tables(snakemake.input.ranks, RANKS),
        synthetic=read_tables(snakemake.input.synthetic, SYNTHETIC),
        published=read_published(*snakemake.input.references),
    ),
    figures=gather_figures(
        dict(zip(map(Path, snakemake.input.figures), snakemake.params.figures, strict=True))
    ),
)
folder = Path(snakemake.output[0]).parent
for stale in folder.glob("dataset-*.html"):
    stale.unlink()
for name, page in pages.items():
    write_text(folder / name, page)
