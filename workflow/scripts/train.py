"""Rule train: a checkpoint and data -> a trained model."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.logs import start_log

start_log(snakemake.log[0])
# Whatever the user has set: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.files import write_text
from biasgrid.lock import one_job
from biasgrid.models.checkpoint import checked_folder, digest_file, read_record
from biasgrid.models.gpu import one_gpu
from biasgrid.models.train import Hyperparameters, train
from biasgrid.provenance import provenance

settings = snakemake.params.train
base = Path(snakemake.input.base).parent if settings["planted"] else checked_folder(read_record(snakemake.input.base))
training_lock = one_job(Path(snakemake.params.lock), snakemake.resources.seconds_to_wait)
with training_lock, one_gpu(snakemake.resources.device, snakemake.resources.jobs_per_gpu):
    data_sha256 = digest_file(Path(snakemake.input.data))
    device = train(
        task=snakemake.params.task,
        checkpoint=base,
        data_path=snakemake.input.data,
        out_folder=Path(snakemake.output.training).parent,
        hyperparameters=Hyperparameters(**settings["hyperparameters"]),
        threads=snakemake.threads,
        device=snakemake.resources.device,
        labels=snakemake.params.labels,
    )
facts = provenance(code=snakemake.params.code, data_sha256=data_sha256, device=device)
write_text(snakemake.output.training, json.dumps(facts, indent=2, sort_keys=True) + "\n")
