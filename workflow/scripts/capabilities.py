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
from biasgrid.inference.engine.settings import ModelSettings
from biasgrid.inference.models.prerequisites import (
    find_or_keep,
    read_model_record,
    write_capabilities,
)
from biasgrid.jobs.gpu import leased_gpus

params, resources, model = snakemake.params, snakemake.resources, snakemake.wildcards.model
record = read_model_record(snakemake.input.model, params.source)
settings = ModelSettings(
    model=model,
    task=params.task,
    precision=params.precision,
    device=resources.device,
    threads=snakemake.threads,
    section=snakemake.config["models"][model],
    log=Path(snakemake.log[0]),
)
probe = load_reference(params.probe)
with leased_gpus(resources.gpu, resources.device, resources.jobs_per_gpu):
    capabilities = find_or_keep(probe, record, settings, params.answers, Path(params.kept))
write_capabilities(Path(snakemake.output[0]), Path(snakemake.input.model), capabilities)
bring_to_present(snakemake.input)
