rule plot:
    input:
        # All but measures and synthetic are named as in `CONTEXT_TABLES`, by which the script reads
        # them. Empty where the figures of a folder do not use the table.
        measures=pages.figure_files(layout.measures),
        synthetic=pages.figure_effects,
        intervals=pages.figure_files(layout.intervals),
        design=pages.figure_files(layout.design),
        ranks=pages.figure_ranks,
        convergence=pages.figure_convergence,
        parts=pages.figure_parts,
    output:
        # A folder, because the set of figures depends on the dataset.
        report(
            directory(layout.figures()),
            patterns=["{figure}.svg"],
            category="Figures",
            caption="../workflow/report/figure.rst",
            labels={"of": "{of}", "figure": "{figure}"},
        ),
    log:
        layout.log("plot", "{of}"),
    wildcard_constraints:
        of="|".join(pages.figures) or "grid",
    localrule: True
    conda:
        "../envs/biasgrid.yaml"
    params:
        figures=pages.figure_references,
        datasets=pages.figure_datasets,
        titles=pages.figure_titles,
        models=pages.figure_models,
        threshold=pages.figure_threshold,
        templates=pages.figure_templates,
        level=grid.statistics.level,
        controls=pages.figure_controls,
        strengths=pages.figure_strengths,
        marks=pages.figure_marks,
        sections=pages.figure_sections,
        font=grid.report.font,
        scale=grid.report.figure_scale,
        rerun_code=pages.figure_code,
    script:
        "../workflow/scripts/plot.py"
