"""Rule predict: a shard of instances -> predictions."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from snakemake.iocontainers import snakemake

from biasgrid.jobs.start import MODEL_MODULES, start_job

start_job(snakemake.log[0], MODEL_MODULES)
# Whatever the user has set: everything was fetched before.
os.environ["HF_HUB_OFFLINE"] = "1"

from biasgrid.base.files import bring_to_present
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.predict import ShardFiles, predict_shard
from biasgrid.jobs.gpu import leased_gpus
from biasgrid.jobs.lock import one_job
from biasgrid.tables.provenance import check_made_from, table_provenance

if lists := snakemake.params.get("lists"):
    check_made_from(
        snakemake.input.instances,
        "word_lists",
        lists,
        "the config's folder of word lists",
        "instances",
    )
answers, cell = Path(snakemake.params.answers), snakemake.params.cell
shard, shards = (int(snakemake.wildcards.get(name, 1)) for name in ("shard", "shards"))
of = [
    snakemake.wildcards.dataset,
    *filter(None, [snakemake.wildcards.get("writer")]),
    snakemake.wildcards.model,
]
# What is said of another one's texts is one shard, whose name is the model's.
of += [f"{shard}-of-{shards}"] if snakemake.wildcards.get("shards") else []
shard_lock = one_job(
    answers / f"{shard}-of-{shards}.lock", snakemake.resources.seconds_without_progress
)
gpus = leased_gpus(
    snakemake.resources.gpu, snakemake.resources.device, snakemake.resources.jobs_per_gpu
)
with shard_lock, gpus:
    predict_shard(
        ShardFiles(
            instances=Path(snakemake.input.instances),
            model=Path(snakemake.input.model),
            predictions=Path(snakemake.output.predictions),
            timing=Path(snakemake.output.timing),
            answers=answers,
            progress=answers / f"{shard}-of-{shards}.json",
            capabilities=Path(snakemake.input.capabilities)
            if snakemake.input.get("capabilities")
            else None,
        ),
        shard,
        shards,
        path=cell["back_end"],
        settings=InferenceSettings(
            model=snakemake.wildcards.model,
            task=cell["task"],
            precision=snakemake.params.precision,
            token_budget=snakemake.resources.token_budget,
            device=snakemake.resources.device,
            seconds_without_progress=snakemake.resources.seconds_without_progress,
            answer=cell["answer"],
            threads=snakemake.threads,
            choices=cell["choices"],
            section=snakemake.config["models"][snakemake.wildcards.model],
            log=Path(snakemake.log[0]),
        ),
        provenance=table_provenance(snakemake.config, of="/".join(of), code=cell["code"]),
        source=snakemake.params.source,
    )
# Snakemake would throw the shard away after a clock was set back meanwhile.
bring_to_present(snakemake.input)
