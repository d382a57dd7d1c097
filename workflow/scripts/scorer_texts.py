"""Rule scorer_texts: the texts that a model wrote in a cell -> instances for scorers.

Each distinct text is one instance, in sorted order; blank texts are left out.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TABLE_MODULES, start_job

start_job(snakemake.log[0], TABLE_MODULES)

from biasgrid.families.responses import texts_of_cell
from biasgrid.tables.files import write_table_in_parts
from biasgrid.tables.provenance import provenance_digests, table_provenance

paths = [Path(path) for path in snakemake.input]
expansion = texts_of_cell(paths)
of = f"{snakemake.wildcards.dataset}/{snakemake.wildcards.writer}"
facts = table_provenance(
    snakemake.config, of=of, code=snakemake.params.code, written=provenance_digests(paths)
)
write_table_in_parts(expansion.parts, snakemake.output[0], expansion.schema, facts)
