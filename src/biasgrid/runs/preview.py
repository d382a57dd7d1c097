"""Instances of datasets as models get them: the first ones, with responses, or a random sample of
each dataset.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

import numpy as np
import polars as pl

from biasgrid.base.faults import Fault, InputError, UserError, unknown_names
from biasgrid.base.references import load, stage
from biasgrid.config import Config, load_word_lists
from biasgrid.runs.counts import instances_to_ask
from biasgrid.runs.layout import Layout
from biasgrid.tables.files import read_table
from biasgrid.tables.instances import read_instances, request_columns
from biasgrid.tables.provenance import cell_provenance
from biasgrid.tables.schema import answer_schema

PAIRS_TASK = "text-classification"
"""The task whose models read a second text behind the first, such as a premise and a hypothesis."""


class Preview(NamedTuple):
    """What is shown of a dataset.

    Attributes:
        asked: instances as a model gets them.
        said: its answers to them, None without a model.
        observed: what was observed in these, in the family's columns, None without a model.
    """

    asked: pl.DataFrame
    said: pl.DataFrame | None = None
    observed: pl.DataFrame | None = None


def preview_dataset(
    config: Config, dataset: str, model: str | None, count: int, source: str
) -> Preview:
    """Looks at the first instances of a dataset.

    Args:
        config: the config.
        dataset: a dataset of the config.
        model: a model whose answers are shown too; without one the first variant of the dataset is
            shown.
        count: how many instances.
        source: the config's file, for messages.

    Raises:
        InputError: there is no such dataset or model, or the dataset is not for the model.
        UserError: the model has not answered the dataset.
    """
    faults = list(unknown_names(source, "--dataset", [dataset], config.datasets))
    if model is not None:
        faults += unknown_names(source, "--model", [model], config.models)
    if not faults and model is not None and not config.fits(model, dataset):
        faults.append(
            Fault(
                source,
                "--model",
                f"{dataset!r} is not for {model!r}",
                config.family(dataset).expected,
            )
        )
    if faults:
        raise InputError(faults)
    return (
        Preview(first_instances(config, dataset, count, source))
        if model is None
        else first_responses(config, dataset, model, count)
    )


def first_instances(config: Config, dataset: str, count: int, source: str) -> pl.DataFrame:
    """Expands the first instances of a dataset's first variant; subjects that a tokenizer would
    drop are there.
    """
    variants = [key for key in config.needed_variants if key[0] == dataset]
    if not variants:
        raise InputError(
            [
                Fault(
                    source,
                    "--dataset",
                    f"{dataset!r} is not asked of any selected model",
                    "--model MODEL",
                )
            ]
        )
    lists = load_word_lists(config)[variants[0]]
    expansion = load(stage(config.reference_of_family(dataset), "expand")).expand(lists)
    rows: pl.DataFrame = next(iter(expansion.parts)).head(count)
    return rows.select("instance", *request_columns(rows.columns))


class SampledText(NamedTuple):
    """An instance in a sample for readers.

    Attributes:
        dataset: its dataset.
        variant: the variant of that.
        instance: its number.
        text: all that a model reads, in the order in which it does.
        candidates: the texts whose probabilities are read.
    """

    dataset: str
    variant: str
    instance: int
    text: str
    candidates: str


def sample_datasets(
    config: Config, dataset: str | None, count: int, seed: int, source: str
) -> Iterator[SampledText]:
    """Yields a random sample of the instances of each variant of datasets, of all that models of
    the config answer.

    Models and datasets need not be selected. Subjects that a tokenizer would drop are there.

    Args:
        config: the config.
        dataset: a dataset of the config; None for all.
        count: how many instances of each variant.
        seed: which ones; what is drawn of one variant does not depend on the others.
        source: the config's file, for messages.

    Raises:
        InputError: there is no such dataset, or files of datasets cannot be used, with every fault
            in them.
    """
    names = [dataset] if dataset is not None else list(config.datasets)
    if faults := list(unknown_names(source, "--dataset", names, config.datasets)):
        raise InputError(faults)
    tasks = {
        (name, config.question(model, name).variant): entry.task
        for name in names
        for model, entry in config.models.items()
        if config.fits(model, name) and not entry.source.brings_instances
    }
    if not tasks:
        raise InputError(
            [
                Fault(
                    source,
                    "datasets",
                    "no model fits any of them",
                    "a model that fits one of the datasets",
                )
            ]
        )
    read = {
        key: load(stage(config.reference_of_family(key[0]), "reading")).read(config.files(*key))
        for key in tasks
    }
    if faults := [fault for _, wrong in read.values() for fault in wrong]:
        raise InputError(dict.fromkeys(faults))
    for (name, variant), (lists, _) in read.items():
        family = config.reference_of_family(name)
        there = instances_to_ask(family, lists, None).instances
        random = np.random.default_rng([seed, crc32(f"{name}/{variant}".encode())])
        # Of statements a few have the text of another one, and are not there.
        drawn = random.choice(there, min(there, 2 * count), replace=False)
        rows = load(stage(family, "expand")).expand(lists).requests_at(np.sort(drawn))
        chosen = rows.sample(min(count, len(rows)), seed=seed, shuffle=True).sort("instance")
        for row in chosen.iter_rows(named=True):
            order = (
                ("text", "text_pair")
                if tasks[name, variant] == PAIRS_TASK
                else ("text_pair", "text")
            )
            texts = [row.get(column) for column in ("system", *order)]
            candidates = [
                row[column]
                for column in row
                if column.startswith("candidate") and row[column] is not None
            ]
            yield SampledText(
                name,
                variant,
                row["instance"],
                " | ".join(filter(None, texts)),
                ", ".join(candidates),
            )


def first_responses(config: Config, dataset: str, model: str, count: int) -> Preview:
    """Reads the first instances of a cell and the responses to them."""
    layout, question = Layout(config), config.question(model, dataset)
    tables = layout.predictions_of_cell(dataset, model)
    missing = [table for table in tables if not table.exists()]
    if missing:
        raise UserError(
            f"there is no {missing[0]}, because {model} has not answered {dataset}; "
            "run snakemake first"
        )
    cell_provenance(layout.instances_of_cell(dataset, model), tables)
    family = config.reference_of_family(dataset)
    keys, stages = load(stage(family, "keys")).KEYS, load(stage(family, "measures"))
    instances = read_instances(layout.instances_of_cell(dataset, model), keys)
    responses = pl.concat(read_table(table, answer_schema(question.answer)) for table in tables)
    observed = stages.observe(instances, responses, question.options)
    asked = instances.select("instance", *request_columns(instances.columns))
    return Preview(asked.head(count), responses.head(count), observed.head(count))
