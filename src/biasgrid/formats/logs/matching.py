"""Matches the samples of a log with instances, and writes them as precomputed responses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl
import yaml

from biasgrid.base.faults import Fault, InputError, first_few, unknown_names
from biasgrid.base.precomputed_file import (
    PrecomputedResponse,
    first_faults,
    shorten_prompt,
    unique_responses,
    write_precomputed,
)
from biasgrid.base.references import load, stage_module
from biasgrid.config import Config, ConfigFolders, parse_config, read_document
from biasgrid.formats.logs.samples import Log, LogSample, check_single_run
from biasgrid.inference.models.precomputed import (
    ITEM_COLUMN,
    PROMPT_TEXTS,
    AnswerNeeds,
    match_responses,
    with_whole_prompts,
)

READER = "imported-log"
"""The name, in the config of an import, of the model whose answers the log has."""
MODEL_TASK = "text-generation"
"""The task, in our configs, of models whose logs are imported."""
HARNESS_TASK = "task"
"""The key of `Log.source` with the task's name in the harness."""
DISTINGUISHING = ("group", "repetition")
"""Columns that distinguish instances with one prompt; samples may have such fields."""


class LoggedQuestion(NamedTuple):
    """The facts on an instance that a sample may have.

    Instances of one item that are equal in them differ only in the order of their answer options.

    Attributes:
        dataset: the name of its dataset.
        group: the group that it is about, or the name of the dataset if its family has no groups.
        repetition: the number of earlier responses; 0 if its family has no repetitions.
    """

    dataset: str
    group: str
    repetition: int


class Match(NamedTuple):
    """The instances that a sample answers.

    Attributes:
        by: the kind of text by which they were found.
        text: the id of the item, or the prompt.
        questions: the instances, at least one; an element per instance, so equal elements are
            orders of the options.
    """

    by: Literal["item", "prompt"]
    text: str
    questions: Sequence[LoggedQuestion]


@dataclass(frozen=True)
class ImportedDatasets:
    """The instances of the datasets of an import.

    Attributes:
        config: a config in which `READER` is the only model.
        tables: the instances of each dataset, from `with_whole_prompts`.
        answer_kinds: the kind of the answers to each dataset, a module of `tables.answers`.
        by_item: instances by the ids of their items; empty if no family has ids.
        by_prompt: instances by each of the texts that a model may have read.
    """

    config: Config
    tables: Mapping[str, pl.DataFrame]
    answer_kinds: Mapping[str, str]
    by_item: dict[str, list[LoggedQuestion]] = field(default_factory=lambda: defaultdict(list))
    by_prompt: dict[str, list[LoggedQuestion]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def from_config(cls, config: Config) -> ImportedDatasets:
        """Expands the selected datasets.

        Args:
            config: from `import_config`.

        Raises:
            InputError: files of a dataset have faults.
        """
        tables, answer_kinds = {}, {}
        for dataset in config.run.datasets:
            question = config.question(READER, dataset)
            family = config.family_reference(dataset)
            files = config.files(dataset, question.variant)
            lists, faults = load(stage_module(family, "reading")).read(files)
            if faults:
                raise InputError(faults)
            parts = load(stage_module(family, "expand")).expand(lists).parts
            tables[dataset] = with_whole_prompts(pl.concat(parts))
            answer_kinds[dataset] = question.answer
        datasets = cls(config, tables, answer_kinds)
        for dataset, table in tables.items():
            datasets._index(dataset, table)
        return datasets

    def _index(self, dataset: str, table: pl.DataFrame) -> None:
        prompt_columns = [name for name in PROMPT_TEXTS if name in table.columns]
        columns = [ITEM_COLUMN, *prompt_columns, *DISTINGUISHING]
        texts = [pl.col(name).cast(pl.String) for name in columns if name in table.columns]
        for row in table.select(texts).iter_rows(named=True):
            # Families without groups or repetitions lack these columns.
            group = row.get("group") or dataset
            repetition = int(row.get("repetition") or 0)
            question = LoggedQuestion(dataset, group, repetition)
            if row.get(ITEM_COLUMN) is not None:
                self.by_item[row[ITEM_COLUMN]].append(question)
            # Two columns may have the same text, which is one prompt.
            prompts = {row[name]: None for name in prompt_columns if row[name] is not None}
            for prompt in prompts:
                self.by_prompt[prompt].append(question)

    def match(self, sample: LogSample) -> Match | None:
        """Returns the instances that a sample answers, by their item or else by a prompt.

        Returns:
            None if no instance has the sample's item or prompt, or if none with its prompt has its
            group and repetition.
        """
        # Datasets of one family read the same fields.
        families = {
            self.config.family_reference(name): self.config.family(name) for name in self.tables
        }
        for family in families.values():
            item = family.item_of_sample(sample.fields)
            if item in self.by_item:
                return Match("item", str(item), self.by_item[str(item)])
        for prompt in (sample.fields.get("prompt"), *sample.prompts):
            if isinstance(prompt, str) and prompt in self.by_prompt:
                questions = self._questions_with_prompt(prompt, sample)
                return Match("prompt", prompt, questions) if questions else None
        return None

    def _questions_with_prompt(self, prompt: str, sample: LogSample) -> list[LoggedQuestion]:
        # Without these fields, the epoch is the repetition, and any group fits.
        fields = {"repetition": sample.epoch, **sample.fields}
        return [
            question
            for question in self.by_prompt[prompt]
            if question.repetition == fields["repetition"]
            and fields.get("group") in (None, question.group)
        ]


def import_logs(
    logs: Sequence[Log], tasks: Sequence[str], config: Path, datasets: Sequence[str], out: Path
) -> list[str]:
    """Writes the samples of logs as precomputed responses to datasets.

    Args:
        logs: the logs of one model.
        tasks: names of tasks of the harness, whose logs are imported; empty for all.
        config: the config that has the datasets.
        datasets: their names; empty for the datasets that the config selects.
        out: the file to write.

    Returns:
        Lines for the terminal.

    Raises:
        InputError: the logs are of several models or of other tasks, samples ask something else
            than the datasets, or an instance of a dataset has no answer, or several that differ.
    """
    place = str(logs[0].path.parent if len(logs) > 1 else logs[0].path)
    selected_logs = select_logs(logs, tasks, place)
    imported = ImportedDatasets.from_config(import_config(config, datasets))
    responses = unique_responses(
        (response for log in selected_logs for response in log_responses(log, imported)), place
    )
    for dataset, table in imported.tables.items():
        needs = AnswerNeeds(MODEL_TASK, imported.answer_kinds[dataset])
        # The file is written only if every instance has its answer.
        _, faults = match_responses(Path(place), responses, table, needs)
        if faults:
            raise InputError(
                replace(fault, problem=f"{dataset}: {fault.problem}") for fault in faults
            )
    write_precomputed(out, responses)
    return import_lines(out, imported, selected_logs[0].source)


def select_logs(logs: Sequence[Log], tasks: Sequence[str], place: str) -> list[Log]:
    """Returns the logs of some tasks, at least one.

    Args:
        logs: the logs.
        tasks: names of tasks of the harness; empty for all.
        place: the file or folder of the logs, for messages.

    Raises:
        InputError: there is no log of a task, or the logs are of several models or runs.
    """
    logged_tasks = list(dict.fromkeys(log.task for log in logs))
    selected_logs = [log for log in logs if not tasks or log.task in tasks]
    faults = list(unknown_names(place, "--task", tasks, logged_tasks))
    if faults:
        raise InputError(faults)
    check_single_run(selected_logs)
    return selected_logs


def import_lines(out: Path, imported: ImportedDatasets, source: Mapping[str, str]) -> list[str]:
    """Returns the lines for the terminal: the answered datasets, and a section for the config.

    Args:
        out: the file that was written.
        imported: the datasets that were answered.
        source: the source of a log, as in `Log`.
    """
    amounts = [f"{len(table):,} instances of {name}" for name, table in imported.tables.items()]
    # A file may be made from the logs of several tasks.
    facts = [f"{name} {value}" for name, value in source.items() if name != HARNESS_TASK]
    label = source.get("model", out.stem)
    section = {"task": MODEL_TASK, "answers": str(out), "kind": "imported", "label": label}
    model = yaml.safe_dump(
        section, default_flow_style=True, sort_keys=False, allow_unicode=True, width=inf
    ).strip()
    return [
        f"{out}: answers to {', '.join(amounts)} ({', '.join(facts)})",
        f"In the config, under models:  NAME: {model}",
    ]


def import_config(path: Path, datasets: Sequence[str]) -> Config:
    """Reads a config for an import: `READER` is the only model of its run.

    Models with precomputed answers are left out, because their files may not exist yet.

    Args:
        path: the config.
        datasets: the datasets to select; empty for the selection of the config, or without one for
            all.

    Raises:
        InputError: the config has faults, no such dataset, or one that is not for models that
            write.
    """
    document = read_document(path)
    all_datasets = section_at(document.content, "datasets")
    faults = list(unknown_names(str(path), "--dataset", datasets, all_datasets))
    if faults:
        raise InputError(faults)
    models = {
        name: model
        for name, model in section_at(document.content, "models").items()
        if not isinstance(model, dict) or "answers" not in model
    }
    reader = {"task": MODEL_TASK, "random": {"seed": 0}, "kind": "imported", "label": READER}
    run = section_at(document.content, "run")
    selection = [*datasets] or run.get("datasets") or [*all_datasets]
    content = document.content | {
        "models": models | {READER: reader},
        "run": {"models": [READER], "datasets": selection},
    }
    lines = document.lines_but({"run": {}, "models": {}})
    config = parse_config(content, str(path), lines, ConfigFolders.of([path], {}))
    unfit = [name for name in selection if not config.fits(READER, name)]
    if unfit:
        expected = f"a dataset for models that write (task {MODEL_TASK})"
        raise InputError(
            Fault(str(path), f"datasets.{name}", "is not for models that write", expected)
            for name in unfit
        )
    return config


def section_at(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Returns a section of an unchecked config, empty if it is missing or no mapping."""
    section = content.get(key)
    return section if isinstance(section, dict) else {}


def log_responses(log: Log, imported: ImportedDatasets) -> Iterator[PrecomputedResponse]:
    """Yields precomputed responses for the samples of a log.

    Raises:
        InputError: the log has no samples, samples of no instance, or items whose instances it
            answers in one order of several. It is raised after the last sample, with all faults.
    """
    first_unmatched: LogSample | None = None
    sample_count = match_count = 0
    faults: list[Fault] = []
    for sample in log.samples:
        sample_count += 1
        match = imported.match(sample)
        if match is None:
            first_unmatched = first_unmatched or sample
            continue
        match_count += 1
        if match.by == "item":
            question = match.questions[0]
            orders = match.questions.count(question)
            if orders > 1:
                problem = (
                    f"the item {match.text} is asked in {orders} orders of {question.dataset}, and "
                    "once in the log"
                )
                expected = "`orders: file` in the dataset"
                faults.append(Fault(str(log.path), sample.where, problem, expected))
        yield from sample_responses(log, sample, match)
    if sample_count == 0:
        expected = "a log that contains its samples"
        faults.append(Fault(str(log.path), "", "contains no samples", expected))
    if first_unmatched is not None:
        datasets = first_few(list(imported.tables))
        share = f"{match_count:,}" if match_count else "none"
        problem = (
            f"{share} of the {sample_count:,} samples of the task {log.task} ask the questions of "
            f"{datasets}; the first one that does not: {shorten_prompt(first_unmatched.prompts[0])}"
        )
        expected = f"a log of {datasets}; use --task or --dataset to choose others"
        faults.append(Fault(str(log.path), first_unmatched.where, problem, expected))
    if faults:
        raise InputError(first_faults(faults, log.path))


def sample_responses(log: Log, sample: LogSample, match: Match) -> Iterator[PrecomputedResponse]:
    """Yields a response for each group and repetition of the instances that a sample answers.

    A response to a dataset without groups has the name of the dataset as its group.

    Args:
        log: the log of the sample.
        sample: the sample.
        match: its instances; the responses have their item or prompt as `prompt`.
    """
    where = f"{log.path.name}, {sample.where}"
    keys = {(question.group, question.repetition): None for question in match.questions}
    for group, repetition in keys:
        yield PrecomputedResponse(
            prompt=match.text,
            group=group,
            repetition=repetition,
            response=sample.response or "",
            where=where,
            scores=sample.scores or None,
            source=log.source,
        )
