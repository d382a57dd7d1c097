"""Rule report: summary, figures, examples and records -> one offline page."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.files import write_text
from biasgrid.models.checkpoint import read_record
from biasgrid.reference import read_published
from biasgrid.report.facts import gather_figures, gather_run
from biasgrid.report.page import ReportTables, build_report
from biasgrid.table_files import read_tables
from biasgrid.tables.group_measures import CASE_EXAMPLES, FAILURES, GROUP_MEASURES
from biasgrid.tables.measures import EXAMPLES, MEASURES, SUMMARY
from biasgrid.tables.planted import PLANTED, PLANTED_GROUPS

page = build_report(
    run=gather_run(
        records={Path(path).stem: read_record(path) for path in snakemake.input.records},
        imported=[Path(path) for path in snakemake.input.imported],
        instances=[Path(path) for path in snakemake.input.instances],
        **snakemake.params.facts,
    ),
    tables=ReportTables(
        summary=read_tables(snakemake.input.summary, SUMMARY),
        measures=read_tables(snakemake.input.measures, MEASURES),
        examples=read_tables(snakemake.input.examples, EXAMPLES),
        group_measures=read_tables(snakemake.input.group_measures, GROUP_MEASURES),
        failures=read_tables(snakemake.input.failures, FAILURES),
        case_examples=read_tables(snakemake.input.case_examples, CASE_EXAMPLES),
        planted=read_tables(snakemake.input.planted, PLANTED),
        planted_groups=read_tables(snakemake.input.planted_groups, PLANTED_GROUPS),
        published=read_published(snakemake.input.reference),
    ),
    figures=gather_figures(map(Path, snakemake.input.figures), snakemake.params.facts["datasets"]),
)
write_text(snakemake.output[0], page)
