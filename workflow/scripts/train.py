"""Rule train: a checkpoint and data -> a trained model."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])
# Whatever the user has set: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.models.checkpoint import folder_of, read_record
from biasgrid.models.gpu import one_gpu
from biasgrid.models.train import Hyperparameters, train

settings = snakemake.params.train
base = Path(snakemake.input.base).parent if settings["planted"] else folder_of(read_record(snakemake.input.base))
with one_gpu(snakemake.resources.device, snakemake.resources.jobs_per_gpu):
    train(
        task=snakemake.params.task,
        checkpoint=base,
        data_path=snakemake.input.data,
        out_folder=Path(snakemake.output[0]).parent,
        hyperparameters=Hyperparameters(**settings["hyperparameters"]),
        threads=snakemake.threads,
        device=snakemake.resources.device,
        labels=snakemake.params.labels,
    )
