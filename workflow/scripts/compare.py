"""Rule compare: sums of the cells of a dataset -> how its models differ, their ranks and
agreement.
"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import STATISTICS_MODULES, start_job

start_job(snakemake.log[0], STATISTICS_MODULES)

from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.cells import read_compared_cell
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.comparison import COMPARISON_TABLES
from biasgrid.tables.files import read_provenance, write_table
from biasgrid.tables.provenance import table_provenance

tables = (map(Path, snakemake.input[name]) for name in ("sums", "measures", "design"))
files = dict(zip(snakemake.params.models, zip(*tables, strict=True), strict=True))
cells = [read_compared_cell(model, *files_of) for model, files_of in files.items()]
marks = snakemake.params.marks
settings = StatisticsSettings(**snakemake.params.statistics)
across, fair = snakemake.params.across, snakemake.params.fair
found = compare_models(snakemake.wildcards.dataset, cells, settings, marks, across, fair)
facts = table_provenance(
    snakemake.config,
    of=snakemake.wildcards.dataset,
    code=snakemake.params.code,
    statistics=snakemake.params.statistics,
    marks={measure: [asdict(mark) for mark in known] for measure, known in marks.items()},
    cells={model: read_provenance(measures) for model, (_, measures, _) in files.items()},
)
for name, schema in COMPARISON_TABLES.items():
    write_table(getattr(found, name), snakemake.output[name], schema, facts)
