report: "../workflow/report/workflow.rst"


rule report:
    input:
        summary=["<results>/summary.parquet"] if grid.cells("underspecified") else [],
        measures=measures_of,
        examples=files_of_cells("examples", grid.cells("underspecified")),
        group_measures=group_measures_of,
        failures=failures_of,
        case_examples=files_of_cells("case_examples", grid.group_cells()),
        instances=collect(
            "<results>/instances/{cell}.parquet", cell=["/".join(cell) for cell in grid.selected_variants()]
        ),
        records=records_of_models(),
        imported=[f"<results>/imported/{dataset}/{model}/predictions.parquet" for dataset, model in imported_cells()],
        planted=["<results>/planted/planted.parquet"] if planted_models() else [],
        planted_groups=planted_tables_of_cases(),
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
        measures=of_all_measures,
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
