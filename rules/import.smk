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
        origin=origin_of_dump,
    script:
        "../workflow/scripts/fetch_predictions.py"


rule import_predictions:
    input:
        dump=dump_of_cell,
        # Only to tell whether the dump is of this dataset: other lists change no number.
        subjects=ancient(subject_lists_of_cell),
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
        origin=origin_of_dump,
        task=task_of_model,
        settings=choices_of_cell,
        reader=lambda wildcards: back_end_of_cell(wildcards).path,
        code=lambda wildcards: code_of("import_predictions", back_end_of_cell(wildcards).path.split(":")[0]),
    script:
        "../workflow/scripts/import_predictions.py"
