# Compares the models of a dataset with each other, from the sums of each cell.
rule compare:
    input:
        # Each in the order of `params.models`.
        sums=inputs.of_dataset(layout.sums),
        measures=inputs.of_dataset(layout.measures),
        design=inputs.of_dataset(layout.design),
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
        fair_values=pages.fair_values,
        may_differ_in=grid.comparison.across,
        code=inputs.code_of("compare"),
    script:
        "../workflow/scripts/compare.py"
