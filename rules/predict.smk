shard = layout.shard()


rule predict:
    input:
        unpack(cells.predict_files),
    output:
        predictions=shard.predictions,
        timing=shard.timing,
    log:
        shard.log,
    conda:
        "../envs/biasgrid.yaml"
    threads: threads_of_job(grid.inference.device)
    # Settings that change speed but no number are resources, because Snakemake does not compare
    # resources with those of the last run.
    resources:
        **models.mutexes(),
        # The job leases GPUs only if the machine has some.
        gpu=models.gpus,
        group_slot=slot_in_group,
        mem_mb=6000,
        token_budget=grid.inference.token_budget,
        device=grid.inference.device,
        jobs_per_gpu=grid.inference.jobs_per_gpu,
        seconds_without_progress=round(60 * grid.inference.time_limit),
    params:
        answers=str(layout.answers()),
        cell=cells.predict_params,
        source=not_compared(models.source),
        # The script refuses instances of other lists; new instances run it again by themselves.
        lists_digest=not_compared(cells.instances_lists_digest),
        precision=grid.inference.precision,
    script:
        "../workflow/scripts/predict.py"
