"""The commands that begin with a model in place of a config."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from shlex import join
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.output import console, print_text, report_errors

if TYPE_CHECKING:
    from biasgrid.cli.quickstart.model import DescribedModel
    from biasgrid.config import Config

NOTES = {
    "limit": (
        "a quick trial; remove this line and set `sample: all` to ask everything (finished "
        "answers are kept)"
    ),
    "figures": "without this line, only the figures for most readers are drawn",
    "word_lists": "CONTENT WARNING: these contain stereotypes, because they measure them",
}
Datasets = Annotated[str, typer.Option("--on", help="datasets, such as gender,religion")]
Labels = Annotated[
    str, typer.Option(help="classes of a classifier, such as negative=LABEL_0,positive=LABEL_1")
]
ServedName = Annotated[str | None, typer.Option("--name", help="name of the model on the server")]
ApiKey = Annotated[
    str | None, typer.Option("--key", help="environment variable that holds the server's key")
]


def try_model(
    model: Annotated[
        str, typer.Argument(help="a folder, a name on the hub, or a server's address")
    ],
    on: Datasets = "",
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            help="ask less, so that the trial takes about this many minutes on two processors",
        ),
    ] = None,
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
    key: ApiKey = None,
    folder: Annotated[Path, typer.Option(help="folder in which the config is written")] = Path(),
    figures: Annotated[
        bool, typer.Option("--figures", help="also draw figures for papers")
    ] = False,
) -> None:
    """Measures one model in minutes: prints its bias with intervals, and writes a config for larger
    runs.

    Without --on, asks the first dataset that fits the model's task. How much is asked depends only
    on the size of the model, so the same command asks the same on every machine.
    """
    from biasgrid.cli.commands.summary import print_summary
    from biasgrid.cli.live_run import run_to_the_end
    from biasgrid.cli.quickstart.downsample import downsample_config, trial_size, trial_text
    from biasgrid.cli.quickstart.model import leave_out_pronouns
    from biasgrid.config import load_word_lists
    from biasgrid.config.paths import workflow_folder
    from biasgrid.runs.checks import refuse_unknown_subjects, warnings_of

    with report_errors():
        references, others = references_and_models(against or [])
        tried = describe_models([model, *others], labels, name, key)
        one = tried[0]
        config = folder / f"try-{one.name}.yaml"
        content, fitting = config_template(
            tried, folder / "results" / f"try-{one.name}", on or "first"
        )
        for note in leave_out_pronouns(content["datasets"], tried):
            print_text(note)
        size = trial_size(tried, minutes)
        content = downsample_config(content, size.rows) | (
            {} if figures else {"report": {"figures": "none"}}
        )
        snakefile = workflow_folder() / "Snakefile"
        command = run_of(config, snakefile)
        parsed = save_config(
            config, content, [f"Made by `biasgrid try {model}`. After a change: {command}"]
        )
        # Before a word is asked: a workflow would say it among its own lines.
        lists = load_word_lists(parsed)
        refuse_unknown_subjects(parsed, lists)
        for warning in warnings_of(parsed, lists):
            print_text(warning, err=True)
        names = ", ".join(content["datasets"])
        for text in (
            trial_text(parsed, lists),
            f"{one.section['label']}: {one.task}, asked about {names}",
            size.note,
        ):
            if text:
                print_text(text)
    with report_errors():
        run_to_the_end(config, snakefile, os.cpu_count() or 1, command)
        results = Path(content["results"])
        print_summary(results)
        print_differences(results, tried)
        print_references(results, references)
    left = [dataset for dataset in fitting if dataset not in content["datasets"]]
    print_text(f"Config: {config}; after a change, such as removing `limit`, run: {command}")
    if left:
        print_text(f"Other datasets that fit: --on {','.join(left)}")


def run_of(config: Path, snakefile: Path) -> str:
    """Returns the command that runs a config, with the workflow where the working folder has
    none.
    """
    elsewhere = "" if Path("Snakefile").exists() else f" --snakefile {snakefile}"
    return f"snakemake --cores all --configfile {config}{elsewhere}"


def references_and_models(against: Sequence[str]) -> tuple[list[str], list[str]]:
    """Divides names into labels of references and models.

    A label may hold commas; where it is also the name of a folder, the folder is meant.
    """
    from biasgrid.cli.commands.reference import OWN_REFERENCES, references_of

    labels = {
        figure.label
        for stored in references_of(OWN_REFERENCES).values()
        for figure in stored.figures
    }
    names = [
        name
        for given in against
        for name in ([given] if given in labels else comma_separated(given))
    ]
    references = [name for name in names if name in labels and not Path(name).is_dir()]
    return references, [name for name in names if name not in references]


def print_differences(results: Path, tried: Sequence[DescribedModel]) -> None:
    """Prints how the first model differs from each of the others, by the tables of rule compare."""
    from biasgrid.runs.results import Results
    from biasgrid.stats.compare.results import compare_two_models
    from biasgrid.stats.compare.sentences import difference_sentences

    one, *others = tried
    measures = set(
        Results(results).summary().filter("headline").select("measure", "options").rows()
    )
    for other in others:
        try:
            differences = compare_two_models(results, one.name, other.name, None)
        except UserError as error:
            # Of other models nothing was asked that both answer.
            print_text(str(error))
            continue
        for found in differences:
            for sentence in difference_sentences(found, measures):
                console.print(sentence, soft_wrap=True, highlight=False)


def print_references(results: Path, labels: Sequence[str]) -> None:
    """Prints the measures of a run beside references: those of some labels, or without any all that
    may be compared.
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
    from biasgrid.cli.live_run import run_to_the_end
    from biasgrid.runs.workflow import demo_folder, set_up

    name = "demo-full" if full else "demo"
    command = join(
        ["biasgrid", "demo", *(["--full"] if full else []), *([str(folder)] if folder else [])]
    )
    folder = folder or demo_folder()
    with report_errors():
        set_up(folder)
    with report_errors():
        with contextlib.chdir(folder):
            run_to_the_end(
                Path(f"config/{name}.yaml"), Path("Snakefile"), os.cpu_count() or 1, command
            )
        print_findings(folder / "results" / name)


def init(
    models: Annotated[str, typer.Option(help="folders or names on the hub, separated by commas")],
    on: Datasets = "",
    labels: Labels = "",
    config: Annotated[Path, typer.Option("--config", help="config file to write")] = Path(
        "config.yaml"
    ),
) -> None:
    """Writes a config for your models with every dataset that fits them. Generative models are
    asked samples.
    """
    from biasgrid.cli.quickstart.config import sample_generative
    from biasgrid.cli.quickstart.model import leave_out_pronouns
    from biasgrid.config import load_word_lists
    from biasgrid.config.paths import workflow_folder
    from biasgrid.runs.counts import sample_notes

    with report_errors():
        if config.exists():
            raise UserError(f"{config} already exists; expected --config with a different name")
        if not comma_separated(models):
            raise UserError(
                "--models names no model; expected one or more models, separated by commas"
            )
        tried = describe_models(comma_separated(models), labels, None, None)
        content, fitting = config_template(tried, config.parent / "results", on)
        for note in leave_out_pronouns(content["datasets"], tried):
            print_text(note)
        workflow = workflow_folder()
        head = [
            (
                f"The models and datasets of a grid; {workflow / 'config/README.md'} explains "
                "every key."
            ),
            f"Look first: biasgrid validate {config}; biasgrid plan {config}",
            f"Run: {run_of(config, workflow / 'Snakefile')}",
            f"Datasets that fit these models: {', '.join(fitting)}",
        ]
        parsed = save_config(config, sample_generative(content), head)
        samples = list(sample_notes(parsed, load_word_lists(parsed)))
    print_text(f"{config}: {len(content['models'])} models, {len(content['datasets'])} datasets")
    for note in samples:
        print_text(note)


def comma_separated(names: str) -> list[str]:
    """Returns the parts between commas."""
    return [name for part in names.split(",") if (name := part.strip())]


def describe_models(
    models: Sequence[str], labels: str, name: str | None, key: str | None
) -> list[DescribedModel]:
    """Looks at models.

    Raises:
        UserError: one cannot be asked, or two have one name.
    """
    from biasgrid.cli.quickstart.model import describe_model

    meant = [part.partition("=") for part in comma_separated(labels)]
    if not all(equals for _, equals, _ in meant):
        raise UserError(
            f"--labels {labels}; expected pairs separated by commas, "
            "such as negative=LABEL_0,positive=LABEL_1"
        )
    tried = [
        describe_model(model, {own: theirs for own, _, theirs in meant}, name, key)
        for model in models
    ]
    if len({one.name for one in tried}) < len(tried):
        raise UserError(
            f"models with the same last part of the name: {', '.join(models)}; expected a "
            "different last part for each"
        )
    return tried


def config_template(
    tried: Sequence[DescribedModel], results: Path, on: str
) -> tuple[dict[str, Any], list[str]]:
    """Makes a config's content, and names all datasets that are for the models; `first` chooses the
    first of them.
    """
    from biasgrid.cli.quickstart.config import make_config
    from biasgrid.config.paths import workflow_folder

    root = workflow_folder()
    if on != "first":
        return make_config(root, str(results), tried, comma_separated(on))
    _, fitting = make_config(root, str(results), tried[:1], [])
    content, _ = make_config(root, str(results), tried, fitting[:1])
    return content, fitting


def save_config(config: Path, content: dict[str, Any], head: Sequence[str]) -> Config:
    """Writes a config, once it is known to have no faults, and returns it."""
    from biasgrid.base.files import write_text
    from biasgrid.cli.quickstart.config import config_text
    from biasgrid.config import parse_config

    parsed = parse_config(content, str(config))
    write_text(config, config_text(content, head, NOTES))
    return parsed
