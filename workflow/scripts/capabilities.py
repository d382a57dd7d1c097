"""Rule capabilities: a model's record -> its capabilities, which its back end finds out."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.logs import start_log

start_log(snakemake.log[0])
# Overrides the user's setting: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.base.files import bring_to_present
from biasgrid.base.references import load_reference
from biasgrid.inference.models.prerequisites import read_model_record, write_capabilities
from biasgrid.inference.models.servers.capabilities import known_capabilities
from biasgrid.jobs.gpu import leased_gpus

section = snakemake.config["models"][snakemake.wildcards.model]
record = read_model_record(snakemake.input.model, snakemake.params.source)
capabilities = known_capabilities(Path(snakemake.params.kept), record, section)
if capabilities is None:
    find_capabilities = load_reference(snakemake.params.probe)
    resources = snakemake.resources
    with leased_gpus(resources.gpu, resources.device, resources.jobs_per_gpu):
        capabilities = find_capabilities(record, section, Path(snakemake.log[0]))
write_capabilities(Path(snakemake.output[0]), Path(snakemake.input.model), capabilities)
bring_to_present(snakemake.input)
