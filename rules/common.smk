# What the rules share: the checked config, wildcards, and functions that give inputs and parameters.

import atexit
import builtins
import gc
import os
import sys
from functools import cache
from pathlib import Path

import smart_open
from snakemake.exceptions import WorkflowError

from biasgrid.config import days_as_text, load_word_lists, parse_config, read_document
from biasgrid.base.faults import UserError
from biasgrid.base.files import bring_to_present, read_made
from biasgrid.jobs.code_digest import code_digest
from biasgrid.jobs.interruption import end_jobs_at_sigterm
from biasgrid.inference.models.prerequisites import keep_capabilities
from biasgrid.runs.checks import upgrade_notice
from biasgrid.training.kept_models import keep_earlier_models
from biasgrid.jobs.lock import check_records, lock_results
from biasgrid.base.addresses import report_proxies
from biasgrid.jobs.interruption import resource_factor
from biasgrid.jobs.fork_server import start_fork_server, forget_fork_server
from biasgrid.inference.models.registry import modules_of_entry
from biasgrid.base.references import stage
from biasgrid.runs.audit import refuse_empty
from biasgrid.runs.layout import Layout
from biasgrid.runs.checks import remember_configs
from biasgrid.base.addresses import address_digest, public_address

# Of several files the later ones add to the earlier ones. Given on the command line as well: settings of single keys,
# such as --config word_lists=FOLDER.
config_name = " and --config".join(
    [" + ".join(map(os.path.relpath, workflow.configfiles)), *([""] if workflow.config_settings.config else [])]
)

try:
    check_records()
    # Snakemake has read them, but says nothing of keys that stand twice, and no lines.
    documents = [read_document(os.path.relpath(file)) for file in workflow.configfiles if workflow.is_main_process]
    lines = documents[0].lines_but(workflow.config_settings.config) if len(documents) == 1 else {}
    config.update(days_as_text(config))
    grid = parse_config(config, config_name, lines)
    # Jobs that are submitted read the tables that were made of them.
    word_lists = load_word_lists(grid) if workflow.is_main_process else {}
except UserError as error:
    raise WorkflowError(str(error)) from None

layout = Layout(grid)
CELLS = grid.cells()
TURNS = sorted({turn for model, dataset in CELLS for turn in (grid.turn(model, dataset), grid.turn(model)) if turn})
for turn in TURNS:
    workflow.register_resource(turn, 1)

# Most of what a plan is made of stays until the end: looking for garbage as often as Python does takes a tenth of its time.
gc.freeze()
gc.set_threshold(100_000, 50, 50)
# Of each job Snakemake asks three times where its script lies, and is told by a class made for that one answer.
smart_open.parse_uri = cache(smart_open.parse_uri)

# Looked at here, because Snakemake takes whatever is there for done, and then starts nothing.
if workflow.is_main_process:
    try:
        refuse_empty(layout)
    except UserError as error:
        raise WorkflowError(str(error)) from None
else:
    forget_fork_server()


wildcard_constraints:
    model="|".join(grid.models),
    writer="|".join(grid.models),
    dataset="|".join(grid.datasets),
    variant="[A-Za-z0-9-]+",
    shard="[0-9]+",
    shards="[0-9]+",


@cache
def code_of(script, *references):
    """A digest of a script, of modules that it finds by their references, and of all that these import.

    Parameters are functions that ask for it, because a job that was submitted needs its own alone.
    """
    return code_digest(Path(workflow.basedir, "workflow", "scripts", f"{script}.py"), *references)


def code_of_family(script, *stages):
    """Digests of a script with modules of each dataset's family."""

    def digest_of_dataset(wildcards):
        return code_of(script, *(stage(family_of_dataset(wildcards), name) for name in stages))

    return digest_of_dataset


def family_of_dataset(wildcards):
    """The reference of the family of a dataset."""
    return grid.reference_of_family(wildcards.dataset)


def back_end_of_cell(wildcards):
    """Where the back end of a model is."""
    return grid.back_end_of(wildcards.model)


def task_of_model(wildcards):
    """The task of a model."""
    return grid.models[wildcards.model].task


def tokenizer_of_variant(wildcards):
    """The record of the tokenizer that decides which subjects are kept; none where all are."""
    tokenizer = grid.needed_variants[wildcards.dataset, wildcards.variant].tokenizer
    return layout.record("tokenizers", tokenizer) if tokenizer else []


# Snakemake does not compare the params that a function makes of `input`: lists that are moved or renamed run nothing
# again. What counts is their content, of which each rule has a digest.
def files_of_variant(wildcards, input):
    """The word lists of a dataset's variant."""
    return grid.files(wildcards.dataset, wildcards.variant)


def digest_of_lists(wildcards):
    """A digest of what stands in the word lists of a dataset's variant."""
    return digest_of_variant(wildcards.dataset, wildcards.variant)


@cache
def digest_of_variant(dataset, variant):
    """A digest of what stands in the word lists of a variant; none in jobs that were submitted, which read no lists."""
    return word_lists[dataset, variant].digest() if (dataset, variant) in word_lists else None


def lists_of_asked(wildcards, input):
    """A digest of the word lists of a cell's instances, which these are compared with; none of texts of models."""
    if wildcards.get("writer"):
        return None
    return digest_of_variant(wildcards.dataset, grid.question(wildcards.model, wildcards.dataset).variant)


def is_imported(model):
    """Says whether a model has dumps of predictions in place of weights."""
    return bool(grid.models[model].predictions)


def origin_of_dump(wildcards):
    """Where a cell's dump is from, and its digest; of an address what may be shown, and a digest of the whole."""
    dump = grid.models[wildcards.model].predictions[wildcards.dataset]
    address = dict(url=public_address(dump.url), address=address_digest(dump.url)) if dump.url else dict(url=None)
    return dict(file=dump.file, sha256=dump.sha256, **address)


def dump_of_cell(wildcards):
    """A cell's dump, which is downloaded first where the config gives a url."""
    return origin_of_dump(wildcards)["file"] or layout.dump(wildcards.dataset, wildcards.model)


def subject_lists_of_cell(wildcards):
    """The subject lists that a cell's dump is compared with: none where one is missing, since dumps need none."""
    files = grid.files(wildcards.dataset, grid.models[wildcards.model].variant).subjects
    return list(files) if all(file.is_file() for file in files) else []


def choices_of_cell(wildcards):
    """What decides the numbers of a cell's predictions beside model and precision."""
    return grid.choices(wildcards.model, wildcards.dataset, wildcards.get("writer"))


# Of cells there are thousands, and calling a function takes Snakemake a while: what one param can hold is one function.
def answered(wildcards):
    """How a cell is answered: what decides the numbers of its predictions beside model and precision."""
    back_end = back_end_of_cell(wildcards)
    question = grid.question(wildcards.model, wildcards.dataset, wildcards.get("writer"))
    return dict(
        back_end=back_end.path,
        task=task_of_model(wildcards),
        answer=question.answer,
        choices=choices_of_cell(wildcards),
        code=code_of("predict", *modules_of_entry(back_end, question.answer)),
    )


# What several rules ask of each cell is put together once.
file_of_cell = cache(lambda file, dataset, model: str(file(dataset, model)))
shards_of_cell = cache(layout.shards)
predictions_of_cell = cache(layout.predictions_of_cell)


def asked_of_cell(wildcards):
    """What a cell is answered by: instances, the model, and what was found out of what it can do."""
    return dict(
        instances=file_of_cell(layout.instances_of_cell, wildcards.dataset, wildcards.model),
        model=layout.record("models", wildcards.model),
        capabilities=capabilities_of_cell(wildcards),
    )


def files_of_cell(wildcards):
    """What a cell is measured by: instances, predictions, and what others say of its texts."""
    dataset, model = wildcards.dataset, wildcards.model
    return dict(
        instances=file_of_cell(layout.instances_of_cell, dataset, model),
        predictions=predictions_of_cell(dataset, model),
        scorers=files_of_scorers(wildcards),
    )


def of_cells(file, *datasets):
    """A file of each cell, of the whole grid or of some datasets."""
    return [file_of_cell(file, of, model) for model, of in CELLS if not datasets or of in datasets]


def comparisons_of_grid():
    """How the models of each dataset differ."""
    return [layout.comparisons(dataset) for dataset in dict.fromkeys(of for _, of in CELLS)]


def ranks_of_grid():
    """The ranks of the models of each dataset."""
    return [layout.ranks(dataset) for dataset in dict.fromkeys(of for _, of in CELLS)]


def timings_of_grid():
    """How long the shards of all cells took."""
    return [shard.timing for model, dataset in CELLS for shard in shards_of_cell(dataset, model)]


def records_of_models():
    """The records of all selected models that have weights, and of those that read their texts."""
    models = dict.fromkeys([*grid.run.models, *grid.readers])
    return [layout.record("models", model) for model in models if not is_imported(model)]


def tries_of_job(short_of, wildcards, attempt):
    """By how much the memory or time of a job that is submitted again is multiplied (see profiles/slurm)."""
    folder = getattr(workflow.executor_settings, "logdir", None)
    # Within a job, where Snakemake runs once more, nothing is submitted, and there is no such folder.
    logs = Path(folder).glob(f"rule_*/{'_'.join(wildcards)}/*.log") if folder else []
    return resource_factor(short_of, logs, attempt)


# Expressions in a profile know only what Python itself knows.
builtins.tries = tries_of_job


# Snakemake's own lock outlives a killed run (see profiles/default); the system drops this one with the process. Settings
# on the command line are like edits: what counts is the name of the config.
onstart:
    try:
        lock_results(grid.results)
        remember_configs(grid.results, workflow.configfiles)
        report_proxies(each for name in [*grid.run.models, *grid.readers] for each in grid.models[name].addresses)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    if notice := upgrade_notice(Path(grid.results)):
        print(notice, file=sys.stderr)
    layout.failed_manifest.unlink(missing_ok=True)
    keep_capabilities(layout.capabilities().parent, layout.kept_capabilities().parent)
    keep_earlier_models(layout.trained_model().parent, layout.kept_trained().parent, CHECKPOINT)
    # The SLURM plugin gives all jobs of a run one name.
    end_jobs_at_sigterm(getattr(workflow.scheduler._executor, "run_uuid", None))
    bring_to_present(Path(grid.results).rglob("*"))
    start_fork_server()


onsuccess:
    if same := (read_made(layout.manifest, "a manifest") if layout.manifest.exists() else {}).get("same_models"):
        print(same, file=sys.stderr)


# Where nothing is to be done Snakemake calls no handler, and a run of before may have failed.
@atexit.register
def forget_failed_run():
    """Removes the manifest of a failed run where this one has found all that the grid needs."""
    if workflow.is_main_process and workflow.scheduler is not None and not (workflow.dryrun or workflow.touch):
        if not len(workflow.dag) and "all" in {one.name for one in workflow.dag.targetrules}:
            layout.failed_manifest.unlink(missing_ok=True)


onerror:
    from biasgrid.runs.manifest import UnfinishedJob, write_failed_manifest

    failed = {one for job in workflow.scheduler.failed for one in (job.jobs if job.is_group() else [job])}
    unfinished = [
        UnfinishedJob(job.rule.name, str(job.log[0]), [str(file) for file in job.output], job in failed)
        for job in workflow.dag.needrun_jobs()
        if job.output
    ]
    try:
        write_failed_manifest(grid, config, config_name, unfinished)
    except UserError as error:
        raise WorkflowError(str(error)) from None
