report: "../workflow/report/workflow.rst"


rule report:
    input:
        summary=layout.summary("parquet"),
        verdicts=layout.verdicts,
        measures=inputs.of_cells(layout.measures),
        evidence=inputs.of_cells(layout.evidence),
        parts=inputs.of_cells(layout.evidence_parts),
        comparisons=inputs.of_datasets(layout.comparisons),
        ranks=inputs.of_datasets(layout.ranks),
        instances=inputs.instances_of_variants(),
        records=inputs.records(),
        imported=inputs.imported_predictions(),
        synthetic=inputs.synthetic_tables(),
        figures=pages.figure_folders(),
        # The first one comes with the workflow, whatever the working folder is.
        references=[
            os.path.relpath(source / "reference" / "unqover_published.json"),
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
        run_settings=pages.report_params,
        figures=pages.references_by_folder(),
        rerun_code=pages.report_code,
    script:
        "../workflow/scripts/report.py"


# Runs last, because it has the digests of all outputs.
rule manifest:
    input:
        # It counts their rows. As inputs they are made again if a failed job has deleted them.
        instances=inputs.of_cells(layout.instances_of_cell),
        predictions=inputs.predictions_of_cells(),
        measures=inputs.of_cells(layout.measures),
        comparisons=inputs.of_datasets(layout.comparisons),
        records=inputs.records(),
        timings=inputs.timings(),
        summary=layout.summary("csv"),
        report=layout.report,
        figures=pages.figure_folders(),
    output:
        layout.manifest,
    log:
        layout.log("manifest"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        config=pages.config_params,
        rerun_title=pages.title,
        rerun_code=inputs.code_of("manifest"),
    script:
        "../workflow/scripts/manifest.py"
