"""Rule able: a model's record -> what it can do, found out by asking it."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.logs import start_log

start_log(snakemake.log[0])
# Whatever the user has set: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.checkpoints.checkpoint import read_record
from biasgrid.files import bring_to_present, write_text
from biasgrid.jobs.gpu import leased_gpus
from biasgrid.models.servers.capabilities import kept
from biasgrid.references import found

section = snakemake.config["models"][snakemake.wildcards.model]
record = read_record(snakemake.input.model)
able = kept(Path(snakemake.params.kept), record, section, snakemake.wildcards.model)
if able is None:
    with leased_gpus(snakemake.resources.gpu, snakemake.resources.device, snakemake.resources.jobs_per_gpu):
        able = found(snakemake.params.look)(record, section, Path(snakemake.log[0]))
write_text(snakemake.output[0], json.dumps(able, indent=2) + "\n")
bring_to_present(snakemake.input)
