# What the rules of plot.smk and report.smk share: figures, and what they say of models and datasets.

from biasgrid.config import texts_of_templates
from biasgrid.report.figures.registry import GRID
from biasgrid.runs.layout import controls_of_config, datasets_of_figure, figures_of
from biasgrid.tables.metric import CONTROLS, NO_CONTROLS, MetricDefinitions

FIGURES = {of: figures for of, figures in figures_of(grid).items() if figures}
"""The references of the figures of each dataset and of the whole grid, by their names."""
CONTROLS_OF_GRID = controls_of_config(grid)
"""Which datasets and models are negative controls."""


def facts_of_models(datasets):
    """How plots and tables name the selected models, and how these are scored on some datasets."""
    return {
        name: dict(
            kind=grid.models[name].kind,
            label=grid.models[name].label,
            scoring=scorings_of_model(name, datasets),
        )
        for name in grid.run.models
        if any(grid.fits(name, dataset) for dataset in datasets)
    }


def scorings_of_model(model, datasets):
    """How a model is scored on those of some datasets where one can choose."""
    asked = {dataset: grid.question(model, dataset) for dataset in datasets if grid.fits(model, dataset)}
    return {dataset: each.settings["scoring"] for dataset, each in asked.items() if "scoring" in each.settings}


def headlines_of_grid():
    """For each dataset the options of the row of each measure that stands in the summary."""
    return {dataset: MetricDefinitions.of(grid.measures_of(dataset)).headlines for dataset in grid.run.datasets}


def marks_of_datasets(*datasets):
    """For each dataset the marks of those of its measures that have marks."""
    declared = {dataset: grid.measures_of(dataset) for dataset in datasets}
    marks = {of: {name: one.marks for name, one in measures.items() if one.marks} for of, measures in declared.items()}
    return {of: known for of, known in marks.items() if known}


def sections_of_datasets(*datasets):
    """What datasets are called together whose marks are judged together."""
    sections = {dataset: grid.family(dataset).section(grid, dataset) for dataset in datasets}
    return {dataset: section for dataset, section in sections.items() if section}


def datasets_of_figures(of):
    """The datasets that the figures in a folder are about."""
    return grid.run.datasets if of == GRID else [of]


def datasets_of_each_figure(of):
    """The datasets that each of the figures in a folder is about."""
    return {name: datasets_of_figure(grid, name) if of == GRID else [of] for name in FIGURES[of]}


def code_of_figures(*folders):
    """A digest of what draws the figures of datasets or of the grid."""
    return code_of("plot", *modules_of_figures(*folders))


def modules_of_figures(*folders):
    """The modules that draw the figures of datasets or of the grid, and know their captions."""
    return sorted({reference for of in folders for reference in FIGURES[of].values()})


def folders_of_figures():
    """The folders of all figures."""
    return [layout.figures(of) for of in FIGURES]


def texts_of_figures(of):
    """What each template of a dataset says; of figures of all datasets none, which name no templates."""
    return [] if of == GRID else texts_of_templates(grid, word_lists, of)


def threshold_of(of):
    """The failure threshold of a dataset, none where its family has no such key."""
    return getattr(grid.datasets.get(of), "failure_threshold", None)


def strengths_of_cells():
    """For each dataset the strength that each selected model has learned in its synthetic corpora."""
    strengths = {}
    for model, dataset in synthetic_cells():
        strengths.setdefault(dataset, {})[model] = grid.models[model].train.synthetic
    return strengths


def declared_of(dataset):
    """What a dataset asks, and its measures, in words."""
    section, family = grid.datasets[dataset], grid.family(dataset)
    return dict(
        title=section.title,
        about=family.about(grid, dataset),
        measures={**grid.measures_of(dataset), **CONTROLS},
        family=section.family,
        reference=grid.reference_of_family(dataset),
        sensitive=section.sensitive,
        templates=texts_of_templates(grid, word_lists, dataset),
    )


def modules_of_payloads():
    """The modules that tell what the pages of cells show, of families that have one."""
    references = {stage(grid.reference_of_family(dataset), "payload") for dataset in grid.run.datasets}
    return sorted(filter(exists, references))


def facts_of_report():
    """What the report says of the run, besides what its tables say."""
    return dict(
        title=grid.title,
        config=config_name,
        strengths=strengths_of_cells(),
        level=grid.statistics.level,
        results=grid.results,
        megabytes=grid.report.megabytes,
        controls=CONTROLS_OF_GRID,
        datasets={name: declared_of(name) for name in grid.run.datasets},
        models={name: grid.models[name].model_dump(include={"kind", "label", "task"}) for name in grid.run.models},
    )
