"""Typed texts, answered as the grid asks: through the stage `predict`, by the same back ends."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.faults import Fault, InputError, Problem
from biasgrid.base.files import write_text
from biasgrid.base.messages import validate_content
from biasgrid.base.references import load_reference
from biasgrid.cli.quickstart.model import DescribedModel
from biasgrid.config import Config
from biasgrid.config.registry import BUILT_IN
from biasgrid.config.sections import Run
from biasgrid.families.expansion import expand_rows
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.inference.checkpoints.fetch import make_source_record
from biasgrid.inference.engine.settings import InferenceSettings, ModelSettings
from biasgrid.inference.models.masked.texts import MASK
from biasgrid.inference.models.predict import ShardFiles, predict_shard
from biasgrid.inference.models.prerequisites import (
    CapabilityProbe,
    find_or_keep,
    write_capabilities,
)
from biasgrid.tables.files import read_table, write_table
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema

PART_SEPARATOR = re.compile(r"(?:^|\s)\|(?=\s|$)")
"""The separator of the parts of a line: a `|` with white space on both sides."""
MASKS = re.compile(r"<mask>|\[mask\]", re.IGNORECASE)
LINE_BREAK = r"\n"
"""How a line break is typed: as a backslash and an n."""


class TypedTextError(Problem):
    """What is wrong with a line."""


@dataclass(frozen=True)
class TypedText:
    """A line that was typed.

    Attributes:
        texts: what is read, in the order in which it was typed.
        row: what it asks: `text`, `text_pair`, and `candidate1`, ... and `position1`, ... where
            there are any.
        answer: the kind of its answer, a module of `tables.answers`.
        candidates: the texts whose probabilities are read.
    """

    texts: Sequence[str]
    row: Mapping[str, Any]
    answer: str
    candidates: Sequence[str] = ()


@dataclass(frozen=True)
class TextForm:
    """How models of a task are asked.

    Attributes:
        written: what the parts of a line are, for people.
        fewest: how many parts there must be.
        most: how many there may be, None for any number.
        read: makes a line of its parts.
        choices: what decides the answers beside the model's own keys, see `Choices` of the task's
            back end.
    """

    written: str
    fewest: int
    most: int | None
    read: Callable[[Sequence[str]], TypedText]
    choices: Mapping[str, Any] = field(default_factory=dict)


def typed_line(task: str, line: str) -> TypedText:
    """Reads a line for models of a task.

    Raises:
        TypedTextError: its parts are not those of the task's form.
    """
    form = TEXT_FORMS[task]
    parts = [part.strip().replace(LINE_BREAK, "\n") for part in PART_SEPARATOR.split(line.strip())]
    if not all(parts):
        raise TypedTextError(
            "there is an empty part" if len(parts) > 1 else "nothing is asked", form.written
        )
    if len(parts) < form.fewest or (form.most is not None and len(parts) > form.most):
        raise TypedTextError(
            f"{line.strip()!r} has {len(parts)} part{'s' * (len(parts) > 1)}", form.written
        )
    return form.read(parts)


def read_question(parts: Sequence[str]) -> TypedText:
    """Reads a context, a question and names, whose first places in the context count.

    Raises:
        TypedTextError: the context lacks a name.
    """
    context, question, *names = parts
    row: dict[str, Any] = {"text": question, "text_pair": context}
    for number, name in enumerate(names, start=1):
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", context)
        if match is None:
            raise TypedTextError(
                f"{name!r} is not in the context {context!r}",
                "names exactly as the context writes them",
            )
        row |= {f"candidate{number}": name, f"position{number}": match.start()}
    return TypedText([context, question], row, "span", names)


def read_candidates(parts: Sequence[str]) -> TypedText:
    """Reads a text and words, between which a model chooses."""
    text, *words = parts
    candidates = {f"candidate{number}": word for number, word in enumerate(words, start=1)}
    return TypedText([text], {"text": text} | candidates, "choice", words)


def read_masked(parts: Sequence[str]) -> TypedText:
    """Reads a text with a mask, in the spelling of any tokenizer, and words for its place.

    Raises:
        TypedTextError: the text has another number of masks than one.
    """
    text, *words = parts
    text = MASKS.sub(MASK, text)
    if text.count(MASK) != 1:
        problem = f"{text!r} has {text.count(MASK) or 'no'} masks"
        raise TypedTextError(problem, TEXT_FORMS["fill-mask"].written)
    return read_candidates([text, *words])


def read_prompt(parts: Sequence[str]) -> TypedText:
    """Reads a prompt; with options behind it the model chooses, and without it writes."""
    return (
        read_candidates(parts) if len(parts) > 1 else TypedText(parts, {"text": parts[0]}, "text")
    )


def read_text_pair(parts: Sequence[str]) -> TypedText:
    """Reads a text, or a pair of texts, to be classified."""
    return TypedText(parts, dict(zip(("text", "text_pair"), parts, strict=False)), "choice")


TEXT_FORMS: Mapping[str, TextForm] = {
    "question-answering": TextForm(
        "CONTEXT | QUESTION | NAME | NAME, such as: Ann met Bob. | Who was a cook? | Ann | Bob",
        2,
        None,
        read_question,
    ),
    # A typed word may be of several tokens, and its rank is worth a pass over the vocabulary.
    "fill-mask": TextForm(
        "TEXT WITH [MASK] | WORD | WORD, such as: Ann met Bob. [MASK] was a cook. | Ann | Bob",
        2,
        None,
        read_masked,
        {"target_scoring": "joint", "ranks": True},
    ),
    "text-generation": TextForm(
        "PROMPT for a free answer, or PROMPT | OPTION | OPTION, such as: Is the sky blue? Yes or "
        "No? | Yes | No",
        1,
        None,
        read_prompt,
    ),
    "text-classification": TextForm(
        "TEXT, or TEXT | SECOND TEXT for models that read pairs", 1, 2, read_text_pair
    ),
}
"""How models are asked, by task."""


def read_typed_lines(task: str, lines: Sequence[str], source: str) -> list[TypedText]:
    """Reads lines for models of a task; empty ones do not count.

    Args:
        task: the task.
        lines: what was typed.
        source: where, for messages.

    Raises:
        InputError: with all that is wrong with any of them.
    """
    typed, faults = [], []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            typed.append(typed_line(task, line))
        except TypedTextError as error:
            faults.append(Fault(source, f"line {number}", error.problem, error.expected))
    if not typed and not faults:
        faults.append(Fault(source, "", "nothing is asked", TEXT_FORMS[task].written))
    if faults:
        raise InputError(faults)
    return typed


@dataclass(frozen=True)
class Asker:
    """Asks a model, which is loaded at the first question.

    Attributes:
        model: the model.
        folder: where what it needs is kept while it is asked; an answer that is there is not asked
            for again.
        loaded: the model, once it is loaded; see `InferenceSettings`.
    """

    model: DescribedModel
    folder: Path
    loaded: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def config(self) -> Config:
        """A config that has this model, and nothing to ask it."""
        name = self.model.name
        model = validate_content(BUILT_IN.model_section(self.model.task), self.model.section, name)
        run = Run.model_construct(models=[name], datasets=[])
        return Config.model_construct(models={name: model}, datasets={}, run=run)

    @cached_property
    def record(self) -> Path:
        """The record of the model, which the grid's rule fetch would make."""
        record = make_source_record(self.config.model_record_arguments(self.model.name))
        write_text(self.folder / "model.json", json.dumps(record))
        return self.folder / "model.json"

    def capabilities(self, kind: str) -> Path | None:
        """Returns the capabilities of the model, as the grid's rule capabilities finds them out.

        None if answers of this kind need no capabilities.
        """
        entry = self.config.back_end_entry(self.model.name)
        if kind not in entry.probed:
            return None
        file = self.folder / f"capabilities-{kind}.json"
        settings = ModelSettings(
            model=self.model.name,
            task=self.model.task,
            precision=self.config.inference.precision,
            device=self.config.inference.device,
            threads=os.cpu_count() or 1,
            section=self.model.section,
            log=self.folder / "capabilities.log",
            loaded_parts=self.loaded,
        )
        probe: CapabilityProbe = load_reference(entry.probe)
        capabilities = find_or_keep(probe, read_record(self.record), settings, [kind], file)
        write_capabilities(file, self.record, capabilities)
        return file

    @property
    def classes(self) -> Sequence[str]:
        """The classes of a classifier."""
        return list(self.config.models[self.model.name].labels)

    def ask(self, typed: Sequence[TypedText]) -> list[dict[str, Any]]:
        """Asks a model.

        Args:
            typed: what.

        Returns:
            For each the keys of what was asked, and those of the answer that are not null.

        Raises:
            ModelError: the model cannot be used, or not for this.
        """
        answers: dict[int, dict[str, Any]] = {}
        for kind in dict.fromkeys(typed_text.answer for typed_text in typed):
            places = [place for place, typed_text in enumerate(typed) if typed_text.answer == kind]
            answers |= zip(
                places, self._answers(kind, [typed[place].row for place in places]), strict=True
            )
        return [
            {**typed_text.row, **response_of(typed_text, answers[place])}
            for place, typed_text in enumerate(typed)
        ]

    def _answers(self, kind: str, rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        expansion = expand_rows(pl.DataFrame(rows, infer_schema_length=None), {})
        instances, predictions = (
            self.folder / "instances.parquet",
            self.folder / "predictions.parquet",
        )
        write_table(pl.concat(expansion.parts), instances, expansion.schema, {})
        answers = self.folder / "answers" / kind / self.model.name
        entry = self.config.back_end_entry(self.model.name)
        files = ShardFiles(
            instances,
            self.record,
            predictions,
            self.folder / "timing.json",
            answers,
            answers / "progress.json",
            self.capabilities(kind),
        )
        path = entry.class_path(kind)
        predict_shard(files, 1, 1, path, self._settings(kind), table_provenance())
        responses = read_table(predictions, answer_schema(kind)).sort("instance").drop("instance")
        for row in responses.iter_rows(named=True):
            yield {name: value for name, value in row.items() if value is not None}

    def _settings(self, kind: str) -> InferenceSettings:
        entry, inference = self.config.models[self.model.name], self.config.inference
        classes = {"labels": list(entry.labels.values())} if entry.labels else {}
        return InferenceSettings(
            model=self.model.name,
            task=self.model.task,
            precision=inference.precision,
            token_budget=inference.token_budget,
            device=inference.device,
            seconds_without_progress=60 * inference.time_limit,
            answer=kind,
            threads=os.cpu_count() or 1,
            choices={**TEXT_FORMS[self.model.task].choices, **classes, **entry.source.choices()},
            section=self.model.section,
            log=self.folder / "ask.log",
            loaded_parts=self.loaded,
        )


FIRST_TOKENS = ("first_tokens", "first_probabilities")
"""Lists of answers that are of the whole answer, not of its candidates."""


def response_of(typed_text: TypedText, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns an answer with the lists as long as what was typed has candidates; tables are as wide
    as the longest.
    """
    count = len(typed_text.candidates) or None
    return {
        name: value[:count] if isinstance(value, list) and name not in FIRST_TOKENS else value
        for name, value in answer.items()
    }
