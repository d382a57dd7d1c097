"""Rule train: data, and a checkpoint or the words of the data -> a trained model."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import TRAINING_MODULES, start_job

start_job(snakemake.log[0], TRAINING_MODULES)
# Whatever the user has set: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.base.files import digest_file, write_text
from biasgrid.inference.checkpoints.checkpoint import checked_folder
from biasgrid.inference.models.prerequisites import record_of
from biasgrid.jobs.gpu import leased_gpus
from biasgrid.jobs.lock import one_job
from biasgrid.tables.provenance import table_provenance
from biasgrid.training.corpora import CAUSAL, words_for
from biasgrid.training.kept_models import digest_training, keep_model, restore_model
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

settings = snakemake.params.train
training_lock = one_job(Path(snakemake.params.lock), snakemake.resources.seconds_to_wait)
with (
    training_lock,
    leased_gpus(
        snakemake.resources.gpu, snakemake.resources.device, snakemake.resources.jobs_per_gpu
    ),
    TemporaryDirectory() as own_folder,
):
    if settings["synthetic"]:
        base, data = (
            own_folder,
            [Path(folder, snakemake.params.corpus) for folder in snakemake.input.data],
        )
        task, files = snakemake.params.task, map(Path, snakemake.input.words)
        words = [
            word for file in files for word in words_for(task, file.read_text(encoding="utf-8"))
        ]
        make_base_checkpoint(words, base, settings["synthetic"]["seed"], causal=task in CAUSAL)
    else:
        base = checked_folder(record_of(snakemake.input.base, snakemake.params.source))
        data = [Path(snakemake.input.data)]
    labels, folder = snakemake.params.labels, Path(snakemake.output.training).parent
    data_sha256, kept = digest_file(*data), Path(snakemake.params.kept)
    digest = digest_training(
        data_sha256,
        task=snakemake.params.task,
        labels=labels,
        base=digest_file(*sorted(path for path in Path(base).iterdir() if path.is_file())),
        hyperparameters=settings["hyperparameters"],
    )
    if not restore_model(kept, digest, folder):
        device = train(
            task=snakemake.params.task,
            checkpoint=base,
            data_paths=data,
            out_folder=folder,
            hyperparameters=Hyperparameters(**settings["hyperparameters"]),
            threads=snakemake.threads,
            device=snakemake.resources.device,
            labels=labels,
        )
        facts = table_provenance(
            code=snakemake.params.code, data_sha256=data_sha256, training=digest, device=device
        )
        write_text(snakemake.output.training, json.dumps(facts, indent=2, sort_keys=True) + "\n")
        keep_model([*map(Path, snakemake.output)], kept / digest)
