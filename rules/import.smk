# Models that have dumps of predictions in place of weights: a dump replaces expand and predict.


# Without a digest of its code, because the config has the digest of the file that it downloads.
rule fetch_predictions:
    output:
        layout.dump(),
    log:
        layout.log("fetch_predictions", "{dataset}", "{model}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        rerun_origin=cells.dump_origin,
    script:
        "../workflow/scripts/fetch_predictions.py"


rule import_predictions:
    input:
        dump=cells.dump,
        # They only show whether the dump is of this dataset, so newer lists change no number.
        subjects=ancient(cells.subject_lists),
    output:
        instances=layout.imported_tables() / "instances.parquet",
        predictions=layout.imported_tables() / "predictions.parquet",
    log:
        layout.log("import_predictions", "{dataset}", "{model}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        origin=cells.dump_origin,
        task=cells.task,
        choices=cells.choices,
        reader=cells.dump_reader,
        code=cells.dump_code,
    script:
        "../workflow/scripts/import_predictions.py"
