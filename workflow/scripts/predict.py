"""Rule predict: a shard of instances -> predictions."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

import torch

from biasgrid.models.predict import Settings, predict_shard
from biasgrid.provenance import provenance

torch.set_num_threads(snakemake.threads)
predict_shard(
    instances_path=Path(snakemake.input.instances),
    record_path=Path(snakemake.input.model),
    out=Path(snakemake.output[0]),
    shard=int(snakemake.wildcards.shard),
    shards=int(snakemake.wildcards.shards),
    parts=Path(snakemake.params.parts),
    settings=Settings(
        task=snakemake.params.task,
        scoring=snakemake.params.scoring,
        precision=snakemake.params.precision,
        pronouns=snakemake.params.pronouns,
        token_budget=snakemake.resources.token_budget,
        device=snakemake.resources.device,
    ),
    provenance=provenance(code=snakemake.params.code),
)
