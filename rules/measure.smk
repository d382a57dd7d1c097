# Reads the predictions once and writes sums and evidence, which all later rules use.
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
        record=not_compared(cells.model_record),
    script:
        "../workflow/scripts/measure.py"


# Computes numbers and intervals from the sums, so a new level or new clusters read no predictions again.
rule statistics:
    input:
        sums=layout.sums(),
        # In the order of `params.cell["controls"]`.
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
