rule plot:
    input:
        measures=lambda wildcards: of_cells(layout.measures, *datasets_of_figures(wildcards.of)),
        planted=lambda wildcards: planted_tables() if wildcards.of == GRID else [],
    output:
        # A folder, because which figures there are hangs on the dataset.
        report(
            directory(layout.figures()),
            patterns=["{figure}.svg"],
            category="Figures",
            caption="../workflow/report/figure.rst",
            labels={"of": "{of}", "figure": "{figure}"},
        ),
    log:
        layout.log("plot", "{of}"),
    wildcard_constraints:
        of="|".join(FIGURES),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        figures=lambda wildcards: FIGURES[wildcards.of],
        titles=lambda wildcards: {name: grid.datasets[name].title for name in datasets_of_figures(wildcards.of)},
        models=lambda wildcards: facts_of_models(datasets_of_figures(wildcards.of)),
        threshold=lambda wildcards: threshold_of(wildcards.of),
        strengths=lambda wildcards: strengths_of_cells() if wildcards.of == GRID else {},
        marks=lambda wildcards: marks_of_datasets(*datasets_of_figures(wildcards.of)),
        sections=lambda wildcards: sections_of_datasets(*datasets_of_figures(wildcards.of)),
        code=lambda wildcards: code_of_figures(wildcards.of),
    script:
        "../workflow/scripts/plot.py"
