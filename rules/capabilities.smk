# What a model can do is found out before it is asked, of back ends that cannot know it.


rule capabilities:
    input:
        model=layout.record("models", "{model}"),
    output:
        layout.capabilities(),
    log:
        layout.log("capabilities", "{model}"),
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
        kept=str(layout.kept_capabilities()),
        code=lambda wildcards: code_of("capabilities", back_end_of_cell(wildcards).look.split(":")[0]),
    script:
        "../workflow/scripts/capabilities.py"
