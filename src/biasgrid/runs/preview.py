"""Instances of datasets as models read them: the first ones with responses, or a random sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import polars as pl

from biasgrid.base.faults import Fault, InputError, UserError, unknown_names
from biasgrid.base.references import load, stage_module
from biasgrid.config import Config, load_word_lists
from biasgrid.families.family import Lists
from biasgrid.runs.counts import instances_to_ask
from biasgrid.runs.layout import Layout
from biasgrid.tables.files import read_table
from biasgrid.tables.instances import read_instances, request_columns
from biasgrid.tables.provenance import cell_provenance
from biasgrid.tables.schema import answer_schema

PAIRS_TASK = "text-classification"
"""The task whose models read the second text of a pair last, such as a hypothesis."""


class Preview(NamedTuple):
    """The first instances of a dataset, and their observations if a model was named.

    Attributes:
        requests: instances as a model reads them.
        responses: its answers, in the order of its tables; None without a model.
        observations: their observations, in the family's columns; None without a model. A row of
            these need not be a row of `requests`.
    """

    requests: pl.DataFrame
    responses: pl.DataFrame | None = None
    observations: pl.DataFrame | None = None


def preview_dataset(
    config: Config, dataset: str, model: str | None, row_count: int, source: str
) -> Preview:
    """Returns the first instances of a dataset.

    Args:
        config: the config.
        dataset: the name of the dataset.
        model: the name of a model, whose instances and answers are returned; None for the instances
            of the first variant of the dataset.
        row_count: the maximum number of rows of each table.
        source: the config's file, for messages.

    Raises:
        InputError: there is no such dataset or model, or the model cannot answer the dataset.
        UserError: the model has not answered the dataset.
    """
    faults = list(unknown_names(source, "--dataset", [dataset], config.datasets))
    if model is not None:
        faults += unknown_names(source, "--model", [model], config.models)
        if not faults and not config.fits(model, dataset):
            problem = f"{dataset!r} is not for {model!r}"
            faults.append(Fault(source, "--model", problem, config.family(dataset).expected))
    if faults:
        raise InputError(faults)
    if model is None:
        return Preview(expand_instances(config, dataset, row_count, source))
    return read_responses(config, dataset, model, row_count)


def expand_instances(config: Config, dataset: str, row_count: int, source: str) -> pl.DataFrame:
    """Expands the first instances of a dataset's first variant.

    No tokenizer is read, so subjects that one would drop are among them. Arguments and errors as in
    `preview_dataset`.
    """
    variants = [key for key in config.needed_variants if key[0] == dataset]
    if not variants:
        problem = f"{dataset!r} is not asked of any selected model"
        raise InputError([Fault(source, "--dataset", problem, "--model MODEL")])
    lists = load_word_lists(config)[variants[0]]
    expansion = load(stage_module(config.family_reference(dataset), "expand")).expand(lists)
    rows: pl.DataFrame = next(iter(expansion.parts)).head(row_count)
    return rows.select("instance", *request_columns(rows.columns))


class SampledText(NamedTuple):
    """An instance in a sample for human readers.

    Attributes:
        dataset: its dataset.
        variant: the variant of the dataset.
        instance: its number.
        text: all texts that a model reads, in its order, separated by ` | `.
        candidates: the texts whose probabilities are read, separated by commas; may be empty.
    """

    dataset: str
    variant: str
    instance: int
    text: str
    candidates: str


def sample_datasets(
    config: Config, dataset: str | None, size: int, seed: int, source: str
) -> Iterator[SampledText]:
    """Yields a random sample of the instances of each variant that models of the config answer.

    Models and datasets need not be selected. Imported models are left out. If models of several
    tasks answer a variant, its texts are in the order in which the last of them reads. No tokenizer
    is read, so subjects that one would drop are among them.

    Args:
        config: the config.
        dataset: the name of a dataset; None for all.
        size: the number of instances of each variant; fewer if there are fewer.
        seed: the seed; the sample of a variant does not depend on the others.
        source: the config's file, for messages.

    Raises:
        InputError: there is no such dataset, no model can answer one, or their files have faults.
    """
    names = [dataset] if dataset is not None else list(config.datasets)
    name_faults = list(unknown_names(source, "--dataset", names, config.datasets))
    if name_faults:
        raise InputError(name_faults)
    tasks = variant_tasks(config, names)
    if not tasks:
        expected = "a model that fits one of the datasets"
        raise InputError([Fault(source, "datasets", "no model fits any of them", expected)])
    lists_of_variants = {}
    # Variants may share files, whose faults count once.
    file_faults: dict[Fault, None] = {}
    for name, variant in tasks:
        reading = load(stage_module(config.family_reference(name), "reading"))
        lists, faults = reading.read(config.files(name, variant))
        lists_of_variants[name, variant] = lists
        file_faults |= dict.fromkeys(faults)
    if file_faults:
        raise InputError(file_faults)
    for (name, variant), lists in lists_of_variants.items():
        random = np.random.default_rng([seed, crc32(f"{name}/{variant}".encode())])
        rows = sample_instances(config.family_reference(name), lists, size, seed, random)
        for row in rows.iter_rows(named=True):
            text = text_to_read(row, tasks[name, variant])
            yield SampledText(name, variant, row["instance"], text, candidates_to_read(row))


def variant_tasks(config: Config, datasets: Sequence[str]) -> dict[tuple[str, str], str]:
    """Returns by dataset and variant the task of the last model of the config that answers it.

    Imported models are left out, because their dumps have instances of their own. So are variants
    that no model answers.
    """
    tasks = {}
    for dataset in datasets:
        for model, entry in config.models.items():
            if config.fits(model, dataset) and not entry.source.brings_instances:
                tasks[dataset, config.question(model, dataset).variant] = entry.task
    return tasks


def sample_instances(
    family: str, lists: Lists, size: int, seed: int, random: np.random.Generator
) -> pl.DataFrame:
    """Returns a random sample of the instances of word lists, sorted by `instance`.

    Args:
        family: the reference of the family.
        lists: the word lists.
        size: the number of instances; fewer if there are fewer.
        seed: the seed of the draw among the expanded instances.
        random: the generator of the draw of instances to expand.
    """
    instances = instances_to_ask(family, lists, None).instances
    # Twice as many, because instances with the text of another one are not made.
    draws = random.choice(instances, min(instances, 2 * size), replace=False)
    rows: pl.DataFrame = (
        load(stage_module(family, "expand")).expand(lists).requests_at(np.sort(draws))
    )
    return rows.sample(min(size, len(rows)), seed=seed, shuffle=True).sort("instance")


def text_to_read(row: Mapping[str, Any], task: str) -> str:
    """Returns the texts of an instance in the order in which models of a task read them."""
    if task == PAIRS_TASK:
        columns = ("system", "text", "text_pair")
    else:
        columns = ("system", "text_pair", "text")
    texts = [row.get(column) for column in columns]
    return " | ".join(text for text in texts if text)


def candidates_to_read(row: Mapping[str, Any]) -> str:
    """Returns the candidates of an instance, separated by commas."""
    columns = [column for column in row if column.startswith("candidate")]
    return ", ".join(row[column] for column in columns if row[column] is not None)


def read_responses(config: Config, dataset: str, model: str, row_count: int) -> Preview:
    """Reads the first instances of a cell, with responses and observations.

    All rows are observed, since an observation may need several instances.

    Raises:
        UserError: a table is missing, or the predictions are for other instances.
    """
    layout, question = Layout(config), config.question(model, dataset)
    instances_table = layout.instances_of_cell(dataset, model)
    tables = layout.predictions_of_cell(dataset, model)
    missing = [table for table in tables if not table.exists()]
    if missing:
        raise UserError(
            f"there is no {missing[0]}, because {model} has not answered {dataset}; "
            "run the config first, with `biasgrid run`"
        )
    cell_provenance(instances_table, tables)
    family = config.family_reference(dataset)
    keys = load(stage_module(family, "keys")).KEYS
    instances = read_instances(instances_table, keys)
    responses = pl.concat(read_table(table, answer_schema(question.answer)) for table in tables)
    observations = load(stage_module(family, "observe")).observe(
        instances, responses, question.measure_options
    )
    requests = instances.select("instance", *request_columns(instances.columns))
    return Preview(
        requests.head(row_count), responses.head(row_count), observations.head(row_count)
    )
