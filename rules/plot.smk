rule plot:
    input:
        measures=lambda wildcards: of_cells(layout.measures, *datasets_of_figures(wildcards.of)),
        synthetic=lambda wildcards: synthetic_tables() if wildcards.of == GRID else [],
        statistics=lambda wildcards: of_cells(layout.statistics, *datasets_of_figures(wildcards.of)),
        variances=lambda wildcards: of_cells(layout.variances, *datasets_of_figures(wildcards.of)),
        clusters=lambda wildcards: of_cells(layout.clusters, *datasets_of_figures(wildcards.of)),
        ranks=lambda wildcards: ranks_of_grid() if wildcards.of == GRID else [],
        # Single associations by template are in no figure of all datasets.
        by_template=lambda wildcards: [] if wildcards.of == GRID else of_cells(layout.by_template, wildcards.of),
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
        datasets=lambda wildcards: datasets_of_each_figure(wildcards.of),
        titles=lambda wildcards: {name: grid.datasets[name].title for name in datasets_of_figures(wildcards.of)},
        models=lambda wildcards: facts_of_models(datasets_of_figures(wildcards.of)),
        threshold=lambda wildcards: threshold_of(wildcards.of),
        templates=lambda wildcards: texts_of_figures(wildcards.of),
        level=grid.statistics.level,
        controls=lambda wildcards: CONTROLS_OF_GRID if wildcards.of == GRID else NO_CONTROLS,
        strengths=lambda wildcards: strengths_of_cells() if wildcards.of == GRID else {},
        marks=lambda wildcards: marks_of_datasets(*datasets_of_figures(wildcards.of)),
        sections=lambda wildcards: sections_of_datasets(*datasets_of_figures(wildcards.of)),
        code=lambda wildcards: code_of_figures(wildcards.of),
    script:
        "../workflow/scripts/plot.py"
