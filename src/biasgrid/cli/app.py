"""The command line of biasgrid; `biasgrid --help` lists the commands."""

from __future__ import annotations

from typing import Annotated

import typer

from biasgrid.base.version import __version__
from biasgrid.cli.commands.ask import ask
from biasgrid.cli.commands.audit import audit
from biasgrid.cli.commands.card import card
from biasgrid.cli.commands.compare import compare
from biasgrid.cli.commands.explain import explain
from biasgrid.cli.commands.formats import exports, imports
from biasgrid.cli.commands.gate import gate
from biasgrid.cli.commands.plan import plan
from biasgrid.cli.commands.preview import preview
from biasgrid.cli.commands.provenance import provenance
from biasgrid.cli.commands.reference import reference
from biasgrid.cli.commands.run import run
from biasgrid.cli.commands.schema import schema
from biasgrid.cli.commands.status import status
from biasgrid.cli.commands.summary import summary
from biasgrid.cli.commands.validate import validate
from biasgrid.cli.output import Commands, print_text
from biasgrid.cli.quickstart.commands import demo, init, try_model

app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, help="Social bias of language models over a grid."
)
app.add_typer(imports, name="import")
app.add_typer(exports, name="export")
app.add_typer(reference, name="reference")
app.command("try")(try_model)
for _command in (
    ask,
    demo,
    init,
    run,
    explain,
    compare,
    gate,
    card,
    validate,
    plan,
    status,
    preview,
    schema,
    summary,
    audit,
    provenance,
):
    app.command()(_command)


def print_version(asked: bool) -> None:
    """Prints the version and ends, where it is asked for."""
    if asked:
        print_text(f"biasgrid {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Social bias of language models over a grid; the grid itself is run with `snakemake`."""
