"""Rule train: a checkpoint and data -> a trained model."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])

from biasgrid.models.checkpoint import locate_source
from biasgrid.models.train import Hyperparameters, train

settings = snakemake.params.train
base = Path(snakemake.input.base).parent if settings["planted"] else locate_source(settings["base"])
train(
    task=snakemake.params.task,
    checkpoint=base,
    data_path=snakemake.input.data,
    out_folder=Path(snakemake.output[0]).parent,
    hyperparameters=Hyperparameters(**settings["hyperparameters"]),
    threads=snakemake.threads,
    device=snakemake.resources.device,
)
