rule measure:
    input:
        unpack(files_of_cell),
    output:
        measures=layout.measures(),
        evidence=layout.evidence(),
        parts=layout.evidence_parts(),
    log:
        layout.log("measure", "{dataset}", "{model}"),
    wildcard_constraints:
        dataset=datasets_whose_observations_are(kept=False),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    resources:
        mem_mb=3000,
    params:
        cell=measured,
        record=record_of_cell,
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
        dataset=datasets_whose_observations_are(kept=True),


# How sure the measures are: no model is asked, and nothing else runs again, where its settings change.
rule statistics:
    input:
        unpack(files_of_cell),
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
        cell=assessed,
    script:
        "../workflow/scripts/statistics.py"


rule summary:
    input:
        measures=of_cells(layout.measures),
        statistics=of_cells(layout.statistics),
    output:
        parquet=layout.summary("parquet"),
        csv=layout.summary("csv"),
    log:
        layout.log("summary"),
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        models=facts_of_models(grid.run.datasets),
        headlines=headlines_of_grid(),
        marks=lambda _: marks_of_datasets(*grid.run.datasets),
        statistics=grid.statistics.model_dump(),
        controls=CONTROLS_OF_GRID,
        code=lambda _: code_of("summary"),
    script:
        "../workflow/scripts/summary.py"
