# Where models come from: synthetic corpora, training, and records of checkpoints with their digests.


rule synthetic:
    input:
        instances=models.synthetic_instances,
    output:
        synthetic=layout.synthetic() / "synthetic.parquet",
        words=layout.synthetic() / "words.json",
        # Folders, because the tasks that there are corpora for hang on the dataset.
        corpora=[directory(layout.synthetic() / strength) for strength in models.strengths()],
    log:
        layout.log("synthetic", "{dataset}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        family=inputs.family,
        corpora=models.dataset_corpora,
        labels=models.dataset_labels,
        options=models.synthetic_options,
        synthetic=models.synthetic_bias,
        code=inputs.code_of_family("synthetic", "keys", "synthetic"),
    script:
        "../workflow/scripts/synthetic.py"


rule train:
    input:
        unpack(models.training_files),
    output:
        checkpoint=[layout.trained_model() / name for name in CHECKPOINT_FILES],
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
        task=cells.task,
        corpus=models.training_corpus,
        labels=models.training_labels,
        train=models.training,
        source=models.base_source,
        code=inputs.code_of("train"),
    script:
        "../workflow/scripts/train.py"


# Records stay when they are made again (`update`), because a branch is resolved once: its commit is taken from there.
# Those of bases that training starts from are among them, because nodes that train may have no network.
rule fetch:
    input:
        unpack(models.record_files),
    output:
        update(layout.record()),
    log:
        layout.log("fetch", "{sort}", "{name}"),
    wildcard_constraints:
        sort="|".join(RECORDS),
        name="|".join([*grid.models, *grid.tokenizers]),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        source=models.record_source,
        code=inputs.code_of("fetch"),
    script:
        "../workflow/scripts/fetch.py"
