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
        **models.mutexes(),
        gpu=models.gpus,
        mem_mb=6000,
        device=grid.inference.device,
        jobs_per_gpu=grid.inference.jobs_per_gpu,
    params:
        source=models.source,
        look=models.look,
        deciding=models.deciding_keys,
        kept=str(layout.kept_capabilities()),
        code=models.look_code,
    script:
        "../workflow/scripts/capabilities.py"
