"""Rule plant: instances -> the planted bias, corpora that hold it, and a tiny checkpoint to train on them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.planting import write_planted
from biasgrid.provenance import provenance
from biasgrid.table_files import read_provenance

write_planted(
    instances={
        tuple(cell.split("/")): path
        for cell, path in zip(snakemake.params.cells, snakemake.input.instances, strict=True)
    },
    base=Path(snakemake.output.base[0]).parent,
    planted=Path(snakemake.output.planted),
    provenance=provenance(
        snakemake.config,
        code=snakemake.params.code,
        planted=snakemake.params.planted,
        instances=dict(zip(snakemake.params.cells, map(read_provenance, snakemake.input.instances), strict=True)),
    ),
    **snakemake.params.planted,
)
