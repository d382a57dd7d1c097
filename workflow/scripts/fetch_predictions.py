"""Rule fetch_predictions: a url -> the dump that is there."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.logs import start_log

start_log(snakemake.log[0])

from biasgrid.unqover.download import download

origin = snakemake.params.origin
download(origin["url"], origin["sha256"], Path(snakemake.output[0]))
