rule expand:
    input:
        tokenizer=tokenizer_record,
    output:
        "<results>/instances/{dataset}/{variant}.parquet",
    log:
        "<logs>/expand/{dataset}/{variant}.log",
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        files=files_of_lists,
        lists=lambda wildcards: word_lists[wildcards.dataset, wildcards.variant].digest(),
        code=code_of("expand"),
    script:
        "../workflow/scripts/expand.py"


rule expand_cases:
    output:
        "<results>/instances/{dataset}/cases.parquet",
    log:
        "<logs>/expand_cases/{dataset}.log",
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        files=files_of_pack,
        lists=lambda wildcards: word_lists[wildcards.dataset, "cases"].digest(),
        code=code_of("expand_cases"),
    script:
        "../workflow/scripts/expand_cases.py"
