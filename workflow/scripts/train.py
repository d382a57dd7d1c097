"""Rule train: training data, and a checkpoint or the words of the data -> a trained model."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

    from biasgrid.runs.inputs.params import TrainingParams

from biasgrid.jobs.start import TRAINING_MODULES, start_job

start_job(snakemake.log[0], TRAINING_MODULES)
# Overrides the user's setting: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.base.files import digest_file, write_text
from biasgrid.inference.checkpoints.checkpoint import checked_folder
from biasgrid.inference.models.prerequisites import read_model_record
from biasgrid.jobs.gpu import leased_gpus
from biasgrid.jobs.lock import one_job
from biasgrid.tables.provenance import table_provenance
from biasgrid.training.corpora import CAUSAL, dataset_words
from biasgrid.training.kept_models import digest_training, keep_model, restore_model
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

params, resources = snakemake.params, snakemake.resources
task = params.task
settings: "TrainingParams" = params.training
synthetic = settings["synthetic"]
folder, kept = Path(snakemake.output.training).parent, Path(params.kept)
training_lock = one_job(Path(params.lock), resources.seconds_to_wait_for_lock)
gpus = leased_gpus(resources.gpu, resources.device, resources.jobs_per_gpu)
with training_lock, gpus, TemporaryDirectory() as own_folder:
    # A model of synthetic bias starts from random weights; any other fine-tunes `input.base`.
    if synthetic is not None:
        base = own_folder
        data = [Path(strength, params.corpus) for strength in snakemake.input.data]
        words = []
        for file in snakemake.input.words:
            words += dataset_words(task, Path(file).read_text(encoding="utf-8"))
        make_base_checkpoint(words, base, synthetic["seed"], causal=task in CAUSAL)
    else:
        base = checked_folder(read_model_record(snakemake.input.base, params.source))
        data = [Path(snakemake.input.data)]
    data_sha256 = digest_file(*data)
    base_files = sorted(path for path in Path(base).iterdir() if path.is_file())
    digest = digest_training(
        data_sha256,
        task=task,
        labels=params.labels,
        base=digest_file(*base_files),
        hyperparameters=settings["hyperparameters"],
    )
    cached = kept / digest
    if not restore_model(cached, folder):
        device = train(
            task=task,
            checkpoint=base,
            data_paths=data,
            out_folder=folder,
            hyperparameters=Hyperparameters(**settings["hyperparameters"]),
            threads=snakemake.threads,
            device=resources.device,
            labels=params.labels,
        )
        facts = table_provenance(
            code=params.code, data_sha256=data_sha256, training=digest, device=device
        )
        write_text(snakemake.output.training, json.dumps(facts, indent=2, sort_keys=True) + "\n")
        keep_model([*map(Path, snakemake.output)], cached)
