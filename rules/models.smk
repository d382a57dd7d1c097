# Where models come from: planted corpora, training, and records of checkpoints with their digests.


rule plant:
    input:
        instances=collect("<results>/instances/{cell}.parquet", cell=planted_instances()),
    output:
        base=multiext(
            "<results>/planted/base/",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        planted="<results>/planted/planted.parquet",
        questions=collect("<results>/planted/{strength}/question-answering.json", strength=planted_strengths()),
        lines=collect("<results>/planted/{strength}/fill-mask.txt", strength=planted_strengths()),
    log:
        "<logs>/plant.log",
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        cells=planted_instances(),
        planted=grid.planted.model_dump() if grid.planted else None,
        code=code_of("plant"),
    script:
        "../workflow/scripts/plant.py"


# A rule for each dataset, so that another dataset trains no model of this one again.
rule plant_cases:
    input:
        cases="<results>/instances/{dataset}/cases.parquet",
    output:
        base=multiext(
            "<results>/planted_cases/{dataset}/base/",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        planted="<results>/planted_cases/{dataset}/planted.parquet",
        texts=collect("<results>/planted_cases/{{dataset}}/{strength}.jsonl", strength=planted_strengths()),
    log:
        "<logs>/plant_cases/{dataset}.log",
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        labels=lambda wildcards: grid.counterfactual[wildcards.dataset].labels,
        planted=grid.planted.model_dump() if grid.planted else None,
        code=code_of("plant_cases"),
    script:
        "../workflow/scripts/plant_cases.py"


# Records stay when they are made again (`update`), because a branch is resolved once: its commit is taken from there.
# Bases are fetched by a rule of their own, because nodes that train may have no network.
rule fetch_base:
    input:
        files=files_of_base,
    output:
        update("<results>/bases/{model}.json"),
    log:
        "<logs>/fetch_base/{model}.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        source=source_of_base,
        code=code_of("fetch"),
    script:
        "../workflow/scripts/fetch.py"


rule train:
    input:
        unpack(training_inputs),
    output:
        checkpoint=multiext(
            "<results>/trained/{model}/",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
        training="<results>/trained/{model}/training.json",
    log:
        "<logs>/train/{model}.log",
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
        # Path variables are not filled in here, wildcards are.
        lock=f"{grid.results}/.parts/trained/{{model}}.lock",
        task=lambda wildcards: grid.models[wildcards.model].task,
        labels=lambda wildcards: list(grid.models[wildcards.model].labels.values()),
        train=lambda wildcards: grid.models[wildcards.model].train.model_dump(mode="json"),
        code=code_of("train"),
    script:
        "../workflow/scripts/train.py"


rule fetch_model:
    input:
        files=files_of_model,
        base=base_record,
        training=facts_of_training,
    output:
        update("<results>/models/{model}.json"),
    log:
        "<logs>/fetch_model/{model}.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        source=source_of_model,
        code=code_of("fetch"),
    script:
        "../workflow/scripts/fetch.py"


rule fetch_tokenizer:
    input:
        files=files_of_tokenizer,
    output:
        update("<results>/tokenizers/{tokenizer}.json"),
    log:
        "<logs>/fetch_tokenizer/{tokenizer}.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        source=source_of_tokenizer,
        code=code_of("fetch"),
    script:
        "../workflow/scripts/fetch.py"
