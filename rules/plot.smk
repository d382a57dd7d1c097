GRID_FIGURES = ["intensity_mu", "intensity_eta", "errors"]
DATASET_FIGURES = ["ranks", "heat_map", "associations", "bipartite"]
GROUP_FIGURES = ["group_scores", "group_pairs", "failure_curve", "group_templates"]


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


rule plot_groups:
    input:
        measures=group_measures_of,
        failures=failures_of,
    output:
        svg=[figure_in_report(f"{{dataset}}/{name}", name, "Groups") for name in GROUP_FIGURES],
        png=collect("<results>/plots/{{dataset}}/{name}.png", name=GROUP_FIGURES),
    log:
        "<logs>/plot_groups/{dataset}.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        title=lambda wildcards: grid.datasets[wildcards.dataset].title,
        threshold=lambda wildcards: grid.datasets[wildcards.dataset].failure_threshold,
        models=lambda wildcards: facts_of_models([wildcards.dataset]),
        code=code_of("plot_groups"),
    script:
        "../workflow/scripts/plot_groups.py"


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


rule plot_planted_groups:
    input:
        planted=planted_tables_of_cases(),
        measures=files_of_cells("group_measures", planted_cells()),
    output:
        svg=figure_in_report("planted_groups", "planted_groups", "Grid"),
        png="<results>/plots/planted_groups.png",
    log:
        "<logs>/plot_planted_groups.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        strengths=strengths_of_cells(),
        titles=titles_of_datasets(),
        code=code_of("plot_planted_groups"),
    script:
        "../workflow/scripts/plot_planted_groups.py"
