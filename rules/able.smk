# What a model can do is found out before it is asked, of back ends that cannot know it.


rule able:
    input:
        model=layout.record("models", "{model}"),
    output:
        layout.able(),
    log:
        layout.log("able", "{model}"),
    conda:
        "../envs/biasgrid.yaml"
    threads: 1
    resources:
        **turns_of_job(),
        gpu=gpus_of_model,
        mem_mb=6000,
        device=grid.inference.device,
        jobs_per_gpu=grid.inference.jobs_per_gpu,
    params:
        source=source_of_asked,
        look=lambda wildcards: back_end_of_cell(wildcards).look,
        deciding=lambda wildcards: grid.models[wildcards.model].deciding_keys(),
        kept=str(layout.kept_able()),
        code=lambda wildcards: code_of("able", back_end_of_cell(wildcards).look.split(":")[0]),
    script:
        "../workflow/scripts/able.py"
