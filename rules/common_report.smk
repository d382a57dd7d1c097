# What the rules of plot.smk and report.smk share: figures, and what they say of models and datasets.

from biasgrid.plots import GRID
from biasgrid.run.figures import figures_of

FIGURES = {of: list(names) for of, names in figures_of(grid).items() if names}
"""The names of the figures of each dataset and of the whole grid."""


def facts_of_models(datasets):
    """How plots and tables name the selected models, and how these are scored on some datasets."""
    return {
        name: dict(
            kind=grid.models[name].kind,
            label=grid.models[name].label,
            scoring={dataset: grid.scoring_of(name, dataset) for dataset in datasets if dataset in grid.underspecified},
        )
        for name in grid.run.models
        if any(grid.fits(name, dataset) for dataset in datasets)
    }


def headlines_of_grid():
    """For each dataset the options of the row of each measure that stands in the summary."""
    return {
        dataset: {name: each.headline for name, each in grid.measures_of(dataset).items() if each.headline is not None}
        for dataset in grid.run.datasets
    }


def datasets_of_figures(of):
    """The datasets that the figures in a folder are about."""
    return grid.run.datasets if of == GRID else [of]


def code_of_figures(*folders):
    """A digest of what draws the figures of datasets or of the grid."""
    return code_of("plot", *modules_of_figures(*folders))


def modules_of_figures(*folders):
    """The modules that draw the figures of datasets or of the grid, and know their captions."""
    return sorted({f"plots.{name}" for of in folders for name in FIGURES[of]})


def folders_of_figures():
    """The folders of all figures."""
    return [layout.figures(of) for of in FIGURES]


def threshold_of(of):
    """The failure threshold of a dataset, none where groups are not compared."""
    return grid.datasets[of].failure_threshold if of != GRID and grid.compares_groups(of) else None


def strengths_of_cells():
    """For each dataset the strength that each selected model has learned in its planted corpora."""
    strengths = {}
    for model, dataset in planted_cells():
        strengths.setdefault(dataset, {})[model] = grid.models[model].train.planted
    return strengths


def declared_of(dataset):
    """What a dataset asks, and its measures, in words."""
    section = grid.datasets[dataset]
    declared = import_module(f"biasgrid.families.{section.family}.declared")
    return dict(title=section.title, about=declared.about(section), measures=grid.measures_of(dataset))


def facts_of_report():
    """What the report says of the run, besides what its tables say."""
    return dict(
        title=grid.title,
        config=config_name,
        strengths=strengths_of_cells(),
        datasets={name: declared_of(name) for name in grid.run.datasets},
        models={name: grid.models[name].model_dump(include={"kind", "label", "task"}) for name in grid.run.models},
    )
