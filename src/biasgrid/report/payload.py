"""Blocks of compressed JSON, of the grid and of each cell, that the page's script draws."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from biasgrid.families.evidence import Sentences, example_payloads
from biasgrid.families.page import (
    NOT_READ_TABLE,
    CellTables,
    cell_tables,
    page_rows,
    tables_of_groups,
)
from biasgrid.report.first_screen import Screen
from biasgrid.report.run import ReportDataset, ReportRun, ReportTables
from biasgrid.tables.claims.numbers import display_range, measure_range
from biasgrid.tables.key_columns import KEYS, is_about_whole
from biasgrid.tables.measures import MARK_COLUMNS, MEASURE_KEYS

MOST_PART_NUMBERS = 2000
"""Maximum number of numbers about parts of a cell, if its family has no view of its own."""
PAYLOAD_NUMBERS = ("value", "low", "high", "null_mean", "p", "q")
COMPARISON_COLUMNS = ("value", "other_value", "difference", "low", "high", "q")
RANK_COLUMNS = (
    "measure",
    "options",
    "bias_type",
    "set",
    "model",
    "rank",
    "rank_low",
    "rank_high",
    "models",
)
EXAMPLES_AT_ONCE, FIRST_GUESS = 64, 16
"""Number of a cell's examples that are gathered at once, and first guess of how many will fit."""
TAG_BYTES = len('<script type="application/gzip" id=""></script>\n')
"""Number of bytes around a block and its id."""


class ExampleTexts:
    """The examples of a cell as JSON texts, the most important first.

    Each text is made when it is first needed, as most examples do not fit on the page.
    """

    def __init__(self, examples: Sequence[Mapping[str, Any]]) -> None:
        self._examples = examples
        # As text, since dictionaries by the million hold up the garbage collector.
        self._texts: list[str] = []

    def __len__(self) -> int:
        """The number of examples."""
        return len(self._examples)

    def most_important(self, most: int) -> list[str]:
        """Returns the texts of at most so many examples."""
        while len(self._texts) < min(most, len(self)):
            start = len(self._texts)
            examples = self._examples[start : start + EXAMPLES_AT_ONCE]
            self._texts += map(json_text, examples)
        return self._texts[:most]


@dataclass(frozen=True)
class Blocks:
    """The blocks that the page's script reads, by their ids.

    Attributes:
        every_page: the packed blocks of every page, by id.
        numbers_by_dataset: the packed numbers of the cells of each dataset, by id.
        sentences_by_dataset: the sentences that the cells of each dataset may carry, by the id of
            the cell's block.
    """

    every_page: Mapping[str, str]
    numbers_by_dataset: Mapping[str, Mapping[str, str]]
    sentences_by_dataset: Mapping[str, Mapping[str, ExampleTexts]]


def blocks(run: ReportRun, tables: ReportTables, screen: Screen) -> Blocks:
    """Returns the blocks of the page; the same tables give the same bytes.

    Args:
        run: models, datasets and facts of the run.
        tables: the measures of the run.
        screen: the content of the first screen.
    """
    cells = tables_by_cell(tables)
    datasets = {dataset.name: dataset for dataset in run.datasets}
    common = {name: dataset_block(dataset, cells) for name, dataset in datasets.items()}
    numbers: dict[str, dict[str, str]] = {name: {} for name in datasets}
    sentences: dict[str, dict[str, ExampleTexts]] = {name: {} for name in datasets}
    comparisons = tables.comparisons.partition_by(
        "dataset", "model", "other_model", as_dict=True, maintain_order=True
    )
    # A page is of one pair of models, and unpacks no other.
    for (name, *pair), rows in comparisons.items():
        block_id = "/".join(["compared", name, *pair])
        numbers[name][block_id] = packed_block(comparison_rows(rows))
    for (model, name), cell in cells.items():
        dataset = datasets[name]
        rows = tables.summary.filter(model=model, dataset=name)
        block = cell_block(cell, dataset, common[name], rows)
        numbers[name][f"cell/{model}/{name}"] = packed_block(block)
        examples = evidence_by_weight(cell, dataset, common[name])
        sentences[name][f"evidence/{model}/{name}"] = ExampleTexts(examples)
    return Blocks(every_page_blocks(run, tables, screen, common), numbers, sentences)


def every_page_blocks(
    run: ReportRun, tables: ReportTables, screen: Screen, common: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Returns the packed blocks of every page, by id: the core, config, datasets and ranks.

    Args:
        run: models, datasets and facts of the run.
        tables: the measures of the run.
        screen: the content of the first screen.
        common: the content that the cells of each dataset share, by dataset.
    """
    blocks_by_id = {"core": packed_block(core(run, tables, screen))}
    if run.settings:
        blocks_by_id["config"] = packed_block(run.settings)
    for dataset in run.datasets:
        block = dict(common[dataset.name])
        if any(dataset.templates):
            # Each text is one line, whatever its white space.
            block["templates"] = [" ".join(text.split()) for text in dataset.templates]
        if block:
            blocks_by_id[f"dataset/{dataset.name}"] = packed_block(block)
    ranks = tables.ranks.partition_by("dataset", as_dict=True)
    for (name,), rows in ranks.items():
        blocks_by_id[f"ranks/{name}"] = packed_block(rank_rows(rows))
    return blocks_by_id


def tables_by_cell(tables: ReportTables) -> dict[tuple[str, str], CellTables]:
    """Returns the tables of each cell, by model and dataset, in the order of the summary."""
    measures = tables.measures.partition_by("model", "dataset", as_dict=True)
    examples = tables.examples.partition_by("model", "dataset", as_dict=True)
    parts = tables.parts.partition_by("model", "dataset", as_dict=True)
    cells = {}
    for cell in tables.summary.select("model", "dataset").unique(maintain_order=True).rows():
        cells[cell] = CellTables(
            measures.get(cell, tables.measures.clear()),
            examples.get(cell, tables.examples.clear()),
            parts.get(cell, tables.parts.clear()),
        )
    return cells


def core(run: ReportRun, tables: ReportTables, screen: Screen) -> dict[str, Any]:
    """Returns the block of every page, and the texts that the first screen hides until a click."""
    models = [
        {"name": model.name, "label": model.label, "kind": model.kind, "task": model.task}
        for model in run.models
    ]
    datasets = []
    for dataset in run.datasets:
        control_of = run.controls.datasets.get(dataset.name)
        datasets.append({**dataset_description(dataset), "control_of": control_of})
    return {
        "title": run.title,
        "config": run.config,
        "results": run.results,
        "level": run.level,
        "screen": screen_block(screen),
        "models": models,
        "datasets": datasets,
        "cells": asked_cells(tables.summary),
        "keys": [
            {"name": key.name, "is_part": key.is_part, "on_page": key.on_page} for key in KEYS
        ],
    }


def screen_block(screen: Screen) -> dict[str, Any]:
    """Returns the hidden texts of the first screen, its example and its tiles."""
    largest = {}
    for position, row in enumerate(screen.rows):
        if row.largest:
            largest[str(position)] = {
                "what": row.largest.what,
                "is_hidden": row.largest.is_hidden,
                "address": row.largest.address,
            }
    example: Any = screen.example
    if example:
        example = f"{example['context'] or ''} {example['question']}".strip()
    return {"largest": largest, "example": example, "tiles": screen.tiles}


def dataset_description(dataset: ReportDataset) -> dict[str, Any]:
    """Returns the facts of a dataset and its measures."""
    measures = {}
    for name, measure in dataset.measures.items():
        value_range = display_range(name, measure_range(measure))
        measures[name] = {
            "title": measure.title,
            "symbol": measure.symbol,
            "meaning": measure.meaning,
            "unit": measure.unit,
            "fair": measure.fair,
            # JSON has no infinite numbers.
            "within": [end if math.isfinite(end) else None for end in value_range],
        }
    return {
        "name": dataset.name,
        "title": dataset.title,
        "family": dataset.family,
        "sensitive": dataset.sensitive,
        "measures": measures,
    }


def asked_cells(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns a row per cell.

    Returns:
        `model`, `dataset`, `flag` (the first reason why a headline is withheld, null without one)
        and `is_withheld` (whether all headlines are).
    """
    cells = summary.filter("headline").group_by("model", "dataset", maintain_order=True)
    flag = pl.col("flag").drop_nulls().first()
    is_withheld = pl.col("value").is_null().all()
    return cells.agg(flag=flag, is_withheld=is_withheld).to_dicts()


def comparison_rows(comparisons: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns the differences of two models on a dataset that rule compare keeps."""
    names = (
        "measure",
        "options",
        *MEASURE_KEYS,
        "clusters",
        "other_factors",
        "paired",
        "mark",
        "other_mark",
        "reason",
    )
    return page_rows(comparisons, names, COMPARISON_COLUMNS)


def rank_rows(ranks: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns the ranks of models on a dataset in ascending order, with their intervals."""
    ascending = ranks.sort("measure", "options", "bias_type", "set", "rank", maintain_order=True)
    return page_rows(ascending, RANK_COLUMNS, ("value",))


def dataset_block(
    dataset: ReportDataset, cells: Mapping[tuple[str, str], CellTables]
) -> dict[str, Any]:
    """Returns the content that the cells of a dataset share; empty if its family has none."""
    make = getattr(dataset.module("page"), "dataset_payload", None)
    if make is None:
        return {}
    own_cells = {}
    for (model, name), cell in cells.items():
        if name == dataset.name:
            own_cells[model] = cell
    block: dict[str, Any] = make(own_cells)
    return block


def cell_block(
    cell: CellTables, dataset: ReportDataset, common: Mapping[str, Any], summary: pl.DataFrame
) -> dict[str, Any]:
    """Returns the content of a cell's page: its rows of the summary, and its parts.

    The parts are the tables that the family specifies, unless its page is a drawing of its own;
    without tables, or without a family, they are the numbers of all parts.

    Args:
        cell: the tables of the cell.
        dataset: its dataset.
        common: the content that the cells of the dataset share, from `dataset_block`.
        summary: its rows of the summary.
    """
    keys = ("measure", "options", "bias_type", "n", "left_out", "flag", *MARK_COLUMNS)
    block: dict[str, Any] = {"summary": page_rows(summary, keys, PAYLOAD_NUMBERS)}
    page = dataset.module("page")
    make = getattr(page, "cell_payload", None)
    if make is not None:
        drawing: dict[str, Any] = make(cell, common)
        return block | drawing
    tables = []
    if dataset.reference:
        tables += cell_tables(cell.measures, [*getattr(page, "TABLES", ()), NOT_READ_TABLE])
        tables += tables_of_groups(cell.measures)
    if tables:
        return block | {"tables": tables}
    part_rows = cell.measures.filter(~is_about_whole())
    names = ("measure", "options", "n", *MEASURE_KEYS)
    block["keyed"] = page_rows(part_rows.head(MOST_PART_NUMBERS), names, PAYLOAD_NUMBERS)
    block["keyed_of"] = len(part_rows)
    return block


def evidence_by_weight(
    cell: CellTables, dataset: ReportDataset, common: Mapping[str, Any]
) -> Sequence[dict[str, Any]]:
    """Returns the sentences that a cell may carry, the most important first."""
    make = getattr(dataset.module("page"), "examples", None)
    if make is not None:
        examples: Sequence[dict[str, Any]] = make(cell, common)
        return examples
    sentences: Sentences | None = getattr(dataset.module("evidence"), "SENTENCES", None)
    if sentences is None:
        return example_payloads(cell.examples)
    return example_payloads(cell.examples, sentences.explained, sentences.view)


def blocks_within_limit(sentences: Mapping[str, ExampleTexts], room: float) -> dict[str, str]:
    """Returns blocks of as many examples as fit, the same number of each cell.

    Args:
        sentences: the examples of each cell, by the id of its block.
        room: the number of bytes that the blocks may take, with the tags around them.

    Returns:
        The packed blocks by id; empty if not even one example of each cell fits.
    """
    blocks_that_fit: dict[str, str] = {}
    # `fits` examples of each cell fit, and `beyond` is too many.
    fits = 0
    beyond = 1 + max(map(len, sentences.values()), default=0)
    guess = FIRST_GUESS
    # The next guess takes the examples that fit as a share of the room. Later examples are of fewer
    # cells and compress better, so one or two more might fit, which are not tried.
    while room > 0 and fits < guess and fits + 1 < beyond:
        most = min(guess, beyond - 1)
        candidate = pack_examples(sentences, most)
        size = sum(TAG_BYTES + len(name) + len(block) for name, block in candidate.items())
        if size <= room:
            blocks_that_fit, fits = candidate, most
        else:
            beyond = most
        guess = int(most * room / size)
    return blocks_that_fit


def pack_examples(sentences: Mapping[str, ExampleTexts], most: int) -> dict[str, str]:
    """Returns blocks of at most so many examples per cell; cells without examples have none."""
    blocks_by_id = {}
    for name, examples in sentences.items():
        texts = examples.most_important(most)
        if texts:
            text = f'{{"examples":[{",".join(texts)}],"of":{len(examples)}}}'
            blocks_by_id[name] = packed_text(text)
    return blocks_by_id


def packed_block(value: Any) -> str:
    """Returns a value as compressed JSON, in letters that a page may hold."""
    return packed_text(json_text(value))


def json_text(value: Any) -> str:
    """Returns a value as JSON without white space; raises ValueError for NaN and infinity."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def packed_text(text: str) -> str:
    """Returns a compressed text, in letters that a page may hold (base64)."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
