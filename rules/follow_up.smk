# What a model has written is read by others, which score it: their instances are its distinct texts.
follow_up = layout.follow_up()


rule follow_up:
    input:
        predictions_of_writer,
    output:
        layout.texts(),
    log:
        layout.log("follow_up", "{dataset}", "{writer}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=2000,
    params:
        code=lambda _: code_of("follow_up"),
    script:
        "../workflow/scripts/follow_up.py"


use rule predict as predict_follow_up with:
    input:
        instances=layout.texts(),
        model=layout.record("models", "{model}"),
        able=[],
    output:
        predictions=follow_up.predictions,
        timing=follow_up.timing,
    log:
        follow_up.log,
    params:
        answers=str(layout.answers_of_follow_up()),
        cell=answered,
        source=source_of_asked,
        precision=grid.inference.precision,
        device_of_auto=grid.inference.device if grid.inference.precision == "auto" else None,
