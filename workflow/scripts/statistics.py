"""Rule statistics: instances, predictions and measures of a cell -> how sure these are, and where its variance is."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import STATISTICS_MODULES, start_job

start_job(snakemake.log[0], STATISTICS_MODULES)

from biasgrid.families.scorers import read_scorers
from biasgrid.families.uncertainty import statistics_of_cell
from biasgrid.stats.clusters import redundant_templates
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.files import read_provenance, read_table, write_table
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.provenance import cell_provenance, check_made_from, table_provenance
from biasgrid.tables.statistics import STATISTICS_TABLES

cell = snakemake.params.cell
texts = [Path(path) for path in snakemake.input.scorers[:1]]
instances, predictions = Path(snakemake.input.instances), [Path(path) for path in snakemake.input.predictions]
scorer_predictions = read_scorers(cell["scorers"], *texts, predictions) if texts else {}
check_made_from(snakemake.input.measures, "predictions", cell_provenance(instances, predictions), predictions[0])
tables = statistics_of_cell(
    family=cell["family"],
    instances_path=instances,
    prediction_paths=predictions,
    answer=cell["answer"],
    options=cell["options"],
    scorer_predictions=scorer_predictions,
    measures=read_table(snakemake.input.measures, MEASURES),
    headlines=cell["headlines"],
    settings=StatisticsSettings(clusters=cell["clusters"], units=cell["units"], **cell["settings"]),
)
facts = table_provenance(
    snakemake.config,
    of=f"{snakemake.wildcards.dataset}/{snakemake.wildcards.model}",
    code=cell["code"],
    clusters=cell["clusters"],
    templates=cell["templates"],
    statistics=cell["settings"],
    measures=read_provenance(snakemake.input.measures),
)
for warning in redundant_templates(tables.clusters):
    print(f"warning: {warning}")
for name, schema in STATISTICS_TABLES.items():
    write_table(getattr(tables, name), snakemake.output[name], schema, facts)
