# What the rules of plot.smk and report.smk share: figures, and what they say of models and datasets.


def titles_of_datasets():
    """How plots and tables name the selected datasets."""
    return {name: grid.datasets[name].title for name in grid.run.datasets}


def strengths_of_models():
    """The strength of each selected model that is trained on the planted bias of underspecified datasets."""
    return {name: grid.models[name].train.planted for name in planted_models()}


def strengths_of_cells():
    """For each dataset the strength of the selected classifiers that are trained on its planted group effects."""
    cells = planted_cells()
    return {
        dataset: {model: grid.models[model].train.planted for model, of in cells if of == dataset}
        for dataset in datasets_of(cells)
    }


def figure_in_report(path, name, category):
    """A figure's SVG file, with its caption, for Snakemake's own report."""
    labels = {"figure": name.replace("_", " ")} | ({"dataset": "{dataset}"} if "{dataset}" in path else {})
    return report(
        f"<results>/plots/{path}.svg",
        category=category,
        caption=f"../workflow/report/{name}.rst",
        labels=labels,
    )


def figures():
    """All figures of the grid, as SVG."""
    names = [f"grid/{name}" for name in GRID_FIGURES if grid.cells("underspecified")]
    names += [f"{dataset}/{name}" for dataset in datasets_of(grid.cells("underspecified")) for name in DATASET_FIGURES]
    names += [f"{dataset}/{name}" for dataset in datasets_of(grid.group_cells()) for name in GROUP_FIGURES]
    names += ["planted"] if planted_models() else []
    names += ["planted_groups"] if planted_cells() else []
    return collect("<results>/plots/{name}.svg", name=names)


def training_of(model):
    """The strength that a model was trained on and, of classifiers, in which cases; nothing for models without one."""
    train = grid.models[model].train
    return dict(strength=train.planted, planted_in=train.dataset) if train else {}


def facts_of_run():
    """What the report says of the run, besides what its tables say."""
    return dict(
        title=grid.title,
        config=config_name,
        scoring=grid.scoring,
        datasets=titles_of_datasets(),
        thresholds={name: grid.datasets[name].failure_threshold for name in datasets_of(grid.group_cells())},
        models={
            name: dict(grid.models[name].model_dump(include={"kind", "label", "task"}), **training_of(name))
            for name in grid.run.models
        },
    )
