"""Rule plant_cases: cases -> planted group effects, corpora that hold them, and a tiny checkpoint to train on them."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.planting import write_planted_cases
from biasgrid.provenance import provenance
from biasgrid.table_files import read_provenance

write_planted_cases(
    cases_path=snakemake.input.cases,
    dataset=snakemake.wildcards.dataset,
    labels=snakemake.params.labels,
    base=Path(snakemake.output.base[0]).parent,
    planted=Path(snakemake.output.planted),
    provenance=provenance(
        snakemake.config,
        code=snakemake.params.code,
        planted=snakemake.params.planted,
        instances=read_provenance(snakemake.input.cases),
    ),
    **snakemake.params.planted,
)
