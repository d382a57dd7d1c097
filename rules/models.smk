# Makes models: synthetic corpora, training, and records of checkpoints with their digests.


rule synthetic:
    input:
        # In the order of `params.corpora`.
        instances=models.synthetic_instances,
    output:
        synthetic=layout.synthetic() / "synthetic.parquet",
        words=layout.synthetic() / "words.json",
        # Folders, because which tasks have corpora depends on the dataset.
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
    # One thread, so that the same config gives the same weights on a CPU, whatever --cores is.
    threads: 1
    resources:
        # The job leases a GPU only if the machine has one.
        gpu=0 if grid.inference.device == "cpu" else 1,
        mem_mb=4000,
        device=grid.inference.device,
        jobs_per_gpu=grid.inference.jobs_per_gpu,
        seconds_to_wait_for_lock=round(60 * grid.inference.time_limit),
    params:
        lock=str(layout.training_lock()),
        kept=str(layout.kept_trained()),
        task=cells.task,
        corpus=models.training_corpus,
        labels=models.training_labels,
        training=models.training,
        source=not_compared(models.base_source),
        code=inputs.code_of("train"),
    script:
        "../workflow/scripts/train.py"


# `update` keeps the old record, so that a branch stays at the commit to which it was first resolved.
# The bases that training starts from are fetched here, because nodes that train may have no network.
# `record_kind` is `models`, `tokenizers`, or `bases`: the base of a model that is trained here, under
# the name of that model.
rule fetch:
    input:
        unpack(models.record_files),
    output:
        update(layout.record()),
    log:
        layout.log("fetch", "{record_kind}", "{name}"),
    wildcard_constraints:
        record_kind="|".join(RECORDS),
        name="|".join([*grid.models, *grid.tokenizers]),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        source=models.record_source,
        rerun_code=inputs.code_of("fetch"),
    script:
        "../workflow/scripts/fetch.py"
