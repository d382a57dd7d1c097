"""Matches the samples of a log with instances, and writes them as precomputed responses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

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
from biasgrid.base.references import load, stage
from biasgrid.config import Config, ConfigFolders, parse_config, read_document
from biasgrid.formats.logs.samples import Log, LogSample, one_of_each
from biasgrid.inference.models.precomputed import (
    PROMPT_COLUMNS,
    AnswerNeeds,
    match_responses,
    with_whole_prompts,
)

READER = "imported-log"
"""The model that stands for the log in the config."""
WRITERS = "text-generation"
"""The task of models whose logs are read."""
ITEM, *PROMPTS = PROMPT_COLUMNS
DISTINGUISHING = ("group", "repetition")
"""Columns that tell apart instances with one prompt; samples may have fields of these names."""


class Instance(NamedTuple):
    """An instance as a log may have answered it.

    Attributes:
        dataset: its dataset.
        number: its number there.
        group: the group that it is about, or the name of the dataset if its family has none.
        repetition: the number of times that it was asked before.
    """

    dataset: str
    number: int
    group: str
    repetition: int

    @property
    def request(self) -> tuple[str, str, int]:
        """Everything but the number: instances that share it differ in the order of options."""
        return self.dataset, self.group, self.repetition


@dataclass(frozen=True)
class Requests:
    """The instances of the datasets of an import.

    Attributes:
        config: a config in which one model stands for the log.
        tables: the instances of each dataset, each with its whole prompt in one text.
        answers: the kind of the answers to each dataset.
        by_item: instances by their items.
        by_prompt: instances by each of the texts that a model may have read.
    """

    config: Config
    tables: Mapping[str, pl.DataFrame]
    answers: Mapping[str, str]
    by_item: dict[str, list[Instance]] = field(default_factory=lambda: defaultdict(list))
    by_prompt: dict[str, list[Instance]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, config: Config) -> Requests:
        """Expands the selected datasets.

        Raises:
            InputError: their files have faults.
        """
        tables, answers = {}, {}
        for dataset in config.run.datasets:
            question = config.question(READER, dataset)
            family = config.reference_of_family(dataset)
            files = config.files(dataset, question.variant)
            lists, faults = load(stage(family, "reading")).read(files)
            if faults:
                raise InputError(faults)
            parts = load(stage(family, "expand")).expand(lists).parts
            tables[dataset] = with_whole_prompts(pl.concat(parts))
            answers[dataset] = question.answer
        requests = cls(config, tables, answers)
        for dataset, table in tables.items():
            requests.add(dataset, table)
        return requests

    def add(self, dataset: str, table: pl.DataFrame) -> None:
        """Indexes the instances of a dataset by their items and prompts."""
        prompts = [name for name in PROMPTS if name in table.columns]
        names = [name for name in (ITEM, *prompts, *DISTINGUISHING) if name in table.columns]
        rows = table.select("instance", pl.col(names).cast(pl.String))
        for row in rows.iter_rows(named=True):
            group = row.get("group") or dataset
            repetition = int(row.get("repetition") or 0)
            instance = Instance(dataset, row["instance"], group, repetition)
            if row.get(ITEM) is not None:
                self.by_item[row[ITEM]].append(instance)
            # Two columns may have the same text, which is one prompt.
            texts = {row[name]: None for name in prompts if row[name] is not None}
            for text in texts:
                self.by_prompt[text].append(instance)

    def match(self, sample: LogSample) -> tuple[str, list[Instance]]:
        """Finds the instances that a sample answers, by their item or else by a prompt.

        Returns:
            The item or prompt, and the instances; an empty string and none if nothing matches.
        """
        # One reference stands for all datasets of a family.
        families = {
            self.config.reference_of_family(name): self.config.family(name) for name in self.tables
        }
        for family in families.values():
            item = family.item_of_sample(sample.fields)
            if item in self.by_item:
                return str(item), self.by_item[str(item)]
        for text in (sample.fields.get("prompt"), *sample.prompts):
            if isinstance(text, str) and text in self.by_prompt:
                return text, self.instances_of_prompt(text, sample)
        return "", []

    def instances_of_prompt(self, prompt: str, sample: LogSample) -> list[Instance]:
        """Returns the instances with a prompt that have the sample's repetition and group.

        The sample's epoch is its repetition, and any group fits, unless its fields say otherwise.
        """
        fields = {"repetition": sample.epoch, **sample.fields}
        return [
            instance
            for instance in self.by_prompt[prompt]
            if instance.repetition == fields["repetition"]
            and fields.get("group") in (None, instance.group)
        ]


def import_logs(
    logs: Sequence[Log], tasks: Sequence[str], config: Path, datasets: Sequence[str], out: Path
) -> list[str]:
    """Writes the samples of logs as precomputed responses to datasets.

    Args:
        logs: the logs of one model.
        tasks: the names of their tasks that are imported; empty for all.
        config: the config that has the datasets.
        datasets: their names; empty for those that the config selects.
        out: the file to write.

    Returns:
        Lines for the terminal.

    Raises:
        InputError: the logs are of several models or of other tasks, samples ask something else
            than the datasets, or no sample has answered an instance of these.
    """
    place = str(logs[0].path.parent if len(logs) > 1 else logs[0].path)
    chosen = chosen_logs(logs, tasks, place)
    requests = Requests.of(config_of_import(config, datasets))
    rows = unique_responses((row for log in chosen for row in rows_of_log(log, requests)), place)
    for dataset, table in requests.tables.items():
        needs = AnswerNeeds(WRITERS, requests.answers[dataset])
        _, faults = match_responses(Path(place), rows, table, needs)
        if faults:
            raise InputError(
                replace(fault, problem=f"{dataset}: {fault.problem}") for fault in faults
            )
    write_precomputed(out, rows)
    return lines_of_import(out, requests, chosen[0].source)


def chosen_logs(logs: Sequence[Log], tasks: Sequence[str], place: str) -> list[Log]:
    """Returns the logs of some tasks, or of all if none is named.

    Args:
        logs: the logs.
        tasks: names of tasks.
        place: the file or folder of the logs, for messages.

    Raises:
        InputError: there is no log of a task, or the logs are of several models or runs.
    """
    names = list(dict.fromkeys(log.task for log in logs))
    faults = list(unknown_names(place, "--task", tasks, names))
    chosen = [log for log in logs if not tasks or log.task in tasks]
    faults = faults or one_of_each(chosen)
    if faults:
        raise InputError(faults)
    return chosen


def lines_of_import(out: Path, requests: Requests, source: Mapping[str, str]) -> list[str]:
    """Returns the lines for the terminal: what was imported, and a section for the config.

    Args:
        out: the file that was written.
        requests: the instances that were answered.
        source: the source of a log, as in `Log`.
    """
    counts = [f"{len(table):,} instances of {name}" for name, table in requests.tables.items()]
    facts = [f"{name} {value}" for name, value in source.items() if name != "task"]
    label = source.get("model", out.stem)
    section = {"task": WRITERS, "answers": str(out), "kind": "imported", "label": label}
    model = yaml.safe_dump(
        section, default_flow_style=True, sort_keys=False, allow_unicode=True, width=inf
    ).strip()
    return [
        f"{out}: answers to {', '.join(counts)} ({', '.join(facts)})",
        f"In the config, under models:  NAME: {model}",
    ]


def config_of_import(path: Path, datasets: Sequence[str]) -> Config:
    """Reads a config in which one model stands for the log.

    Other models with answers from files are left out.

    Args:
        path: the config.
        datasets: the datasets to select; empty for those that it selects, or else for all.

    Raises:
        InputError: the config has faults, no such dataset, or one that is not for models that
            write.
    """
    document = read_document(path)
    all_datasets = mapping_at(document.content, "datasets")
    faults = list(unknown_names(str(path), "--dataset", datasets, all_datasets))
    if faults:
        raise InputError(faults)
    models = {
        name: model
        for name, model in mapping_at(document.content, "models").items()
        if not isinstance(model, dict) or "answers" not in model
    }
    reader = {"task": WRITERS, "random": {"seed": 0}, "kind": "imported", "label": READER}
    run = mapping_at(document.content, "run")
    selected = [*datasets] or run.get("datasets") or [*all_datasets]
    content = document.content | {
        "models": models | {READER: reader},
        "run": {"models": [READER], "datasets": selected},
    }
    lines = document.lines_but({"run": {}, "models": {}})
    config = parse_config(content, str(path), lines, ConfigFolders.of([path], {}))
    unfit = [name for name in selected if not config.fits(READER, name)]
    if unfit:
        expected = f"a dataset for models that write (task {WRITERS})"
        raise InputError(
            Fault(str(path), f"datasets.{name}", "is not for models that write", expected)
            for name in unfit
        )
    return config


def mapping_at(content: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Returns a section of an unchecked config, empty if it is missing or no mapping."""
    section = content.get(key)
    return section if isinstance(section, dict) else {}


def rows_of_log(log: Log, requests: Requests) -> Iterator[PrecomputedResponse]:
    """Yields precomputed responses for the samples of a log.

    Raises:
        InputError: some of its samples are of no instance, or of several; raised behind the last
            sample.
    """
    unmatched: LogSample | None = None
    count = matched = 0
    faults: list[Fault] = []
    for sample in log.samples:
        count += 1
        name, instances = requests.match(sample)
        if not instances:
            unmatched = unmatched or sample
            continue
        matched += 1
        first = instances[0]
        orders = sum(instance.request == first.request for instance in instances)
        if name in requests.by_item and orders > 1:
            problem = (
                f"the item {name} is asked in {orders} orders of {first.dataset}, and once "
                "in the log"
            )
            expected = "`orders: file` in the dataset"
            faults.append(Fault(str(log.path), sample.where, problem, expected))
        yield from responses_of_sample(log, sample, name, instances)
    if count == 0:
        expected = "a log that contains its samples"
        faults.append(Fault(str(log.path), "", "contains no samples", expected))
    if unmatched is not None:
        faults.append(unmatched_fault(log, unmatched, matched, count, list(requests.tables)))
    if faults:
        raise InputError(first_faults(faults, log.path))


def responses_of_sample(
    log: Log, sample: LogSample, name: str, instances: Sequence[Instance]
) -> Iterator[PrecomputedResponse]:
    """Yields a sample as responses to instances, one for each group and repetition.

    Args:
        log: the log of the sample.
        sample: the sample.
        name: the item or prompt of the instances.
        instances: the instances that it answers.
    """
    where = f"{log.path.name}, {sample.where}"
    keys = {(instance.group, instance.repetition): None for instance in instances}
    for group, repetition in keys:
        yield PrecomputedResponse(
            prompt=name,
            group=group,
            repetition=repetition,
            response=sample.response or "",
            where=where,
            scores=sample.scores or None,
            source=log.source,
        )


def unmatched_fault(
    log: Log, sample: LogSample, matched: int, count: int, names: Sequence[str]
) -> Fault:
    """Returns the fault of a log with samples of no instance.

    Args:
        log: the log.
        sample: its first sample that matches no instance.
        matched: the number of its samples that match instances.
        count: the number of its samples.
        names: the datasets.
    """
    datasets = first_few(names)
    share = f"{matched:,}" if matched else "none"
    problem = (
        f"{share} of the {count:,} samples of the task {log.task} ask the questions of "
        f"{datasets}; the first one that does not: {shorten_prompt(sample.prompts[0])}"
    )
    expected = f"a log of {datasets}; use --task or --dataset to choose others"
    return Fault(str(log.path), sample.where, problem, expected)
