# What the rules share: the checked config, wildcards, and functions that give inputs and parameters.

import os
from pathlib import Path

from snakemake.exceptions import WorkflowError

from biasgrid.code_digest import code_digest
from biasgrid.config import load_word_lists, parse_config, read_config
from biasgrid.faults import UserError
from biasgrid.files import bring_to_present
from biasgrid.lock import check_records, lock_results

# Given on the command line as well: settings of single keys, such as --config word_lists=FOLDER.
config_name = " and --config".join(
    [os.path.relpath(workflow.configfiles[-1]), *([""] if workflow.config_settings.config else [])]
)

try:
    check_records()
    # Snakemake has read them, but says nothing of keys that stand twice.
    for file in workflow.configfiles:
        read_config(os.path.relpath(file))
    grid = parse_config(config, config_name)
    word_lists = load_word_lists(grid)
except UserError as error:
    raise WorkflowError(str(error)) from None


pathvars:
    results=grid.results,
    logs=f"{grid.results}/logs",


# On a cluster these run on the node that submits: they take seconds, and fetching needs the network. Inference and
# training are submitted.
localrules:
    all,
    expand,
    fetch_predictions,
    import_predictions,
    plant,
    fetch_base,
    fetch_model,
    fetch_tokenizer,
    measure,
    summary,
    plot_grid,
    plot_dataset,
    plot_planted,
    report,
    manifest,


wildcard_constraints:
    model="|".join(grid.models),
    dataset="|".join(grid.datasets),
    tokenizer="|".join(grid.tokenizers) or "none",
    variant="(qa|lm)(-[A-Za-z0-9]+)*",
    shard="[0-9]+",
    shards="[0-9]+",


def code_of(script):
    """A digest of a script and of all that it imports from the package."""
    return code_digest(Path(workflow.basedir, "workflow", "scripts", f"{script}.py"))


def tokenizer_record(wildcards):
    """The tokenizer that decides which subjects are kept; none where all are."""
    tokenizer = grid.filtering_tokenizer(wildcards.dataset, wildcards.variant)
    return f"<results>/tokenizers/{tokenizer}.json" if tokenizer else []


def is_imported(model):
    """Says whether a model has dumps of predictions in place of weights."""
    return bool(grid.models[model].predictions)


def origin_of_dump(wildcards):
    """Where a cell's dump is from, and its digest."""
    return grid.models[wildcards.model].predictions[wildcards.dataset].model_dump(include={"file", "url", "sha256"})


def dump_of_cell(wildcards):
    """A cell's dump, which is downloaded first where the config gives a url."""
    return origin_of_dump(wildcards)["file"] or f"<results>/dumps/{wildcards.dataset}/{wildcards.model}.json"


def subject_lists_of_cell(wildcards):
    """The subject lists that a cell's dump is compared with: none where one is missing, since dumps need none."""
    files = grid.files(wildcards.dataset, grid.models[wildcards.model].variant).subjects
    return [str(file) for file in files] if all(file.is_file() for file in files) else []


def scoring_of_cell(wildcards):
    """How a cell is scored."""
    return grid.scoring_of(wildcards.model, wildcards.dataset)


def instances_of_cell(wildcards):
    """The instances table that a model answers, or that its dump holds."""
    if is_imported(wildcards.model):
        return f"<results>/imported/{wildcards.dataset}/{wildcards.model}/instances.parquet"
    return f"<results>/instances/{wildcards.dataset}/{grid.models[wildcards.model].variant}.parquet"


def shards_of_cell(wildcards):
    """The predictions of a cell: those of its dump or of all shards."""
    if is_imported(wildcards.model):
        return [f"<results>/imported/{wildcards.dataset}/{wildcards.model}/predictions.parquet"]
    return files_of_shards("<results>/predictions/{cell}/{shard}.parquet", wildcards.dataset, wildcards.model)


def files_of_shards(pattern, dataset, model):
    """A file of each shard of a cell."""
    shards = grid.datasets[dataset].shards
    names = [f"{number}-of-{shards}" for number in range(1, shards + 1)]
    return collect(pattern, cell=f"{dataset}/{model}", shard=names)


def timings_of_grid():
    """How long the shards of all cells took."""
    cells = [(dataset, model) for model, dataset in grid.cells() if not is_imported(model)]
    return [file for cell in cells for file in files_of_shards("<results>/timings/{cell}/{shard}.json", *cell)]


def records_of_models():
    """The records of all selected models that have weights."""
    models = [name for name in grid.run.models if not is_imported(name)]
    return collect("<results>/models/{model}.json", model=models)


def measures_of(wildcards):
    """The measures of a dataset's cells, or of all cells of the grid."""
    datasets = [wildcards.dataset] if "dataset" in wildcards.keys() else grid.run.datasets
    return collect("<results>/measures/{dataset}/{model}.parquet", dataset=datasets, model=grid.run.models)


def checkpoint_files(registry, wildcard):
    """Gives an input function: the files of a checkpoint that lies in a folder, so that changed weights are noticed."""

    def files(wildcards):
        entry = registry[wildcards[wildcard]]
        if getattr(entry, "train", None):
            return f"<results>/trained/{wildcards[wildcard]}/model.safetensors"
        return checkpoint_files_in(entry.folder) if entry.folder else []

    return files


def checkpoint_files_in(folder):
    """The files of a folder, none where it is missing."""
    return sorted(str(path) for path in Path(folder).glob("*.*")) if Path(folder).is_dir() else []


def pronouns_of_cell(wildcards):
    """The pronouns that a model is asked for: those of the dataset, for masked language models."""
    model = grid.models[wildcards.model]
    return grid.datasets[wildcards.dataset].pronouns if model.task == "fill-mask" else {}


def source_of_model(wildcards):
    """Where a model's files are, and which of them are needed."""
    return grid.source_of_model(wildcards.model)


def source_of_base(wildcards):
    """Where the files are of the checkpoint that a model's training starts from."""
    return grid.source_of_base(wildcards.model)


def base_files(wildcards):
    """The files of the checkpoint that a model's training starts from, where it lies in a folder."""
    folder = grid.models[wildcards.model].train.base.folder
    return checkpoint_files_in(folder) if folder else []


def base_record(wildcards):
    """The record of the checkpoint that a model's training starts from, none for models without one."""
    train = grid.models[wildcards.model].train
    return f"<results>/bases/{wildcards.model}.json" if train and train.base else []


def source_of_tokenizer(wildcards):
    """Where a tokenizer's files are, and which of them are needed."""
    return grid.source_of_tokenizer(wildcards.tokenizer)


def planted_strengths():
    """The strengths of planted bias, by name."""
    return list(grid.planted.strengths) if grid.planted else []


def planted_models():
    """The selected models that are trained on a planted corpus, by name."""
    return [name for name in grid.run.models if grid.models[name].train and grid.models[name].train.planted]


def planted_instances():
    """Dataset and variant, as `dataset/variant`, of the instances that planted corpora are made of."""
    variants = dict.fromkeys(grid.models[name].variant for name in planted_models())
    return [f"{dataset}/{variant}" for dataset in grid.run.datasets for variant in variants]


def training_inputs(wildcards):
    """The data that a model is trained on, and the checkpoint that it starts from or the record of it."""
    model = grid.models[wildcards.model]
    if model.train.planted:
        ending = {"question-answering": "json", "fill-mask": "txt"}[model.task]
        return dict(
            data=f"<results>/planted/{model.train.planted}/{model.task}.{ending}",
            base="<results>/planted/base/model.safetensors",
        )
    return dict(data=model.train.data, base=base_record(wildcards))


def facts_of_models(datasets):
    """How plots and tables name the selected models, and how these are scored on some datasets."""
    return {
        name: dict(
            kind=grid.models[name].kind,
            label=grid.models[name].label,
            scoring={dataset: grid.scoring_of(name, dataset) for dataset in datasets},
        )
        for name in grid.run.models
    }


def facts_of_run():
    """What the report says of the run, besides what its tables say."""
    strengths = strengths_of_models()
    return dict(
        title=grid.title,
        config=config_name,
        scoring=grid.scoring,
        datasets=titles_of_datasets(),
        models={
            name: dict(grid.models[name].model_dump(include={"kind", "label", "task"}), strength=strengths.get(name))
            for name in grid.run.models
        },
    )


def titles_of_datasets():
    """How plots and tables name the selected datasets."""
    return {name: grid.datasets[name].title for name in grid.run.datasets}


def strengths_of_models():
    """The strength of each selected model that is trained on a planted corpus."""
    return {name: grid.models[name].train.planted for name in planted_models()}


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
    names = [f"grid/{name}" for name in GRID_FIGURES]
    names += [f"{dataset}/{name}" for dataset in grid.run.datasets for name in DATASET_FIGURES]
    names += ["planted"] if planted_models() else []
    return collect("<results>/plots/{name}.svg", name=names)


# Snakemake's own lock outlives a killed run (see profiles/default); the system drops this one with the process.
onstart:
    try:
        lock_results(grid.results)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    bring_to_present(Path(grid.results).rglob("*"))
