"""The command that asks a model what somebody types."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.output import print_text, report_errors, user_message
from biasgrid.cli.quickstart.commands import (
    ApiKey,
    Labels,
    NameAsIs,
    ServedName,
    describe_models,
)
from biasgrid.tables.claims.numbers import format_number

if TYPE_CHECKING:
    from biasgrid.cli.quickstart.ask import Asker, TypedText

PER_CANDIDATE = {
    "probabilities": "probability",
    "starts": "start",
    "ends": "end",
    "tokens": "tokens",
    "ranks": "rank",
    "surface_forms": "surface_forms",
}
"""The parts of a response that have a value for each candidate or class, and how they are
called.
"""

SECOND_COLUMNS = ("form_probabilities", "first_probabilities")
"""The parts of a response that are shown with others."""


def ask(
    model: Annotated[
        str, typer.Argument(help="a folder, a name on the hub, or a server's address")
    ],
    texts: Annotated[
        list[str] | None,
        typer.Argument(help="texts to ask; without any, lines are read from the terminal"),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="a file with one text per line")
    ] = None,
    labels: Labels = "",
    name: ServedName = None,
    name_as_is: NameAsIs = False,
    key: ApiKey = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="print a JSON object for each text")
    ] = False,
) -> None:
    """Asks a model single texts and shows exactly what a run would record.

    The parts of a text are separated by ` | `:

    - question answering: CONTEXT | QUESTION | NAME | NAME
    - masked language models: TEXT WITH [MASK] | WORD | WORD
    - generative models: PROMPT, or PROMPT | OPTION | OPTION
    - classifiers: TEXT
    """
    from transformers.utils.logging import disable_progress_bar

    from biasgrid.base.addresses import report_proxies
    from biasgrid.cli.quickstart.ask import TEXT_FORMS, Asker, read_typed_lines

    disable_progress_bar()
    logging.basicConfig(level=logging.ERROR)
    with report_errors(), TemporaryDirectory(prefix="biasgrid-ask-") as folder:
        if texts and file is not None:
            raise UserError("both texts and --file are given; expected only one of them")
        (tried,) = describe_models([model], labels, name, key, name_as_is)
        asker = Asker(tried, Path(folder))
        report_proxies(asker.config.models[tried.name].source.addresses)
        if texts or file is not None or not sys.stdin.isatty():
            source, lines = input_lines(texts, file)
            print_response(asker, read_typed_lines(tried.task, lines, source), as_json)
            return
        print_text(f"{TEXT_FORMS[tried.task].written}\nAn empty line ends the input.", err=True)
        for line in typed_lines():
            # What one line gets wrong does not end the others.
            try:
                print_response(
                    asker, read_typed_lines(tried.task, [line], "the typed input"), as_json
                )
            except UserError as error:
                print_text(user_message(error), err=True)


def input_lines(texts: Sequence[str] | None, file: Path | None) -> tuple[str, list[str]]:
    """Returns where lines come from, and the lines: arguments, a file or the standard input."""
    from biasgrid.base.text import read_text

    if texts:
        return "the command line", list(texts)
    if file is not None:
        return str(file), read_text(file, "one text to ask per line").splitlines()
    return "the standard input", sys.stdin.read().splitlines()


def typed_lines() -> Iterator[str]:
    """Yields lines as they are typed, up to an empty one or the end of the input."""
    while True:
        print_text("> ", nl=False, err=True)
        line = sys.stdin.readline()
        if not line.strip():
            return
        yield line


def print_response(asker: Asker, typed: Sequence[TypedText], as_json: bool) -> None:
    """Prints what a model answers."""
    for typed_text, answer in zip(typed, asker.ask(typed), strict=True):
        if as_json:
            print_text(json.dumps(answer, ensure_ascii=False))
        else:
            print_text(
                "\n".join(
                    response_lines(typed_text, answer, typed_text.candidates or asker.classes)
                )
            )


def response_lines(
    typed: TypedText, answer: Mapping[str, Any], candidates: Sequence[str]
) -> Iterator[str]:
    """Yields an answer as lines: what was asked, what holds for the whole, and a line for each
    candidate.
    """
    yield " | ".join(typed.texts)
    answer = with_beginnings(answer)
    width = max(map(len, (*candidates, *answer)), default=0)
    for name, value in answer.items():
        if name not in PER_CANDIDATE and name not in typed.row:
            yield f"  {name:{width}}  {value_of_response(value)}"
    values_by_name = {
        called: answer[name] for name, called in PER_CANDIDATE.items() if answer.get(name)
    }
    for place, candidate in enumerate(candidates):
        values = (
            f"{called} {value_of_response(of_each[place])}"
            for called, of_each in values_by_name.items()
        )
        yield f"  {candidate:{width}}  {'  '.join(values)}"


def with_beginnings(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an answer with the ways to write each option, and the first tokens, as texts with
    their probabilities.
    """
    texts: dict[str, Any] = {}
    if "surface_forms" in answer:
        both = zip(answer["surface_forms"], answer["form_probabilities"], strict=True)
        texts["surface_forms"] = [beginnings_text(*of_option) for of_option in both]
    if "first_tokens" in answer:
        texts["first_tokens"] = beginnings_text(
            answer["first_tokens"], answer["first_probabilities"]
        )
    return {
        name: value for name, value in {**answer, **texts}.items() if name not in SECOND_COLUMNS
    }


def beginnings_text(texts: Sequence[str], probabilities: Sequence[float]) -> str:
    """Returns beginnings of an answer, the likeliest first, such as `'A' 0.52, ' A' 0.0012`."""
    pairs = sorted(zip(texts, probabilities, strict=True), key=lambda pair: -pair[1])
    return ", ".join(f"{text!r} {format_number(probability)}" for text, probability in pairs)


def value_of_response(value: Any) -> str:
    """Returns a value of a response in words."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_number(value) if isinstance(value, float) else str(value)
