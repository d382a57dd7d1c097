"""Rules predict and predict_scorer: a shard of instances -> predictions."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

    from biasgrid.runs.inputs.params import PredictParams

from biasgrid.jobs.start import MODEL_MODULES, start_job

start_job(snakemake.log[0], MODEL_MODULES)
# Overrides the user's setting: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.base.files import bring_to_present
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.predict import ShardFiles, predict_shard
from biasgrid.jobs.gpu import leased_gpus
from biasgrid.jobs.lock import one_job
from biasgrid.tables.provenance import check_made_from, table_provenance

params, resources, wildcards = snakemake.params, snakemake.resources, snakemake.wildcards
cell: "PredictParams" = params.cell
# Null for texts that a model wrote, and in submitted jobs.
if params.lists_digest is not None:
    check_made_from(
        snakemake.input.instances,
        "word_lists",
        params.lists_digest,
        "the config's folder of word lists",
        "instances",
    )
answers = Path(params.answers)
shard = int(wildcards.get("shard", 1))
shards = int(wildcards.get("shards", 1))
name_of_shard = f"{shard}-of-{shards}"
# A scorer, which alone has a writer, reads all texts in one shard; its rule has no such wildcard.
parts = [wildcards.dataset, wildcards.get("writer"), wildcards.model]
if wildcards.get("shards"):
    parts.append(name_of_shard)
name_of_table = "/".join(part for part in parts if part)
capabilities = snakemake.input.capabilities
files = ShardFiles(
    instances=Path(snakemake.input.instances),
    model=Path(snakemake.input.model),
    predictions=Path(snakemake.output.predictions),
    timing=Path(snakemake.output.timing),
    answers=answers,
    progress=answers / f"{name_of_shard}.json",
    capabilities=Path(capabilities) if capabilities else None,
)
settings = InferenceSettings(
    model=wildcards.model,
    task=cell["task"],
    precision=params.precision,
    token_budget=resources.token_budget,
    device=resources.device,
    seconds_without_progress=resources.seconds_without_progress,
    answer=cell["answer"],
    threads=snakemake.threads,
    choices=cell["choices"],
    section=snakemake.config["models"][wildcards.model],
    log=Path(snakemake.log[0]),
)
shard_lock = one_job(answers / f"{name_of_shard}.lock", resources.seconds_without_progress)
gpus = leased_gpus(resources.gpu, resources.device, resources.jobs_per_gpu)
with shard_lock, gpus:
    predict_shard(
        files,
        shard,
        shards,
        path=cell["back_end"],
        settings=settings,
        provenance=table_provenance(snakemake.config, of=name_of_table, code=cell["code"]),
        source=params.source,
    )
# Snakemake would delete the shard if a clock was set back meanwhile.
bring_to_present(snakemake.input)
