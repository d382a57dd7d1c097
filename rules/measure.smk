rule measure:
    input:
        instances=instances_of_cell,
        predictions=shards_of_cell,
    output:
        measures="<results>/measures/{dataset}/{model}.parquet",
        examples="<results>/examples/{dataset}/{model}.parquet",
    log:
        "<logs>/measure/{dataset}/{model}.log",
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=3000,
    params:
        task=lambda wildcards: grid.models[wildcards.model].task,
        scoring=scoring_of_cell,
        code=code_of("measure"),
    script:
        "../workflow/scripts/measure.py"


rule summary:
    input:
        measures=measures_of,
    output:
        parquet="<results>/summary.parquet",
        csv="<results>/summary.csv",
    log:
        "<logs>/summary.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        models=facts_of_models(grid.run.datasets),
        code=code_of("summarise"),
    script:
        "../workflow/scripts/summarise.py"
