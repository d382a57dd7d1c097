"""Finds what the samples of a log answer among the instances of datasets, and writes it as
precomputed responses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from typing import NamedTuple

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
TELLING = ("group", "repetition")
"""Fields of a sample that say which of several instances with one prompt it answers."""


class Instance(NamedTuple):
    """An instance as a log may have answered it.

    Attributes:
        dataset: its dataset.
        number: its number there.
        group: the group that it is about, or the name of the dataset where its family has none.
        repetition: which time it is asked.
    """

    dataset: str
    number: int
    group: str
    repetition: int


@dataclass(frozen=True)
class Requests:
    """What the datasets of an import ask.

    Attributes:
        tables: the instances of each dataset, with what is asked in one text.
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
            question, family = config.question(READER, dataset), config.reference_of_family(dataset)
            lists, faults = load(stage(family, "reading")).read(
                config.files(dataset, question.variant)
            )
            if faults:
                raise InputError(faults)
            parts = load(stage(family, "expand")).expand(lists).parts
            tables[dataset], answers[dataset] = (
                with_whole_prompts(pl.concat(parts)),
                question.answer,
            )
        requests = cls(config, tables, answers)
        for dataset, table in tables.items():
            requests.add(dataset, table)
        return requests

    def add(self, dataset: str, table: pl.DataFrame) -> None:
        """Makes the instances of a dataset known by their items and prompts."""
        texts = [name for name in PROMPTS if name in table.columns]
        shown = [name for name in (ITEM, *texts, *TELLING) if name in table.columns]
        for row in table.select("instance", pl.col(shown).cast(pl.String)).iter_rows(named=True):
            instance = Instance(
                dataset,
                row["instance"],
                row.get("group") or dataset,
                int(row.get("repetition") or 0),
            )
            if row.get(ITEM) is not None:
                self.by_item[row[ITEM]].append(instance)
            for text in dict.fromkeys(row[name] for name in texts if row[name] is not None):
                self.by_prompt[text].append(instance)

    def found(self, sample: LogSample) -> tuple[str, list[Instance]]:
        """Returns the name by which a sample is found, and the instances that it answers, if
        any.
        """
        families = {
            self.config.reference_of_family(name): self.config.family(name) for name in self.tables
        }
        for family in families.values():
            item = family.item_of_sample(sample.fields)
            if item in self.by_item:
                return str(item), self.by_item[str(item)]
        texts = (
            text for text in (sample.fields.get("prompt"), *sample.prompts) if isinstance(text, str)
        )
        prompt = next((text for text in texts if text in self.by_prompt), None)
        if prompt is None:
            return "", []
        fields = {"repetition": sample.epoch, **sample.fields}
        same = [
            one
            for one in self.by_prompt[prompt]
            if one.repetition == fields["repetition"] and fields.get("group") in (None, one.group)
        ]
        return prompt, same


def import_logs(
    logs: Sequence[Log], tasks: Sequence[str], config: Path, datasets: Sequence[str], out: Path
) -> list[str]:
    """Writes the samples of logs as precomputed responses to datasets.

    Args:
        logs: the logs of one model.
        tasks: those of their tasks that are imported; all without any.
        config: the config that has the datasets.
        datasets: their names; those that the config selects without any.
        out: the file to write.

    Returns:
        Lines for the terminal.

    Raises:
        InputError: the logs are of several models or of other tasks, samples ask what the datasets
            do not, or these ask what no sample has answered.
    """
    place = str(logs[0].path.parent if len(logs) > 1 else logs[0].path)
    names = list(dict.fromkeys(log.task for log in logs))
    faults = list(unknown_names(place, "--task", tasks, names))
    chosen = [log for log in logs if not tasks or log.task in tasks]
    faults = faults or one_of_each(chosen)
    if faults:
        raise InputError(faults)
    requests = Requests.of(config_of_import(config, datasets))
    rows = unique_responses((row for log in chosen for row in rows_of_log(log, requests)), place)
    for dataset, table in requests.tables.items():
        missing = match_responses(
            Path(place), rows, table, AnswerNeeds(WRITERS, requests.answers[dataset])
        )[1]
        if missing:
            raise InputError(replace(one, problem=f"{dataset}: {one.problem}") for one in missing)
    write_precomputed(out, rows)
    answered = ", ".join(
        f"{len(table):,} instances of {name}" for name, table in requests.tables.items()
    )
    source = ", ".join(
        f"{name} {value}" for name, value in chosen[0].source.items() if name != "task"
    )
    label = chosen[0].source.get("model", out.stem)
    section = {"task": WRITERS, "answers": str(out), "kind": "imported", "label": label}
    model = yaml.safe_dump(
        section, default_flow_style=True, sort_keys=False, allow_unicode=True, width=inf
    ).strip()
    return [
        f"{out}: answers to {answered} ({source})",
        f"In the config, under models:  NAME: {model}",
    ]


def config_of_import(path: Path, datasets: Sequence[str]) -> Config:
    """Reads a config in which one model stands for the log; other models with answers from files
    are left out.

    Raises:
        InputError: the config has faults, no such dataset, or one that is not for models that
            write.
    """
    document = read_document(path)
    content, folders = document.content, ConfigFolders.of([path], {})
    known, models, run = (
        section if isinstance(section := content.get(key), dict) else {}
        for key in ("datasets", "models", "run")
    )
    faults = list(unknown_names(str(path), "--dataset", datasets, known))
    if faults:
        raise InputError(faults)
    models = {
        name: section
        for name, section in models.items()
        if not isinstance(section, dict) or "answers" not in section
    }
    reader = {"task": WRITERS, "random": {"seed": 0}, "kind": "imported", "label": READER}
    selected = [*datasets] or run.get("datasets") or [*known]
    changed = content | {
        "models": models | {READER: reader},
        "run": {"models": [READER], "datasets": selected},
    }
    config = parse_config(
        changed, str(path), document.lines_but({"run": {}, "models": {}}), folders
    )
    unfit = [name for name in selected if not config.fits(READER, name)]
    if unfit:
        expected = f"a dataset for models that write (task {WRITERS})"
        raise InputError(
            Fault(str(path), f"datasets.{name}", "is not for models that write", expected)
            for name in unfit
        )
    return config


def rows_of_log(log: Log, requests: Requests) -> Iterator[PrecomputedResponse]:
    """Yields the precomputed responses that a log has.

    Raises:
        InputError: some of its samples are of no instance, or of several.
    """
    first, count, fitting, faults = None, 0, 0, list[Fault]()
    datasets = first_few(list(requests.tables))
    for count, sample in enumerate(log.samples, start=1):  # noqa: B007
        name, instances = requests.found(sample)
        if not instances:
            first = first or sample
            continue
        fitting += 1
        same = [
            one for one in instances if one[:1] + one[2:] == instances[0][:1] + instances[0][2:]
        ]
        if name in requests.by_item and len(same) > 1:
            problem = (
                f"the item {name} is asked in {len(same)} orders of {same[0].dataset}, and once "
                "in the log"
            )
            faults.append(
                Fault(str(log.path), sample.where, problem, "`orders: file` in the dataset")
            )
        for group, repetition in dict.fromkeys(one[2:] for one in instances):
            said, where = sample.response or "", f"{log.path.name}, {sample.where}"
            yield PrecomputedResponse(
                name, group, repetition, said, where, sample.scores or None, log.source
            )
    if not count:
        faults.append(
            Fault(str(log.path), "", "contains no samples", "a log that contains its samples")
        )
    if first:
        problem = (
            f"{f'{fitting:,}' if fitting else 'none'} of the {count:,} samples of the task "
            f"{log.task} ask the "
        )
        problem += (
            f"questions of {datasets}; the first one that "
            f"does not: {shorten_prompt(first.prompts[0])}"
        )
        expected = f"a log of {datasets}; use --task or --dataset to choose others"
        faults.append(Fault(str(log.path), first.where, problem, expected))
    if faults:
        raise InputError(first_faults(faults, log.path))
