# Where models come from: synthetic corpora, training, and records of checkpoints with their digests.


rule synthetic:
    input:
        instances=synthetic_instances,
    output:
        synthetic=layout.synthetic() / "synthetic.parquet",
        words=layout.synthetic() / "words.json",
        # Folders, because the tasks that there are corpora for hang on the dataset.
        corpora=[directory(layout.synthetic() / strength) for strength in synthetic_strengths()],
    log:
        layout.log("synthetic", "{dataset}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        family=family_of_dataset,
        corpora=corpora_of_dataset,
        labels=lambda wildcards: getattr(grid.datasets[wildcards.dataset], "labels", []),
        options=lambda wildcards: grid.family(wildcards.dataset).synthetic_options(grid, wildcards.dataset),
        synthetic=synthetic_in_dataset,
        code=code_of_family("synthetic", "keys", "synthetic"),
    script:
        "../workflow/scripts/synthetic.py"


rule train:
    input:
        unpack(training_inputs),
    output:
        checkpoint=[layout.trained_model() / name for name in CHECKPOINT],
        training=layout.trained_model() / "training.json",
    log:
        layout.log("train", "{model}"),
    conda:
        "../envs/biasgrid.yaml"
    # One thread on a CPU, so that the same config gives the same weights whatever --cores is.
    threads: 1
    resources:
        gpu=0 if grid.inference.device == "cpu" else 1,
        mem_mb=4000,
        device=grid.inference.device,
        jobs_per_gpu=grid.inference.jobs_per_gpu,
        seconds_to_wait=round(60 * grid.inference.time_limit),
    params:
        lock=str(layout.lock_of_training()),
        kept=str(layout.kept_trained()),
        task=task_of_model,
        corpus=lambda wildcards: CORPORA[task_of_model(wildcards)],
        labels=lambda wildcards: list(grid.models[wildcards.model].labels.values()),
        train=lambda wildcards: grid.training_of(wildcards.model),
        source=source_of_own_base,
        code=lambda _: code_of("train"),
    script:
        "../workflow/scripts/train.py"


# Records stay when they are made again (`update`), because a branch is resolved once: its commit is taken from there.
# Those of bases that training starts from are among them, because nodes that train may have no network.
rule fetch:
    input:
        unpack(fetched_files),
    output:
        update(layout.record()),
    log:
        layout.log("fetch", "{sort}", "{name}"),
    wildcard_constraints:
        sort="|".join(SOURCES),
        name="|".join([*grid.models, *grid.tokenizers]),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        source=source_of_record,
        code=lambda _: code_of("fetch"),
    script:
        "../workflow/scripts/fetch.py"
