# Models that have dumps of predictions in place of weights: a dump stands in for expand and predict.


# It has no digest of its code: the digest of the dump says all that could come out.
rule fetch_predictions:
    output:
        "<results>/dumps/{dataset}/{model}.json",
    log:
        "<logs>/fetch_predictions/{dataset}/{model}.log",
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
        instances="<results>/imported/{dataset}/{model}/instances.parquet",
        predictions="<results>/imported/{dataset}/{model}/predictions.parquet",
    log:
        "<logs>/import_predictions/{dataset}/{model}.log",
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        origin=origin_of_dump,
        task=lambda wildcards: grid.models[wildcards.model].task,
        scoring=scoring_of_cell,
        code=code_of("import_predictions"),
    script:
        "../workflow/scripts/import_predictions.py"
