"""Rule fetch_predictions: the url of a dump in the config -> the dump."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.logs import start_log

start_log(snakemake.log[0])

from biasgrid.formats.unqover.download import download_dump

# Read from the config, because the address may hold secrets, and Snakemake stores params.
model, dataset = snakemake.wildcards.model, snakemake.wildcards.dataset
dump = snakemake.config["models"][model]["predictions"][dataset]
download_dump(dump["url"], dump["sha256"], Path(snakemake.output[0]))
