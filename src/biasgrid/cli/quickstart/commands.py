"""The commands that begin with a model in place of a config."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.output import console, print_text, report_errors

if TYPE_CHECKING:
    from biasgrid.cli.quickstart.model import DescribedModel
    from biasgrid.cli.quickstart.trial import DatasetSizes, Pace
    from biasgrid.config import Config

NOTES = {
    "share": "of the dataset; `sample: all` asks everything (finished answers are kept)",
    "figures": "without this line, only the figures for most readers are drawn",
    "word_lists": "CONTENT WARNING: these contain stereotypes, because they measure them",
}
Datasets = Annotated[str, typer.Option("--on", help="datasets, such as gender,religion; or all")]
Labels = Annotated[
    str, typer.Option(help="classes of a classifier, such as negative=LABEL_0,positive=LABEL_1")
]
ServedName = Annotated[str | None, typer.Option("--name", help="name of the model on the server")]
NameAsIs = Annotated[
    bool,
    typer.Option("--name-as-is", help="ask for --name even if the server does not list it"),
]
ApiKey = Annotated[
    str | None, typer.Option("--key", help="environment variable that holds the server's key")
]


def try_model(
    model: Annotated[
        str, typer.Argument(help="a folder, a name on the hub, or a server's address")
    ],
    on: Datasets = "",
    minutes: Annotated[
        float,
        typer.Option(min=0.1, help="ask as much as fits into this many minutes, report included"),
    ] = 3,
    against: Annotated[
        list[str] | None,
        typer.Option(
            help=(
                "other models to measure, or labels of references to compare with; separated by "
                "commas, or repeated"
            )
        ),
    ] = None,
    labels: Labels = "",
    name: ServedName = None,
    name_as_is: NameAsIs = False,
    key: ApiKey = None,
    folder: Annotated[Path, typer.Option(help="folder in which the config is written")] = Path(),
    figures: Annotated[
        bool, typer.Option("--figures", help="also draw figures for papers")
    ] = False,
) -> None:
    """Measures one model in minutes: prints its bias with intervals, and writes a config for larger
    runs.

    Without --on, asks the first dataset that fits the model's task. A pilot of a few rows measures
    how fast the model answers. Answers are kept: a longer trial asks only what is new.
    """
    from biasgrid.cli.commands.summary import print_summary
    from biasgrid.cli.live_run import run_to_the_end, snakemake_command
    from biasgrid.cli.quickstart.config import one_of_each_family
    from biasgrid.cli.quickstart.model import leave_out_pronouns
    from biasgrid.cli.quickstart.trial import (
        TrialTime,
        dataset_sizes,
        effect_text,
        jobs_at_once,
        trial_config,
        trial_text,
    )
    from biasgrid.config import load_word_lists
    from biasgrid.config.paths import workflow_folder

    began = time.monotonic()
    with report_errors():
        references, others = references_and_models(against or [])
        models = describe_models([model, *others], labels, name, key, name_as_is)
        first = models[0]
        config = folder / f"try-{first.name}.yaml"
        results = folder / "results" / f"try-{first.name}"
        content, offered = config_template(models, results, on or "first")
        for note in leave_out_pronouns(content["datasets"], models):
            print_text(note)
        if not figures:
            content["report"] = {"figures": "none"}
        snakefile = workflow_folder() / "Snakefile"
        command = run_command(config)
        names = ", ".join(content["datasets"])
        print_text(f"{first.section['label']}: {first.task}, asked about {names}")
        sizes = dataset_sizes(content)
        paces = measured_paces(content, sizes, config, snakefile)
        seconds_before = time.monotonic() - began
        trial = TrialTime(content, sizes, paces, jobs_at_once(models), seconds_before)
        rows = trial.rows_within(60 * minutes)
        head = [f"Made by `biasgrid try {model}`. After a change: {command}"]
        parsed = save_config(config, trial_config(trial, rows), head)
        lists = load_word_lists(parsed)
        for text in (trial.text(rows, 60 * minutes), effect_text(parsed, lists)):
            print_text(text)
        print_text(trial_text(parsed, lists))
    with report_errors():
        snakemake = snakemake_command(config, snakefile, os.cpu_count() or 1)
        run_to_the_end(config, snakemake, command)
        print_summary(results)
        print_differences(results, models)
        print_references(results, references)
    print_text(f"Config: {config}; after a change, run: {command}")
    more_datasets = [dataset for dataset in offered if dataset not in content["datasets"]]
    if more_datasets:
        names = ",".join(one_of_each_family(workflow_folder(), more_datasets))
        text = (
            f"{len(more_datasets)} more datasets fit (see `biasgrid list`), such as: --on {names}"
        )
        print_text(text)


def run_command(config: Path, *options: str) -> str:
    """Returns the command that runs a config, with options of its own."""
    return join(["biasgrid", "run", str(config), *options])


def measured_paces(
    content: dict[str, Any], sizes: Mapping[str, DatasetSizes], config: Path, snakefile: Path
) -> dict[str, Pace]:
    """Returns the pace of each cell of a pilot, which is asked if no earlier trial has measured it.

    Args:
        content: the content of the trial's config, with whole datasets.
        sizes: the sizes of the datasets.
        config: the trial's config file, in whose place is that of the pilot as long as it runs.
        snakefile: the workflow.

    Raises:
        InputError: the models do not know enough words of a dataset.
        typer.Exit: the pilot failed, or was interrupted.
    """
    from biasgrid.base.files import write_text
    from biasgrid.cli.live_run import run_to_the_end, snakemake_command
    from biasgrid.cli.quickstart.trial import first_shards, kept_paces, pilot_config, take_paces
    from biasgrid.config import load_word_lists
    from biasgrid.runs.checks import refuse_unknown_subjects

    earlier = config.read_text() if config.exists() else None
    pilot = save_config(config, pilot_config(content, sizes), [])
    try:
        refuse_unknown_subjects(pilot, load_word_lists(pilot))
        shards = first_shards(pilot)
        paces = kept_paces(Path(pilot.results))
        if not shards.keys() <= paces.keys():
            print_text("Pilot: measures how fast the model answers.")
            again = join(["biasgrid", *sys.argv[1:]])
            command = snakemake_command(config, snakefile, os.cpu_count() or 1)
            run_to_the_end(config, [*command, "--", *map(str, shards.values())], again)
            paces = take_paces(pilot)
        return {cell: paces[cell] for cell in shards}
    finally:
        if earlier is None:
            config.unlink()
        else:
            write_text(config, earlier)


def references_and_models(against: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divides the values of `--against` into labels of references and models.

    Args:
        against: the values. Each is a label, which may contain commas, or names separated by
            commas. A label that is also the name of a folder is taken for the folder.
    """
    from biasgrid.cli.commands.reference import OWN_REFERENCES, references_of

    labels: set[str] = set()
    for stored in references_of(OWN_REFERENCES).values():
        labels.update(figure.label for figure in stored.figures)
    names: list[str] = []
    for value in against:
        names += [value] if value in labels else comma_separated(value)
    references = [name for name in names if name in labels and not Path(name).is_dir()]
    return references, [name for name in names if name not in references]


def print_differences(results: Path, models: Sequence[DescribedModel]) -> None:
    """Prints the differences of the first model from each of the others, as rule compare does."""
    from biasgrid.runs.results import Results
    from biasgrid.stats.compare.results import compare_two_models
    from biasgrid.stats.compare.sentences import difference_sentences

    first, *others = models
    headlines = Results(results).summary().filter("headline")
    measures = set(headlines.select("measure", "options").rows())
    for other in others:
        try:
            differences = compare_two_models(results, first.name, other.name, None)
        except UserError as error:
            # The two models have no dataset in common.
            print_text(str(error))
            continue
        for difference in differences:
            for sentence in difference_sentences(difference, measures):
                console.print(sentence, soft_wrap=True, highlight=False)


def print_references(results: Path, labels: Sequence[str]) -> None:
    """Prints the measures of a run beside references.

    Args:
        results: the folder of results.
        labels: the labels of references; if empty, all that can be compared are printed.
    """
    from biasgrid.cli.commands.reference import OWN_REFERENCES, print_beside

    try:
        print_beside(results, OWN_REFERENCES, labels, all_of_them=bool(labels))
    except UserError as error:
        # The measures are complete without them.
        print_text(str(error))


def demo(
    folder: Annotated[
        Path | None,
        typer.Argument(
            help=(
                "folder for the workflow and its results; default: biasgrid-demo, or the current "
                "folder if it is a checkout"
            )
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="run twelve models and eleven datasets, in five minutes")
    ] = False,
) -> None:
    """Runs the demo: tiny models with a synthetic bias, from word lists to report. Needs no network
    and no GPU.
    """
    from biasgrid.cli.commands.summary import print_findings
    from biasgrid.cli.live_run import run_to_the_end, snakemake_command
    from biasgrid.runs.workflow import demo_folder, set_up

    name = "demo-full" if full else "demo"
    words = ["biasgrid", "demo"]
    if full:
        words.append("--full")
    if folder:
        words.append(str(folder))
    command = join(words)
    folder = folder or demo_folder()
    with report_errors():
        set_up(folder)
    with report_errors():
        with contextlib.chdir(folder):
            config = Path(f"config/{name}.yaml")
            snakemake = snakemake_command(config, Path("Snakefile"), os.cpu_count() or 1)
            run_to_the_end(config, snakemake, command)
        print_findings(folder / "results" / name)


def init(
    models: Annotated[
        str, typer.Option(help="folders or names on the hub, separated by commas")
    ] = "",
    on: Datasets = "",
    labels: Labels = "",
    config: Annotated[Path, typer.Option("--config", help="config file to write")] = Path(
        "config.yaml"
    ),
    profile: Annotated[
        Literal["slurm"] | None,
        typer.Option(help="also write profiles/PROFILE/profile.yaml beside the config"),
    ] = None,
) -> None:
    """Writes a config for your models with every dataset that fits them. Generative models are
    asked samples.

    With --profile, writes the settings for a cluster; without --models, only these.
    """
    from biasgrid.cli.quickstart.config import sample_generative
    from biasgrid.cli.quickstart.model import leave_out_pronouns
    from biasgrid.config import load_word_lists
    from biasgrid.config.paths import workflow_folder
    from biasgrid.runs.counts import sample_notes

    if profile is not None:
        with report_errors():
            print_text(write_profile(profile, config))
        if not models:
            return
    with report_errors():
        if config.exists():
            raise UserError(f"{config} already exists; expected --config with a different name")
        names = comma_separated(models)
        if not names:
            raise UserError(
                "--models names no model; expected one or more models, separated by commas"
            )
        described = describe_models(names, labels, None, None)
        content, offered = config_template(described, config.parent / "results", on)
        for note in leave_out_pronouns(content["datasets"], described):
            print_text(note)
        workflow = workflow_folder()
        head = [
            (
                f"The models and datasets of a grid; {workflow / 'config/README.md'} explains "
                "every key."
            ),
            f"Look first: biasgrid validate {config}; biasgrid plan {config}",
            f"Run: {run_command(config)}",
            f"Datasets that fit these models: {', '.join(offered)}",
        ]
        parsed = save_config(config, sample_generative(content), head)
        samples = list(sample_notes(parsed, load_word_lists(parsed)))
    print_text(f"{config}: {len(content['models'])} models, {len(content['datasets'])} datasets")
    for note in samples:
        print_text(note)


def write_profile(name: str, config: Path) -> str:
    """Copies a profile of the workflow to the folder of a config; returns what to do with it.

    Raises:
        UserError: there is such a profile already.
    """
    from biasgrid.base.files import write_text
    from biasgrid.config.paths import workflow_folder

    source = Path("profiles", name, "profile.yaml")
    file = config.parent / source
    if file.exists():
        raise UserError(f"{file} already exists; expected no such file: move it away")
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, (workflow_folder() / source).read_text())
    command = run_command(config, "--profile", str(file.parent))
    return f"{file}: fill in its first block, such as partition and account. Then run: {command}"


def comma_separated(names_text: str) -> list[str]:
    """Returns the parts of a text between commas, without empty ones."""
    parts = [part.strip() for part in names_text.split(",")]
    return [part for part in parts if part]


def describe_models(
    models: Sequence[str],
    labels: str,
    name: str | None,
    key: str | None,
    name_as_is: bool = False,
) -> list[DescribedModel]:
    """Describes models for a config.

    Args:
        models: folders, names on the hub, or addresses of servers.
        labels: the value of `--labels`.
        name: the name of a model on its server, if it is behind one.
        key: the environment variable that holds the server's key.
        name_as_is: whether the server takes names that it does not list.

    Raises:
        UserError: a model cannot be asked, two have the same name, or `labels` has another form.
    """
    from biasgrid.cli.quickstart.model import describe_model

    labels_of_classes = {}
    for part in comma_separated(labels):
        class_name, equals, label = part.partition("=")
        if not equals:
            raise UserError(
                f"--labels {labels}; expected pairs separated by commas, "
                "such as negative=LABEL_0,positive=LABEL_1"
            )
        labels_of_classes[class_name] = label
    described = [
        describe_model(model, labels_of_classes, name, key, name_as_is) for model in models
    ]
    if len({model.name for model in described}) < len(described):
        raise UserError(
            f"models with the same last part of the name: {', '.join(models)}; expected a "
            "different last part for each"
        )
    return described


def config_template(
    models: Sequence[DescribedModel], results: Path, on: str
) -> tuple[dict[str, Any], list[str]]:
    """Makes the content of a config, and lists all datasets that are for the models.

    Args:
        models: the models.
        results: the folder for their results.
        on: names of datasets, separated by commas; `all` are all that fit, `first` is the first
            dataset for the first model. If empty, those of the standard configs that fit.
    """
    from biasgrid.cli.quickstart.config import make_config
    from biasgrid.config.paths import workflow_folder

    root = workflow_folder()
    if on not in ("all", "first"):
        return make_config(root, str(results), models, comma_separated(on))
    _, offered = make_config(root, str(results), models[:1], [])
    names = offered if on == "all" else offered[:1]
    content, _ = make_config(root, str(results), models, names)
    return content, offered


def save_config(config: Path, content: dict[str, Any], head: Sequence[str]) -> Config:
    """Writes a config, in place of an earlier file, and returns it.

    Raises:
        InputError: the config has faults; nothing is written.
    """
    from biasgrid.base.files import write_text
    from biasgrid.cli.quickstart.config import config_text
    from biasgrid.config import parse_config

    parsed = parse_config(content, str(config))
    write_text(config, config_text(content, head, NOTES))
    return parsed
