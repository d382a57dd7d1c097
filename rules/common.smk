# What the rules share: the checked config, wildcards, what is done around a run, and the objects of `biasgrid.runs.inputs`,
# whose methods give inputs, params and resources of rules.

import atexit
import builtins
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from biasgrid.base.addresses import report_proxies
from biasgrid.base.faults import UserError
from biasgrid.base.files import bring_to_present, read_made
from biasgrid.config import days_as_text, load_word_lists, parse_config, read_document
from biasgrid.config.checks import models_left_out
from biasgrid.config.paths import ConfigFolders, source_folder
from biasgrid.jobs.fork_server import forget_fork_server, start_fork_server
from biasgrid.jobs.gpu import threads_of_job
from biasgrid.jobs.interruption import end_jobs_at_signals, logs_of_job, resource_factor
from biasgrid.jobs.lock import check_records, lock_results
from biasgrid.jobs.run_progress import (
    RUN_FAILED,
    STOPPED,
    end_progress_lines,
    is_for_programs,
    start_progress_lines,
)
from biasgrid.jobs.tuning import tune_planning
from biasgrid.runs.audit import refuse_empty
from biasgrid.runs.checks import (
    check_servers,
    refuse_unknown_subjects,
    remember_configs,
    warnings_of,
)
from biasgrid.runs.inputs.as_module import join_handlers, name_of_config, refuse_moved_paths
from biasgrid.runs.inputs.cells import CellInputs
from biasgrid.runs.inputs.grid import GridInputs
from biasgrid.runs.inputs.models import CHECKPOINT_FILES, ModelInputs
from biasgrid.runs.inputs.pages import PageInputs
from biasgrid.runs.layout import RECORDS, Layout

config_name = name_of_config(
    workflow.configfiles, workflow.config_settings.config, workflow.main_snakefile
)
source = source_folder(workflow.current_basedir.get_path_or_uri(secret_free=True))

try:
    check_records()
    refuse_moved_paths(workflow.modifier.path_modifier.replace_prefix("results"), "results")
    # Snakemake has read them, but says nothing of keys that stand twice, and no lines.
    documents = [
        read_document(os.path.relpath(file))
        for file in workflow.configfiles
        if workflow.is_main_process
    ]
    # A module may be given a part of the file.
    is_whole = len(documents) == 1 and config is workflow.modifier_stack[0].globals["config"]
    lines = documents[0].lines_but(workflow.config_settings.config) if is_whole else {}
    config.update(days_as_text(config))
    folders = ConfigFolders.of(workflow.configfiles, workflow.config_settings.config, source)
    grid = parse_config(config, config_name, lines, folders)
    # Jobs that are submitted read the tables that were made of them.
    word_lists = load_word_lists(grid) if workflow.is_main_process else {}
except UserError as error:
    raise WorkflowError(str(error)) from None

layout = Layout(grid)
inputs = GridInputs(grid, layout, word_lists, source)
cells = CellInputs(inputs)
models = ModelInputs(inputs)
pages = PageInputs(inputs, config_name)
for mutex in inputs.mutexes:
    workflow.register_resource(mutex, 1)
tune_planning()

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


def tries_of_job(short_of, wildcards, attempt):
    """By how much the memory or time of a job that is submitted again is multiplied (see profiles/slurm)."""
    folder = getattr(
        workflow.executor_settings, "logdir", None
    )  # none within a job, where nothing is submitted
    return resource_factor(
        short_of, logs_of_job(Path(folder), dict(wildcards.items())) if folder else [], attempt
    )


def slot_in_group(wildcards):
    """How much a shard takes of the only slot that the SLURM profile gives to shards it submits together: they run in turn."""
    # Snakemake hands --keep-going to no job, and has no scheduler yet where it reads this file.
    if workflow.remote_exec and workflow.scheduler:
        workflow.scheduler.keepgoing = True
    return 1


# In a module rules may have other names, as by `use rule * from biasgrid as bias_*`, or be left out.
ASKING_RULES = [
    workflow.modifier.avail_rulename(name) for name in ("capabilities", "predict", "predict_scorer")
]
WHOLE_GRID = workflow.modifier.avail_rulename("all")


def count_jobs():
    """Returns how many jobs are done, how many there are, and the rules of those that run."""
    running = [
        one
        for job in list(workflow.scheduler.running)
        for one in (job.jobs if job.is_group() else [job])
    ]
    return workflow.scheduler.finished_jobs, len(workflow.dag), {job.rule.name for job in running}


def count_rows():
    """Returns how many rows are answered; imported here, because most jobs read the rules and need no more."""
    from biasgrid.runs.status import answered_rows

    return answered_rows(grid)


def makes_the_grid():
    """Returns whether a run makes all of the grid, not a part alone."""
    settings = workflow.dag_settings
    is_whole = not (settings.until or settings.omit_from or settings.batch)
    return is_whole and WHOLE_GRID in {one.name for one in workflow.dag.targetrules}


def command_to_go_on():
    """Returns the command that goes on with this run: the one that was typed, where one was."""
    from biasgrid.runs.audit import command

    return (
        shlex.join(["snakemake", *sys.argv[1:]])
        if "snakemake" in sys.argv[0]
        else command(config_name)
    )


builtins.tries = tries_of_job  # because expressions in a profile know only what Python itself knows


# Snakemake's own lock outlives a killed run (see profiles/default); the system drops this one with the process. Settings
# on the command line are like edits: what counts is the name of the config.
onstart:
    try:
        lock_results(grid.results)
        remember_configs(grid.results, workflow.configfiles)
        used = [grid.models[name] for name in [*grid.run.models, *grid.readers]]
        report_proxies(address for model in used for address in model.source.addresses)
        for note in models_left_out(grid):
            print(note, file=sys.stderr)
        asking = [job for job in workflow.dag.needrun_jobs() if job.rule.name in ASKING_RULES]
        for problem in check_servers(grid, layout, [job.wildcards.model for job in asking]):
            print(problem, file=sys.stderr)
        if asking:
            refuse_unknown_subjects(grid, word_lists)
            for warning in warnings_of(grid, word_lists):
                print(warning, file=sys.stderr)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    layout.failed_manifest.unlink(missing_ok=True)
    # Imported here, because it imports polars, which neither a plan nor a job needs here.
    from biasgrid.inference.models.prerequisites import keep_capabilities

    keep_capabilities(layout.capabilities().parent, layout.kept_capabilities().parent)
    # The SLURM plugin gives all jobs of a run one name.
    end_jobs_at_signals(getattr(workflow.scheduler._executor, "run_uuid", None))
    bring_to_present(Path(grid.results).rglob("*"))
    start_fork_server()
    start_progress_lines(count_jobs, count_rows)


onsuccess:
    end_progress_lines()
    if same := (
        read_made(layout.manifest, "a manifest") if layout.manifest.exists() else {}
    ).get("same_models"):
        print(same, file=sys.stderr)
    if makes_the_grid() and layout.summary("parquet").exists() and not is_for_programs():
        from biasgrid.cli.commands.summary import print_findings

        print_findings(Path(grid.results))


# Where nothing is to be done Snakemake calls no handler, and a run of before may have failed.
@atexit.register
def forget_failed_run():
    """Removes the manifest of a failed run where this one has found all that the grid needs."""
    if (
        workflow.is_main_process
        and workflow.scheduler is not None
        and not (workflow.dryrun or workflow.touch)
    ):
        if not len(workflow.dag) and makes_the_grid():
            layout.failed_manifest.unlink(missing_ok=True)


onerror:
    end_progress_lines()
    from biasgrid.runs.manifest import UnfinishedJob, write_failed_manifest

    failed = {
        one
        for job in workflow.scheduler.failed
        for one in (job.jobs if job.is_group() else [job])
    }
    unfinished = [
        UnfinishedJob(
            job.rule.name, str(job.log[0]), [str(file) for file in job.output], job in failed
        )
        for job in workflow.dag.needrun_jobs()
        if job.output and Path(job.output[0]).is_relative_to(layout.results)
    ]
    try:
        if unfinished:  # else others have failed, in a workflow that uses this one
            write_failed_manifest(grid, config, config_name, unfinished)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    if not is_for_programs():
        print(f"{RUN_FAILED if failed else STOPPED}: {command_to_go_on()}", file=sys.stderr)


join_handlers(workflow, grid.results, globals())
