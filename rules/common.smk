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
    expand_cases,
    fetch_predictions,
    import_predictions,
    plant,
    plant_cases,
    fetch_base,
    fetch_model,
    fetch_tokenizer,
    measure,
    measure_groups,
    summary,
    group_summary,
    plot_grid,
    plot_dataset,
    plot_groups,
    plot_planted,
    plot_planted_groups,
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


# Snakemake does not compare the params that a function makes of `input`: lists that are moved or renamed run nothing
# again. What counts is their content, of which each rule has a digest.
def files_of_lists(wildcards, input):
    """The word lists of an underspecified dataset's variant."""
    return grid.files(wildcards.dataset, wildcards.variant)


def files_of_pack(wildcards, input):
    """The files of a counterfactual dataset."""
    return grid.pack_files(wildcards.dataset)


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


def choices_of_cell(wildcards):
    """What decides the numbers of a cell's predictions beside model and precision."""
    return grid.choices_of(wildcards.model, wildcards.dataset)


def what_predictions_say(wildcards):
    """What the predictions of a cell must say of themselves."""
    return grid.what_predictions_say(wildcards.model, wildcards.dataset)


def instances_of_cell(wildcards):
    """The instances table that a model answers, or that its dump holds."""
    if is_imported(wildcards.model):
        return f"<results>/imported/{wildcards.dataset}/{wildcards.model}/instances.parquet"
    return f"<results>/instances/{wildcards.dataset}/{grid.variant_of(wildcards.model, wildcards.dataset)}.parquet"


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


def datasets_of(cells):
    """The datasets of some cells."""
    return list(dict.fromkeys(dataset for _, dataset in cells))


def timings_of_grid():
    """How long the shards of all cells took."""
    cells = [(dataset, model) for model, dataset in grid.cells() if not is_imported(model)]
    return [file for cell in cells for file in files_of_shards("<results>/timings/{cell}/{shard}.json", *cell)]


def imported_cells():
    """Dataset and model of the cells that have dumps of predictions in place of weights."""
    return [(dataset, model) for model, dataset in grid.cells() if is_imported(model)]


def records_of_models():
    """The records of all selected models that have weights."""
    models = [name for name in grid.run.models if not is_imported(name)]
    return collect("<results>/models/{model}.json", model=models)


def files_of_cells(folder, cells, wildcards=None):
    """A table of each of some cells: of all of them, or of those of the dataset that the wildcards name."""
    dataset = wildcards.get("dataset") if wildcards else None
    return [f"<results>/{folder}/{of}/{model}.parquet" for model, of in cells if dataset in (None, of)]


def measures_of(wildcards):
    """The measures of a dataset's cells, or of all cells of the underspecified family."""
    return files_of_cells("measures", grid.cells("underspecified"), wildcards)


def group_measures_of(wildcards):
    """The group measures of a dataset's cells, or of all cells whose groups are compared."""
    return files_of_cells("group_measures", grid.group_cells(), wildcards)


def failures_of(wildcards):
    """How often the groups of a dataset's cells are treated unlike, or those of all cells whose groups are compared."""
    return files_of_cells("failures", grid.group_cells(), wildcards)


def of_all_measures(wildcards):
    """The measures of all cells."""
    return measures_of(wildcards) + group_measures_of(wildcards)


def summaries(ending):
    """The tables of all cells, as far as there are cells of their sort."""
    names = {"summary": grid.cells("underspecified"), "group_summary": grid.group_cells()}
    return [f"<results>/{name}.{ending}" for name, cells in names.items() if cells]


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


# Snakemake's own lock outlives a killed run (see profiles/default); the system drops this one with the process.
onstart:
    try:
        lock_results(grid.results)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    bring_to_present(Path(grid.results).rglob("*"))
