# Models of a dataset against each other, from what the statistics of each cell keep: no cell is read anew for each pair.
rule compare:
    input:
        without_clusters=lambda wildcards: of_cells(layout.without_clusters, wildcards.dataset),
        variances=lambda wildcards: of_cells(layout.variances, wildcards.dataset),
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
        models=lambda wildcards: [model for model, of in CELLS if of == wildcards.dataset],
        statistics=grid.statistics.model_dump(),
        marks=lambda wildcards: marks_of_datasets(wildcards.dataset).get(wildcards.dataset, {}),
        code=lambda _: code_of("compare"),
    script:
        "../workflow/scripts/compare.py"
