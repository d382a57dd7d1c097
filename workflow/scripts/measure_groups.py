"""Rule measure_groups: instances and predictions of a cell -> how its groups differ, and the sentences behind that."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.families.grouped import GroupOptions, measure_groups_of_cell
from biasgrid.provenance import cell_provenance, provenance
from biasgrid.table_files import write_table
from biasgrid.tables.group_measures import CASE_EXAMPLES, FAILURES, GROUP_MEASURES

instances, predictions = Path(snakemake.input.instances), [Path(path) for path in snakemake.input.predictions]
cell = cell_provenance(instances, predictions, **snakemake.params.expected)
tables = measure_groups_of_cell(
    family=snakemake.params.family,
    instances_path=instances,
    prediction_paths=predictions,
    task=snakemake.params.expected["task"],
    scoring=snakemake.params.expected.get("scoring"),
    options=GroupOptions(**snakemake.params.options),
    model=snakemake.wildcards.model,
    dataset=snakemake.wildcards.dataset,
)
facts = provenance(snakemake.config, code=snakemake.params.code, predictions=cell)
write_table(tables.measures, snakemake.output.measures, GROUP_MEASURES, facts)
write_table(tables.failures, snakemake.output.failures, FAILURES, facts)
write_table(tables.examples, snakemake.output.examples, CASE_EXAMPLES, facts)
