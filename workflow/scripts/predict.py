"""Rule predict: a shard of instances -> predictions."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])
# Whatever the user has set: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

import torch

from biasgrid.files import bring_to_present
from biasgrid.lock import one_job
from biasgrid.models.gpu import one_gpu
from biasgrid.models.predict import predict_shard
from biasgrid.models.settings import Settings
from biasgrid.provenance import provenance

torch.set_num_threads(snakemake.threads)
shard_lock = one_job(Path(f"{snakemake.params.parts}.lock"), snakemake.resources.seconds_without_progress)
with shard_lock, one_gpu(snakemake.resources.device, snakemake.resources.jobs_per_gpu):
    predict_shard(
        instances_path=Path(snakemake.input.instances),
        record_path=Path(snakemake.input.model),
        out=Path(snakemake.output.predictions),
        timing=Path(snakemake.output.timing),
        shard=int(snakemake.wildcards.shard),
        shards=int(snakemake.wildcards.shards),
        parts=Path(snakemake.params.parts),
        settings=Settings(
            model=snakemake.wildcards.model,
            task=snakemake.params.task,
            precision=snakemake.params.precision,
            token_budget=snakemake.resources.token_budget,
            device=snakemake.resources.device,
            seconds_without_progress=snakemake.resources.seconds_without_progress,
            **snakemake.params.choices,
        ),
        provenance=provenance(snakemake.config, code=snakemake.params.code),
    )
# Snakemake would throw the shard away after a clock was set back meanwhile.
bring_to_present(snakemake.input)
