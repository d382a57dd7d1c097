"""Reports of the tables that a test has."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from biasgrid.reference import PUBLISHED
from biasgrid.report.page import ReportFigure, ReportRun, ReportTables, build_report
from biasgrid.table_files import empty_table
from biasgrid.tables.group_measures import CASE_EXAMPLES, FAILURES, GROUP_MEASURES
from biasgrid.tables.measures import EXAMPLES, MEASURES, SUMMARY
from biasgrid.tables.planted import PLANTED, PLANTED_GROUPS

SCHEMAS = {
    "summary": SUMMARY,
    "measures": MEASURES,
    "examples": EXAMPLES,
    "group_measures": GROUP_MEASURES,
    "failures": FAILURES,
    "case_examples": CASE_EXAMPLES,
    "planted": PLANTED,
    "planted_groups": PLANTED_GROUPS,
}
NOTHING = {name: empty_table(schema) for name, schema in SCHEMAS.items()} | {
    "published": pl.DataFrame(schema=PUBLISHED)
}


def report_of(run: ReportRun, figures: Sequence[ReportFigure] = (), **tables: pl.DataFrame) -> str:
    """Builds the report of some tables; the others have no rows."""
    return build_report(run, ReportTables(**(NOTHING | tables)), figures)
