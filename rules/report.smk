report: "../workflow/report/workflow.rst"


rule report:
    input:
        summary="<results>/summary.parquet",
        measures=measures_of,
        examples=collect(
            "<results>/examples/{dataset}/{model}.parquet", dataset=grid.run.datasets, model=grid.run.models
        ),
        instances=collect(
            "<results>/instances/{cell}.parquet", cell=["/".join(cell) for cell in grid.selected_variants()]
        ),
        records=records_of_models(),
        imported=collect(
            "<results>/imported/{dataset}/{model}/predictions.parquet",
            dataset=grid.run.datasets,
            model=[name for name in grid.run.models if is_imported(name)],
        ),
        planted="<results>/planted/planted.parquet" if planted_models() else [],
        figures=figures(),
        # Beside the Snakefile, whatever the working folder is.
        reference=os.path.relpath(Path(workflow.basedir, "reference", "unqover_published.json")),
    output:
        "<results>/report/index.html",
    log:
        "<logs>/report.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        facts=facts_of_run(),
        code=code_of("report"),
    script:
        "../workflow/scripts/report.py"


rule manifest:
    input:
        measures=measures_of,
        records=records_of_models(),
        timings=timings_of_grid(),
    output:
        "<results>/manifest.json",
    log:
        "<logs>/manifest.log",
    conda:
        "../envs/biasgrid.yaml"
    params:
        config=config_name,
        title=grid.title,
        code=code_of("manifest"),
    script:
        "../workflow/scripts/manifest.py"
