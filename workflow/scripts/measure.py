"""Rule measure: instances and predictions of a cell -> measures, and the examples behind the strongest ones."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.families.underspecified.measures import measure_cell
from biasgrid.provenance import cell_provenance, provenance
from biasgrid.table_files import write_table
from biasgrid.tables.measures import EXAMPLES, MEASURES

instances, predictions = Path(snakemake.input.instances), [Path(path) for path in snakemake.input.predictions]
cell = cell_provenance(instances, predictions, **snakemake.params.expected)
measures, examples = measure_cell(
    instances_path=instances,
    prediction_paths=predictions,
    **snakemake.params.expected,
    model=snakemake.wildcards.model,
    dataset=snakemake.wildcards.dataset,
)
facts = provenance(snakemake.config, code=snakemake.params.code, predictions=cell)
write_table(measures, snakemake.output.measures, MEASURES, facts)
write_table(examples, snakemake.output.examples, EXAMPLES, facts)
