"""Rule import_predictions: a dump -> the instances and predictions of a cell."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.base.files import bring_to_present
from biasgrid.base.references import load_reference
from biasgrid.tables.provenance import table_provenance

import_dump = load_reference(snakemake.params.reader)
cell_name = f"{snakemake.wildcards.dataset}/{snakemake.wildcards.model}"
provenance = table_provenance(snakemake.config, of=cell_name, code=snakemake.params.code)
import_dump(
    path=Path(snakemake.input.dump),
    origin=snakemake.params.origin,
    task=snakemake.params.task,
    scoring=snakemake.params.choices["scoring"],
    subject_lists=[Path(file) for file in snakemake.input.subjects],
    folder=Path(snakemake.output.instances).parent,
    provenance=provenance,
)
# Snakemake would delete the tables if the dump seems to be from the future.
bring_to_present(snakemake.input)
