# Shared by the rules: the checked config, wildcards, the handlers of a run, and the objects of `biasgrid.runs.inputs`, whose
# methods give inputs, params and resources of rules.
#
# Three kinds of params, kept apart by tests/runs/inputs/test_roles.py:
#   name=value                 The script reads it, and a new value runs the rule again.
#   name=not_compared(value)   The script reads it, and a new value runs nothing again: Snakemake does not compare it.
#   rerun_name=value           The script does not read it, and a new value runs the rule again.
# Resources are never compared. Keys of params that hold several values: `biasgrid.runs.inputs.params`.

import atexit
import builtins
import os
import shlex
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

from biasgrid.base.addresses import report_proxies
from biasgrid.base.faults import UserError
from biasgrid.base.files import bring_to_present, read_run_json
from biasgrid.config import days_as_text, load_word_lists, parse_config, read_document
from biasgrid.config.checks import models_left_out
from biasgrid.config.paths import ConfigFolders, source_folder
from biasgrid.jobs.cell_warnings import gather_warnings
from biasgrid.jobs.fork_server import forget_fork_server, start_fork_server
from biasgrid.jobs.gpu import threads_of_job
from biasgrid.jobs.interruption import end_jobs_at_signals, attempt_logs, resource_factor
from biasgrid.jobs.lock import check_records, lock_results
from biasgrid.jobs.run_progress import (
    RUN_FAILED,
    STOPPED,
    TYPED,
    end_progress_lines,
    is_for_programs,
    start_progress_lines,
)
from biasgrid.jobs.slurm import check_slurm
from biasgrid.jobs.tuning import tune_planning
from biasgrid.runs.audit import refuse_empty
from biasgrid.runs.checks import (
    check_servers,
    list_warnings,
    refuse_foreign_files,
    refuse_unknown_subjects,
    remember_configs,
    word_warnings,
)
from biasgrid.runs.inputs.as_module import join_handlers, name_config, refuse_moved_paths
from biasgrid.runs.inputs.cells import CellInputs
from biasgrid.runs.inputs.grid import GridInputs, not_compared
from biasgrid.runs.inputs.models import CHECKPOINT_FILES, ModelInputs
from biasgrid.runs.inputs.pages import PageInputs
from biasgrid.runs.layout import RECORDS, Layout

config_name = name_config(
    workflow.configfiles, workflow.config_settings.config, workflow.main_snakefile
)
source = source_folder(workflow.current_basedir.get_path_or_uri(secret_free=True))

try:
    check_records()
    refuse_moved_paths(workflow.modifier.path_modifier.replace_prefix("results"), "results")
    # Read once more, because Snakemake accepts duplicate keys and keeps no line numbers.
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
    # Submitted jobs do not need them: they read the tables that were made from the lists.
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

# Checked here, because Snakemake takes an empty output for a finished one, and then starts no handler.
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
    """Returns the factor by which the memory or time of a job is multiplied that is submitted again."""
    # Without a folder this is a job itself, which submits nothing.
    folder = getattr(workflow.executor_settings, "logdir", None)
    logs = attempt_logs(Path(folder), dict(wildcards.items())) if folder else []
    return resource_factor(short_of, logs, attempt)


def slot_in_group(wildcards):
    """Returns the slots that a shard needs: the SLURM profile gives one to each group, so its shards run one by one."""
    # Snakemake passes --keep-going to no submitted job, and has no scheduler yet when it reads this file.
    if workflow.remote_exec and workflow.scheduler:
        workflow.scheduler.keepgoing = True
    return 1


# In a module, rules may have other names, as by `use rule * from biasgrid as bias_*`, or be left out.
ASKING_RULES = [
    workflow.modifier.avail_rulename(name) for name in ("capabilities", "predict", "predict_scorer")
]
WHOLE_GRID = workflow.modifier.avail_rulename("all")


def single_jobs(jobs):
    """Returns jobs, with the jobs of a group in its place."""
    # A copy, because Snakemake may change the set meanwhile.
    return [part for job in list(jobs) for part in (job.jobs if job.is_group() else [job])]


def count_jobs():
    """Returns the numbers of finished and of all jobs, and the rules of running jobs."""
    running_rules = {job.rule.name for job in single_jobs(workflow.scheduler.running)}
    return workflow.scheduler.finished_jobs, len(workflow.dag), running_rules


def count_rows():
    """Returns the number of answered rows."""
    # Imported here, because every job reads the rules, and few need it.
    from biasgrid.runs.status import answered_rows

    return answered_rows(grid)


def makes_the_grid():
    """Returns whether a run makes the whole grid."""
    settings = workflow.dag_settings
    is_whole = not (settings.until or settings.omit_from or settings.batch)
    return is_whole and WHOLE_GRID in {rule.name for rule in workflow.dag.targetrules}


def command_to_go_on():
    """Returns the command that continues this run: the one that was typed, unless a script runs Snakemake."""
    if TYPED in os.environ:
        return os.environ[TYPED]
    if "snakemake" in sys.argv[0]:
        return shlex.join(["snakemake", *sys.argv[1:]])
    from biasgrid.runs.audit import command

    return command(config_name)


# A builtin, because expressions in profiles/slurm can use nothing else.
builtins.tries = tries_of_job


# Snakemake's own lock outlives a killed run (see profiles/default); the system drops ours with the process. Only the names
# of the config's files are remembered: settings on the command line may change, as the files may be edited.
onstart:
    # The SLURM plugin gives all jobs of a run one name.
    slurm_name = getattr(workflow.scheduler._executor, "run_uuid", None)
    try:
        if slurm_name is not None:
            check_slurm()
        refuse_foreign_files(grid.results)
        lock_results(grid.results)
        remember_configs(grid.results, workflow.configfiles)
        sources = [grid.models[name].source for name in [*grid.run.models, *grid.scorer_models]]
        report_proxies(address for source in sources for address in source.addresses)
        for note in models_left_out(grid):
            print(note, file=sys.stderr)
        asking = [job for job in workflow.dag.needrun_jobs() if job.rule.name in ASKING_RULES]
        for problem in check_servers(grid, layout, [job.wildcards.model for job in asking]):
            print(problem, file=sys.stderr)
        if asking:
            refuse_unknown_subjects(grid, word_lists)
            of_words = gather_warnings(word_warnings(grid, word_lists))
            for warning in [*list_warnings(grid, word_lists), *of_words]:
                print(warning, file=sys.stderr)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    layout.failed_manifest.unlink(missing_ok=True)
    # Imported here, because it imports polars, which neither a plan nor a job needs here.
    from biasgrid.inference.models.prerequisites import copy_capabilities

    copy_capabilities(layout.capabilities().parent, layout.kept_capabilities().parent)
    end_jobs_at_signals(slurm_name)
    bring_to_present(Path(grid.results).rglob("*"))
    start_fork_server()
    start_progress_lines(count_jobs, count_rows)


onsuccess:
    end_progress_lines()
    if same := (
        read_run_json(layout.manifest, "a manifest") if layout.manifest.exists() else {}
    ).get("same_models"):
        print(same, file=sys.stderr)
    if makes_the_grid() and layout.summary("parquet").exists() and not is_for_programs():
        from biasgrid.cli.commands.summary import print_findings

        print_findings(Path(grid.results))


# Snakemake calls no handler if there is nothing to do, and an earlier run may have failed.
@atexit.register
def forget_failed_run():
    """Removes the manifest of a failed run if this run has found the whole grid finished."""
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

    failed = set(single_jobs(workflow.scheduler.failed))
    unfinished = [
        UnfinishedJob(
            job.rule.name, str(job.log[0]), [str(file) for file in job.output], job in failed
        )
        for job in workflow.dag.needrun_jobs()
        if job.output and Path(job.output[0]).is_relative_to(layout.results)
    ]
    try:
        # Else only jobs of a workflow that uses this one have failed.
        if unfinished:
            write_failed_manifest(grid, config, config_name, unfinished)
    except UserError as error:
        raise WorkflowError(str(error)) from None
    if not is_for_programs():
        print(f"{RUN_FAILED if failed else STOPPED}: {command_to_go_on()}", file=sys.stderr)


join_handlers(workflow, grid.results, globals())
