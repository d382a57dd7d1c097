# Models that have dumps of predictions in place of weights: a dump stands in for expand and predict.


# It has no digest of its code: the digest of the dump says all that could come out.
rule fetch_predictions:
    output:
        layout.dump(),
    log:
        layout.log("fetch_predictions", "{dataset}", "{model}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        origin=cells.dump_origin,
    script:
        "../workflow/scripts/fetch_predictions.py"


rule import_predictions:
    input:
        dump=cells.dump,
        # Only to tell whether the dump is of this dataset: other lists change no number.
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
        settings=cells.choices,
        reader=cells.dump_reader,
        code=cells.dump_code,
    script:
        "../workflow/scripts/import_predictions.py"
