"""Rule compare: sums of the cells of a dataset -> comparisons, ranks and agreement of models."""

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

dataset, params = snakemake.wildcards.dataset, snakemake.params
compared_cells = []
measures_by_model = {}
# The files of each kind are in the order of `params.models`.
for model, sums, measures, design in zip(
    params.models,
    snakemake.input.sums,
    snakemake.input.measures,
    snakemake.input.design,
    strict=True,
):
    compared_cells.append(read_compared_cell(model, Path(sums), Path(measures), Path(design)))
    measures_by_model[model] = read_provenance(Path(measures))
marks_as_json = {}
for measure, marks in params.marks.items():
    marks_as_json[measure] = [asdict(mark) for mark in marks]
settings = StatisticsSettings(**params.statistics)
comparison = compare_models(
    dataset,
    compared_cells,
    settings,
    params.marks,
    may_differ_in=params.may_differ_in,
    fair_values=params.fair_values,
)
facts = table_provenance(
    snakemake.config,
    of=dataset,
    code=params.code,
    statistics=params.statistics,
    marks=marks_as_json,
    cells=measures_by_model,
)
for name, schema in COMPARISON_TABLES.items():
    write_table(getattr(comparison, name), snakemake.output[name], schema, facts)
