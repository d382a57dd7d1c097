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
        expected=what_predictions_say,
        code=code_of("measure"),
    script:
        "../workflow/scripts/measure.py"


rule measure_groups:
    input:
        instances=instances_of_cell,
        predictions=shards_of_cell,
    output:
        measures="<results>/group_measures/{dataset}/{model}.parquet",
        failures="<results>/failures/{dataset}/{model}.parquet",
        examples="<results>/case_examples/{dataset}/{model}.parquet",
    log:
        "<logs>/measure_groups/{dataset}/{model}.log",
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=3000,
    params:
        family=lambda wildcards: grid.datasets[wildcards.dataset].family,
        expected=what_predictions_say,
        options=lambda wildcards: grid.group_options(wildcards.dataset),
        code=code_of("measure_groups"),
    script:
        "../workflow/scripts/measure_groups.py"


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
        models=facts_of_models(datasets_of(grid.cells("underspecified"))),
        code=code_of("summarise"),
    script:
        "../workflow/scripts/summarise.py"


rule group_summary:
    input:
        measures=group_measures_of,
    output:
        parquet="<results>/group_summary.parquet",
        csv="<results>/group_summary.csv",
    log:
        "<logs>/group_summary.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        code=code_of("summarise_groups"),
    script:
        "../workflow/scripts/summarise_groups.py"
