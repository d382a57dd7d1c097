# Predictions are read once: what numbers are made of, and the sentences behind them.
rule measure:
    input:
        unpack(cells.measure_files),
    output:
        sums=layout.sums(),
        evidence=layout.evidence(),
        parts=layout.evidence_parts(),
    log:
        layout.log("measure", "{dataset}", "{model}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=3000,
    params:
        cell=cells.measure_params,
        record=cells.model_record,
    script:
        "../workflow/scripts/measure.py"


# Numbers and how sure they are: no prediction is read, and nothing else runs again, where level or clusters change.
rule statistics:
    input:
        sums=layout.sums(),
        controls=cells.control_measures,
    output:
        measures=layout.measures(),
        intervals=layout.intervals(),
        design=layout.design(),
    log:
        layout.log("statistics", "{dataset}", "{model}"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=3000,
    params:
        cell=cells.statistics_params,
    script:
        "../workflow/scripts/statistics.py"


rule summary:
    input:
        measures=inputs.of_cells(layout.measures),
        intervals=inputs.of_cells(layout.intervals),
    output:
        parquet=layout.summary("parquet"),
        csv=layout.summary("csv"),
        verdicts=layout.verdicts,
        convergence=layout.convergence,
    log:
        layout.log("summary"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        models=pages.models(grid.run.datasets),
        headlines=pages.headlines(),
        marks=pages.summary_marks,
        statistics=grid.statistics.model_dump(),
        controls=pages.controls,
        claims=pages.claims(),
        groups=pages.group_numbers(),
        code=inputs.code_of("summary"),
    script:
        "../workflow/scripts/summary.py"
