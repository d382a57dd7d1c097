"""The command line of biasgrid; `biasgrid --help` lists the commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from biasgrid.base.version import package_version
from biasgrid.cli.commands.ask import ask
from biasgrid.cli.commands.audit import audit
from biasgrid.cli.commands.card import card
from biasgrid.cli.commands.compare import compare
from biasgrid.cli.commands.explain import explain
from biasgrid.cli.commands.formats import exports, imports
from biasgrid.cli.commands.gate import gate
from biasgrid.cli.commands.list import list_datasets
from biasgrid.cli.commands.plan import plan
from biasgrid.cli.commands.preview import preview
from biasgrid.cli.commands.provenance import provenance
from biasgrid.cli.commands.reference import reference
from biasgrid.cli.commands.run import run
from biasgrid.cli.commands.schema import schema
from biasgrid.cli.commands.status import status
from biasgrid.cli.commands.summary import summary
from biasgrid.cli.commands.validate import validate
from biasgrid.cli.output import Command, Commands, print_text
from biasgrid.cli.quickstart.commands import demo, init, try_model

EXIT_CODES = (
    "Exit codes: 0 done; 1 failed, or a check found a fault; 2 bad input; 3 not "
    "measurable; 130 interrupted."
)
COMMANDS: dict[str, dict[str, tuple[Callable[..., None] | typer.Typer, str]]] = {
    "First use": {
        "try": (try_model, "biasgrid try path/to/model --on gender"),
        "ask": (ask, 'biasgrid ask path/to/model "Is the sky blue? Yes or No? | Yes | No"'),
        "demo": (demo, "biasgrid demo"),
        "list": (list_datasets, "biasgrid list"),
    },
    "Run": {
        "init": (
            init,
            "biasgrid init --models a/model,path/to/b --on gender,religion --config mine.yaml",
        ),
        "validate": (validate, "biasgrid validate mine.yaml"),
        "plan": (plan, "biasgrid plan mine.yaml --rows-per-second 100"),
        "preview": (preview, "biasgrid preview mine.yaml --dataset gender"),
        "run": (run, "biasgrid run mine.yaml"),
        "status": (status, "biasgrid status mine.yaml"),
    },
    "Read": {
        "summary": (summary, "biasgrid summary results"),
        "explain": (
            explain,
            (
                "biasgrid explain results --model b --dataset gender --subject Mary --attribute "
                '"was a nurse"'
            ),
        ),
        "compare": (compare, "biasgrid compare results one-model other-model"),
        "reference": (reference, "biasgrid reference beside results"),
    },
    "Share": {
        "card": (card, "biasgrid card results --model b --out card.md"),
        "gate": (gate, "biasgrid gate results --max gender.share_mu_corrected=0.05"),
        "audit": (audit, "biasgrid audit results"),
        "import": (imports, "biasgrid import unqover output.json --out folder"),
        "export": (
            exports,
            "biasgrid export unqover mine.yaml --dataset gender --model b --out output.json",
        ),
    },
    "Develop": {
        "provenance": (provenance, "biasgrid provenance results/summary.parquet"),
        "schema": (schema, "biasgrid schema --write ."),
    },
}
"""The commands by what they are for, each with an example."""

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    help="Measures social bias in language models over a grid.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode="markdown",
    epilog=EXIT_CODES,
)
for _panel, _commands in COMMANDS.items():
    for _name, (_command, _example) in _commands.items():
        _epilog = f"Example: `{_example}`"
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel, epilog=_epilog)
        else:
            app.command(_name, cls=Command, rich_help_panel=_panel, epilog=_epilog)(_command)


def print_version(is_asked: bool) -> None:
    """Prints the version and ends, where it is asked for."""
    if is_asked:
        print_text(f"biasgrid {package_version()}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=print_version, is_eager=True, help="print the version and exit"
        ),
    ] = False,
) -> None:
    """Measures social bias in language models, one model or a grid of models and datasets."""
