report: "../workflow/report/workflow.rst"


rule report:
    input:
        summary=layout.summary("parquet"),
        measures=of_cells(layout.measures),
        evidence=of_cells(layout.evidence),
        parts=of_cells(layout.evidence_parts),
        statistics=of_cells(layout.statistics),
        comparisons=comparisons_of_grid(),
        ranks=ranks_of_grid(),
        instances=[layout.instances(*variant) for variant in grid.selected_variants],
        records=records_of_models(),
        imported=[
            layout.imported_tables(of, model) / "predictions.parquet" for model, of in CELLS if is_imported(model)
        ],
        synthetic=synthetic_tables(),
        figures=folders_of_figures(),
        # The first lies beside the Snakefile, whatever the working folder is.
        references=[
            os.path.relpath(Path(workflow.basedir, "reference", "unqover_published.json")),
            *grid.report.references,
        ],
    output:
        layout.report,
    log:
        layout.log("report"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        # Not at the reading of rules: jobs read them too, and what templates say is read from files.
        facts=lambda _: facts_of_report(),
        figures=list(FIGURES.values()),
        code=lambda _: code_of("report", *modules_of_figures(*FIGURES), *modules_of_payloads()),
    script:
        "../workflow/scripts/report.py"


# Last of all, because it has the digests of all outputs.
rule manifest:
    input:
        # It counts the rows of these; what a failed job has taken away of them is made again.
        instances=[file_of_cell(layout.instances_of_cell, of, model) for model, of in CELLS],
        predictions=[file for model, of in CELLS for file in predictions_of_cell(of, model)],
        measures=of_cells(layout.measures),
        comparisons=comparisons_of_grid(),
        records=records_of_models(),
        timings=timings_of_grid(),
        summary=layout.summary("csv"),
        report=layout.report,
        figures=folders_of_figures(),
    output:
        layout.manifest,
    log:
        layout.log("manifest"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        # By a function, because Snakemake fills {wildcards} into texts.
        config=lambda _: config_name,
        title=lambda _: grid.title,
        code=lambda _: code_of("manifest"),
    script:
        "../workflow/scripts/manifest.py"
