"""Rule measure: instances and predictions of a cell -> measures, and the examples behind the strongest ones."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.families.underspecified.measures import measure_cell
from biasgrid.provenance import provenance
from biasgrid.tables import EXAMPLES, MEASURES, read_provenance, write_table

measures, examples = measure_cell(
    instances_path=Path(snakemake.input.instances),
    prediction_paths=[Path(path) for path in snakemake.input.predictions],
    task=snakemake.params.task,
    scoring=snakemake.params.scoring,
    model=snakemake.wildcards.model,
    dataset=snakemake.wildcards.dataset,
)
facts = provenance(
    code=snakemake.params.code,
    instances=read_provenance(snakemake.input.instances),
    predictions=[read_provenance(path) for path in snakemake.input.predictions],
)
write_table(measures, snakemake.output.measures, MEASURES, facts)
write_table(examples, snakemake.output.examples, EXAMPLES, facts)
