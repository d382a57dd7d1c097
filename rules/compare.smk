# Models of a dataset against each other, from what the statistics of each cell keep: no cell is read anew for each pair.
rule compare:
    input:
        without_clusters=inputs.of_dataset(layout.without_clusters),
        variances=inputs.of_dataset(layout.variances),
    output:
        comparisons=layout.comparisons(),
        ranks=layout.ranks(),
        agreement=layout.agreement(),
    log:
        layout.log("compare", "{dataset}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=3000,
    params:
        models=pages.dataset_models,
        statistics=grid.statistics.model_dump(),
        marks=pages.dataset_marks,
        code=inputs.code_of("compare"),
    script:
        "../workflow/scripts/compare.py"
