GRID_FIGURES = ["intensity_mu", "intensity_eta", "errors"]
DATASET_FIGURES = ["ranks", "heat_map", "associations", "bipartite"]


rule plot_grid:
    input:
        summary="<results>/summary.parquet",
    output:
        svg=[figure_in_report(f"grid/{name}", name, "Grid") for name in GRID_FIGURES],
        png=collect("<results>/plots/grid/{name}.png", name=GRID_FIGURES),
    log:
        "<logs>/plot_grid.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        titles=titles_of_datasets(),
        code=code_of("plot_grid"),
    script:
        "../workflow/scripts/plot_grid.py"


rule plot_dataset:
    input:
        measures=measures_of,
    output:
        svg=[figure_in_report(f"{{dataset}}/{name}", name, "Datasets") for name in DATASET_FIGURES],
        png=collect("<results>/plots/{{dataset}}/{name}.png", name=DATASET_FIGURES),
    log:
        "<logs>/plot_dataset/{dataset}.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        title=lambda wildcards: grid.datasets[wildcards.dataset].title,
        models=lambda wildcards: facts_of_models([wildcards.dataset]),
        code=code_of("plot_dataset"),
    script:
        "../workflow/scripts/plot_dataset.py"


rule plot_planted:
    input:
        planted="<results>/planted/planted.parquet",
        measures=measures_of,
        summary="<results>/summary.parquet",
    output:
        svg=figure_in_report("planted", "planted", "Grid"),
        png="<results>/plots/planted.png",
    log:
        "<logs>/plot_planted.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        strengths=strengths_of_models(),
        titles=titles_of_datasets(),
        code=code_of("plot_planted"),
    script:
        "../workflow/scripts/plot_planted.py"
