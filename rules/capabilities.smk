# Probes models whose back end cannot know in advance what they can do.


rule capabilities:
    input:
        model=layout.record("models", "{model}"),
    output:
        layout.capabilities(),
    log:
        layout.log("capabilities", "{model}"),
    conda:
        "../envs/biasgrid.yaml"
    threads: threads_of_job(grid.inference.device)
    resources:
        **models.mutexes(),
        gpu=models.gpus,
        mem_mb=6000,
        device=grid.inference.device,
        jobs_per_gpu=grid.inference.jobs_per_gpu,
    params:
        source=not_compared(models.source),
        task=models.task,
        precision=grid.inference.precision,
        probe=models.probe_reference,
        answers=models.probed_answers,
        kept=str(layout.kept_capabilities()),
        rerun_keys=models.deciding_keys,
        rerun_code=models.probe_code,
    script:
        "../workflow/scripts/capabilities.py"
