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
    # What changes speed but not numbers lies in resources, whose change runs nothing again.
    resources:
        **models.mutexes(),
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
        source=models.source,
        lists=cells.instances_lists_digest,
        precision=grid.inference.precision,
        device_of_auto=cells.deciding_device,
    script:
        "../workflow/scripts/predict.py"
