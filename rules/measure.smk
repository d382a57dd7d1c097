rule measure:
    input:
        unpack(cells.measure_files),
    output:
        measures=layout.measures(),
        evidence=layout.evidence(),
        parts=layout.evidence_parts(),
    log:
        layout.log("measure", "{dataset}", "{model}"),
    wildcard_constraints:
        dataset=cells.datasets_that_keep_observations(False),
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


# Of some families what was observed in the predictions is a table as well.
use rule measure as measure_and_keep with:
    output:
        measures=layout.measures(),
        evidence=layout.evidence(),
        parts=layout.evidence_parts(),
        observations=layout.observations(),
    wildcard_constraints:
        dataset=cells.datasets_that_keep_observations(True),


# How sure the measures are: no model is asked, and nothing else runs again, where its settings change.
rule statistics:
    input:
        unpack(cells.measure_files),
        measures=layout.measures(),
    output:
        statistics=layout.statistics(),
        variances=layout.variances(),
        clusters=layout.clusters(),
        by_template=layout.by_template(),
        without_clusters=layout.without_clusters(),
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
        statistics=inputs.of_cells(layout.statistics),
    output:
        parquet=layout.summary("parquet"),
        csv=layout.summary("csv"),
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
        code=inputs.code_of("summary"),
    script:
        "../workflow/scripts/summary.py"
