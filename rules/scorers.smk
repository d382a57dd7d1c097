# Scorers rate the texts that another model wrote; their instances are its distinct texts.
scorer = layout.scorer()


rule scorer_texts:
    input:
        cells.writer_predictions,
    output:
        layout.texts(),
    log:
        layout.log("scorer_texts", "{dataset}", "{writer}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        code=inputs.code_of("scorer_texts"),
    script:
        "../workflow/scripts/scorer_texts.py"


use rule predict as predict_scorer with:
    input:
        instances=layout.texts(),
        model=layout.record("models", "{model}"),
        capabilities=[],
    output:
        predictions=scorer.predictions,
        timing=scorer.timing,
    log:
        scorer.log,
    # All other params are those of `predict`: Snakemake merges params by name, while inputs, outputs and log replace them.
    params:
        answers=str(layout.scorer_answers()),
