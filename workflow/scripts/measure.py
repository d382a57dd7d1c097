"""Rule measure: instances and predictions of a cell -> its sums, and the sentences behind them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

    from biasgrid.runs.inputs.params import MeasureParams

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.families.cell import cell_location, measure_cell
from biasgrid.families.responses import read_scorers
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.claims.facts import COVERAGE
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import read_provenance, write_table
from biasgrid.tables.provenance import cell_provenance, table_provenance
from biasgrid.tables.summary import answer_counts
from biasgrid.tables.sums import SUMS

cell: "MeasureParams" = snakemake.params.cell
instances = Path(snakemake.input.instances)
predictions = [Path(path) for path in snakemake.input.predictions]
# Empty without scorers.
texts = Path(snakemake.input.texts) if snakemake.input.texts else None
scorer_predictions = read_scorers(cell["scorers"], texts, predictions) if texts else {}
provenance = cell_provenance(
    instances, predictions, snakemake.params.record, cell["dump"], **cell["expected"]
)
# Empty, so the defaults, if the measures are functions of sums: nothing is then recomputed.
settings = StatisticsSettings(**cell["jackknife"])
measured = measure_cell(
    family=cell["family"],
    instances_path=instances,
    prediction_paths=predictions,
    answer=cell["answer"],
    names=cell["names"],
    measure_options=cell["measure_options"],
    scorer_predictions=scorer_predictions,
    model=snakemake.wildcards.model,
    dataset=snakemake.wildcards.dataset,
    settings=settings,
)
optional_facts = {}
counts = answer_counts(predictions)
if counts:
    optional_facts["answered"] = counts
coverage = read_provenance(instances).get(COVERAGE)
if coverage:
    optional_facts[COVERAGE] = coverage
facts = table_provenance(
    snakemake.config,
    of=f"{snakemake.wildcards.dataset}/{snakemake.wildcards.model}",
    code=cell["code"],
    predictions=provenance,
    # `biasgrid explain` finds the cell by this, even if the folder of results was moved.
    cell=cell_location(Path(snakemake.output.sums), instances, predictions, cell, texts),
    **optional_facts,
)
write_table(measured.sums, snakemake.output.sums, SUMS, facts)
write_table(measured.evidence, snakemake.output.evidence, EVIDENCE, facts)
write_table(measured.parts, snakemake.output.parts, EVIDENCE_PARTS, facts)
