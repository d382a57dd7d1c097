"""Every command that messages, help, README and the guide show runs from a folder without a
checkout, with the package installed.

Checkpoints of the hub are replaced by local ones, and servers by one of the tests.
"""

from __future__ import annotations

import ast
import re
import shlex
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import typer
import yaml
from documents import read_document
from installed import run_installed
from model_server import serving
from project import ROOT
from shared import made_once
from typer.testing import CliRunner

from biasgrid.cli.app import COMMANDS, app
from biasgrid.cli.quickstart.config import SHIPPED_CONFIGS, built_in_datasets

SHELL = re.compile(r"^ *```sh\n(.*?)^ *```", flags=re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`(biasgrid [^`{}]*)`")
"""A command within a sentence; one with a value that is filled in is of a test of its message."""
PLACES = {
    "CONFIG": "mine.yaml",
    "RESULTS": "results",
    "FILE": "results/summary.parquet",
    "FOLDER": "new-folder",
    "FORMAT": "unqover",
    "M": "b",
    "D": "gender",
    "S": "SUBJECT",
    "Mary": "SUBJECT",
    "A": "ATTRIBUTE",
    "was a nurse": "ATTRIBUTE",
    "path/to/model": "a/model",
    "org/name": "a/model",
    "my-model": "a/model",
    "results/demo": "results",
    "strong-qa": "one-model",
    "none-qa": "other-model",
    "results/after": "results",
    "results/before": "results",
    "results/demo/trained/strong-qa": "a/model",
}
"""What stands in for words that readers replace, or for results of other commands."""
PARSED = {
    "make": "installs, or runs the tests",
    "source": "activates what was installed",
    "pip": "installs",
    "export": "sets a variable",
    "biasgrid demo": "takes minutes: test_wheel.py runs it",
    "biasgrid import": "needs files of other projects: tests/formats read them",
    "biasgrid export": "likewise",
    "biasgrid schema": "writes the documentation of a checkout",
    "biasgrid run config/unqover.yaml": "needs the word lists of UnQover",
    "biasgrid run CONFIG --profile": "needs SLURM: test_slurm.py runs it",
    "biasgrid run trabajos/": "test_languages.py runs it",
    "biasgrid validate trabajos/": "likewise",
    "biasgrid preview trabajos/": "likewise",
    "biasgrid run config/moods.yaml": "test_worked_example.py runs it",
    "biasgrid validate config/moods.yaml": "likewise",
    "biasgrid run try-my-model.yaml": "test_try.py runs it",
    "biasgrid status try-my-model.yaml": "likewise",
    "biasgrid explain results/try-my-model": "likewise",
}
"""Commands that are only parsed, by how they begin, with the reason."""
PLANNED = re.compile(r"biasgrid run config/")
"""Grids of the hub's models, which are planned here and not run."""


def shown_commands() -> Iterator[str]:
    """Yields all commands that are shown, without the comments behind them."""
    for file in ["README.md", *sorted(f"docs/guide/{p.name}" for p in GUIDE.glob("*.md"))]:
        page = read_document(file)
        for block in SHELL.findall(page):
            for line in block.splitlines():
                yield shlex.join(shlex.split(line, comments=True))
        yield from SPAN.findall(page)
    for commands in COMMANDS.values():
        for command, example in commands.values():
            yield example
            if isinstance(command, typer.Typer):
                epilogs = [one.epilog or "" for one in command.registered_commands]
                yield from (line for epilog in epilogs for line in SPAN.findall(epilog))
    for source in sorted((ROOT / "src/biasgrid").rglob("*.py")):
        for node in ast.walk(ast.parse(source.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield from SPAN.findall(" ".join(node.value.split()))


GUIDE = ROOT / "docs/guide"
SHOWN = sorted({line for line in shown_commands() if line.split()[1:]})


def with_places(line: str) -> list[str]:
    """Returns the words of a command with what stands in for words that readers replace."""
    return [PLACES.get(word, word) for word in shlex.split(line)]


def is_name(line: str) -> bool:
    """Whether a command is only a name within a sentence, such as `biasgrid run`."""
    return len(line.split()) == 2 and line not in ("biasgrid list", "biasgrid --help")


RUN = {
    shlex.join(with_places(line)): line
    for line in SHOWN
    if not line.startswith(tuple(PARSED)) and not is_name(line)
}
"""The commands that are run, by their words; several may have the same words."""
EXIT_CODES = {"gate": {0, 1, 3}}
"""What commands may end with that do not end with 0 alone."""


def reinitialise(folder: Path, source: Path, seed: int) -> None:
    """Writes a model with a head of its own."""
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    model = AutoModelForQuestionAnswering.from_pretrained(source)
    torch.manual_seed(seed)
    torch.nn.init.normal_(model.qa_outputs.weight)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)


def prepare(biasgrid: Path, small_config: dict[str, Any], folder: Path) -> None:
    """Makes a folder with models, a config that is called mine.yaml, and its results."""
    folder.mkdir()
    source = Path(small_config["models"]["answering"]["folder"])
    models = {}
    for seed, (name, place) in enumerate(
        {"b": "a/model", "one-model": "path/to/b", "other-model": "other"}.items()
    ):
        reinitialise(folder / place, source, seed)
        models[name] = {
            "task": "question-answering",
            "variant": "qa",
            "kind": "QA",
            "label": name,
            "folder": place,
        }
    sections = built_in_datasets(ROOT, SHIPPED_CONFIGS)
    datasets = {}
    for name in ("gender", "religion"):
        variants = {"qa": sections[name]["variants"]["qa"]}
        limit = {"subjects": 4, "attributes": 4}
        datasets[name] = sections[name] | {"variants": variants, "limit": limit}
    content = {
        "title": "Mine",
        "results": "results",
        "inference": {"device": "cpu"},
        "validity": small_config["validity"],
        "models": models,
        "datasets": datasets,
        "run": {"models": list(models), "datasets": list(datasets)},
    }
    (folder / "mine.yaml").write_text(yaml.safe_dump(content))
    done = run_installed(folder, biasgrid, "run", "mine.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def prepared(
    biasgrid: Path, small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The folder of `prepare`; tests work on copies of it."""
    return made_once(tmp_path_factory, "mine", partial(prepare, biasgrid, small_config))


def as_typed(line: str, folder: Path) -> list[str]:
    """Returns the words of a command after `biasgrid`, with what is there in place of examples."""
    measures = pl.read_parquet(folder / "results/measures/gender/b.parquet")
    subject, attribute = measures.select("subject", "attribute").drop_nulls().row(0)
    names = {"SUBJECT": subject, "ATTRIBUTE": attribute, "NAME": "small"}
    words = [names.get(word, word) for word in with_places(line)[1:]]
    if PLANNED.match(line):
        return [*words, *([] if "--" in words else ["--"]), "-n", "--quiet", "rules"]
    return [*words, "--minutes", "1"] if words[0] == "try" else words


@pytest.mark.parametrize("line", RUN.values())
def test_a_command_that_is_shown_runs(
    line: str, biasgrid: Path, prepared: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "mine"
    shutil.copytree(prepared, folder)
    words = as_typed(line, folder)
    if words[0] == "init":
        (folder / "mine.yaml").unlink()
    with serving(listed_models=["small"]) as server:
        words = [server.url if word.startswith("http://127.0.0.1") else word for word in words]
        done = run_installed(folder, biasgrid, *words)
    assert done.returncode in EXIT_CODES.get(words[0], {0}), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "line", [line for line in SHOWN if line.startswith(tuple(PARSED)) or is_name(line)]
)
def test_what_is_only_parsed_can_be_parsed(line: str) -> None:
    program, *words = with_places(line)
    if program == "biasgrid":
        own = words.index("--") if "--" in words else len(words)
        parsed = CliRunner().invoke(app, [*words[:own], "--help", *words[own:]])
        assert parsed.exit_code == 0, parsed.output


def test_every_reason_has_a_command() -> None:
    assert [begin for begin in PARSED if not any(line.startswith(begin) for line in SHOWN)] == []
