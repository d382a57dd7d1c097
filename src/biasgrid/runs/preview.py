"""The first instances of a dataset as a model gets them, and its responses."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from biasgrid.base.faults import Fault, InputError, UserError, unknown_names
from biasgrid.base.references import load, stage
from biasgrid.config import Config, load_word_lists
from biasgrid.runs.layout import Layout
from biasgrid.tables.files import read_table
from biasgrid.tables.instances import read_instances, request_columns
from biasgrid.tables.provenance import cell_provenance
from biasgrid.tables.schema import answer_schema


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


def preview_dataset(config: Config, dataset: str, model: str | None, count: int, source: str) -> Preview:
    """Looks at the first instances of a dataset.

    Args:
        config: the config.
        dataset: a dataset of the config.
        model: a model whose answers are shown too; without one the first variant of the dataset is shown.
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
        faults.append(Fault(source, "--model", f"{dataset!r} is not for {model!r}", config.family(dataset).expected))
    if faults:
        raise InputError(faults)
    return (
        Preview(first_instances(config, dataset, count, source))
        if model is None
        else first_responses(config, dataset, model, count)
    )


def first_instances(config: Config, dataset: str, count: int, source: str) -> pl.DataFrame:
    """Expands the first instances of a dataset's first variant; subjects that a tokenizer would drop are there."""
    variants = [key for key in config.needed_variants if key[0] == dataset]
    if not variants:
        raise InputError([Fault(source, "--dataset", f"{dataset!r} is asked of no selected model", "--model MODEL")])
    lists = load_word_lists(config)[variants[0]]
    expansion = load(stage(config.reference_of_family(dataset), "expand")).expand(lists)
    rows: pl.DataFrame = next(iter(expansion.parts)).head(count)
    return rows.select("instance", *request_columns(rows.columns))


def first_responses(config: Config, dataset: str, model: str, count: int) -> Preview:
    """Reads the first instances of a cell and the responses to them."""
    layout, question = Layout(config), config.question(model, dataset)
    tables = layout.predictions_of_cell(dataset, model)
    missing = [table for table in tables if not table.exists()]
    if missing:
        raise UserError(f"there is no {missing[0]}: {model} has not answered {dataset}; run snakemake first")
    cell_provenance(layout.instances_of_cell(dataset, model), tables)
    family = config.reference_of_family(dataset)
    keys, stages = load(stage(family, "keys")).KEYS, load(stage(family, "measures"))
    instances = read_instances(layout.instances_of_cell(dataset, model), keys)
    responses = pl.concat(read_table(table, answer_schema(question.answer)) for table in tables)
    observed = stages.observe(instances, responses, question.options)
    asked = instances.select("instance", *request_columns(instances.columns))
    return Preview(asked.head(count), responses.head(count), observed.head(count))
