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
        # The first lies beside the rules, whatever the working folder is.
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
        facts=pages.report_facts,
        figures=list(pages.figures.values()),
        code=pages.report_code,
    script:
        "../workflow/scripts/report.py"


# Last of all, because it has the digests of all outputs.
rule manifest:
    input:
        # It counts the rows of these; what a failed job has taken away of them is made again.
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
        config=pages.manifest_config,
        folders=pages.manifest_folders,
        title=pages.manifest_title,
        code=inputs.code_of("manifest"),
    script:
        "../workflow/scripts/manifest.py"
