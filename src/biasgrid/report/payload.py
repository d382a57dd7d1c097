"""What the page's script draws: blocks of compressed JSON, of the grid and of each cell."""

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
from biasgrid.families.payload import CellTables, page_rows, tables_of_groups
from biasgrid.report.first_screen import Screen
from biasgrid.report.run import ReportDataset, ReportRun, ReportTables
from biasgrid.tables.claims.numbers import measure_range, shown_range
from biasgrid.tables.measures import MARK_COLUMNS, MEASURE_KEYS, of_wholes

MOST_KEYED = 2000
"""So many numbers that are about parts of a cell are carried where its family has no view of its
own.
"""
PAYLOAD_NUMBERS = ("value", "low", "high", "null_mean", "p", "q")
COMPARED_COLUMNS = ("value", "other_value", "difference", "low", "high", "q")
RANKED_COLUMNS = (
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
COMPARED_PART_COLUMNS = ("subject", "attribute", "bias_type", "group", "other", "template")
EXAMPLES_AT_ONCE, FIRST_GUESS = 64, 16
"""So many examples of a cell are gathered at once; what so many of each cell take tells about how
many will fit.
"""
TAG = len('<script type="application/gzip" id=""></script>\n')
"""So many bytes are around a block and its id."""


class ExampleTexts:
    """The examples of a cell as JSON, each of which is made when it is first needed: most do not
    fit on the page.
    """

    def __init__(self, examples: Sequence[Mapping[str, Any]]) -> None:
        self.count = len(examples)
        self._examples = examples
        # As text, since dictionaries by the million hold up the garbage collector.
        self._texts: list[str] = []

    def first(self, most: int) -> list[str]:
        """Returns so many examples, those that matter most; all if there are fewer."""
        while (made := len(self._texts)) < min(most, self.count):
            self._texts += map(json_text, self._examples[made : made + EXAMPLES_AT_ONCE])
        return self._texts[:most]


@dataclass(frozen=True)
class Blocks:
    """What the page's script reads, by the ids of its blocks.

    Attributes:
        shared: what every page has, packed.
        columns: of each dataset the numbers of its cells, packed.
        evidence: of each dataset the sentences that its cells may carry.
    """

    shared: Mapping[str, str]
    columns: Mapping[str, Mapping[str, str]]
    evidence: Mapping[str, Mapping[str, ExampleTexts]]


def blocks(run: ReportRun, tables: ReportTables, screen: Screen) -> Blocks:
    """Returns the blocks of the page; the same tables give the same bytes.

    Args:
        run: what was run.
        tables: what was measured.
        screen: the content of the first screen.
    """
    cells = cell_facts(tables)
    datasets = {dataset.name: dataset for dataset in run.datasets}
    common = {name: dataset_block(of, cells) for name, of in datasets.items()}
    shared = {"core": packed_block(core(run, tables, screen))}
    if run.settings:
        shared["config"] = packed_block(run.settings)
    for name, of in datasets.items():
        # Each text is one line, whatever its white space.
        texts = (
            {"templates": [" ".join(text.split()) for text in of.templates]}
            if any(of.templates)
            else {}
        )
        if known := common[name] | texts:
            shared[f"dataset/{name}"] = packed_block(known)
    ranks = tables.ranks.partition_by("dataset", as_dict=True)
    shared |= {f"ranks/{name}": packed_block(ranked_rows(rows)) for (name,), rows in ranks.items()}
    compared = tables.comparisons.partition_by(
        "dataset", "model", "other_model", as_dict=True, maintain_order=True
    )
    columns: dict[str, dict[str, str]] = {name: {} for name in datasets}
    evidence: dict[str, dict[str, ExampleTexts]] = {name: {} for name in datasets}
    # A page is of one pair of models, and unpacks no other.
    for (name, *pair), rows in compared.items():
        columns[name]["/".join(["compared", name, *pair])] = packed_block(compared_rows(rows))
    for (model, dataset), cell in cells.items():
        of = datasets[dataset]
        rows = tables.summary.filter(model=model, dataset=dataset)
        columns[dataset][f"cell/{model}/{dataset}"] = packed_block(
            cell_block(cell, of, common[dataset], rows)
        )
        examples = evidence_by_weight(cell, of, common[dataset])
        evidence[dataset][f"evidence/{model}/{dataset}"] = ExampleTexts(examples)
    return Blocks(shared, columns, evidence)


def cell_facts(tables: ReportTables) -> dict[tuple[str, str], CellTables]:
    """Returns what is known of each cell, by model and dataset, in the order of the summary."""
    named = {name: getattr(tables, name) for name in ("measures", "examples", "parts")}
    parts = {
        name: table.partition_by("model", "dataset", as_dict=True) for name, table in named.items()
    }
    cells = {}
    for cell in tables.summary.select("model", "dataset").unique(maintain_order=True).rows():
        found = {name: parts[name].get(cell, table.clear()) for name, table in named.items()}
        cells[cell] = CellTables(found["measures"], found["examples"], found["parts"])
    return cells


def core(run: ReportRun, tables: ReportTables, screen: Screen) -> dict[str, Any]:
    """Returns what every page needs, and what the first screen hides until it is asked for."""
    return {
        "title": run.title,
        "config": run.config,
        "results": run.results,
        "level": run.level,
        "screen": {
            "largest": {
                str(place): {
                    name: getattr(row.largest, name) for name in ("what", "is_hidden", "address")
                }
                for place, row in enumerate(screen.rows)
                if row.largest
            },
            "example": screen.example
            and f"{screen.example['context'] or ''} {screen.example['question']}".strip(),
            "tiles": screen.tiles,
        },
        "models": [
            {"name": one.name, "label": one.label, "kind": one.kind, "task": one.task}
            for one in run.models
        ],
        "datasets": [
            {**dataset_description(dataset), "control_of": run.controls.datasets.get(dataset.name)}
            for dataset in run.datasets
        ],
        "cells": asked_cells(tables.summary),
    }


def dataset_description(dataset: ReportDataset) -> dict[str, Any]:
    """Returns the facts of a dataset and its measures."""
    measures = {
        name: {
            "title": one.title,
            "symbol": one.symbol,
            "meaning": one.meaning,
            "unit": one.unit,
            "fair": one.fair,
            "within": [
                end if math.isfinite(end) else None for end in shown_range(name, measure_range(one))
            ],
        }
        for name, one in dataset.measures.items()
    }
    return {
        "name": dataset.name,
        "title": dataset.title,
        "family": dataset.family,
        "sensitive": dataset.sensitive,
        "measures": measures,
    }


def asked_cells(summary: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns each cell with why its headlines are withheld, if they are, and whether all of them
    are.
    """
    cells = summary.filter("headline").group_by("model", "dataset", maintain_order=True)
    flag, is_withheld = pl.col("flag").drop_nulls().first(), pl.col("value").is_null().all()
    return cells.agg(flag=flag, is_withheld=is_withheld).to_dicts()


def compared_rows(comparisons: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns how two models differ on a dataset, as far as rule compare keeps it."""
    names = (
        "measure",
        "options",
        *COMPARED_PART_COLUMNS,
        "clusters",
        "other_factors",
        "paired",
        "mark",
        "other_mark",
        "reason",
    )
    return page_rows(comparisons, names, COMPARED_COLUMNS)


def ranked_rows(ranks: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns in which order the models of a dataset stand, with the intervals of their ranks."""
    ordered = ranks.sort("measure", "options", "bias_type", "set", "rank", maintain_order=True)
    return page_rows(ordered, RANKED_COLUMNS, ("value",))


def dataset_block(
    dataset: ReportDataset, cells: Mapping[tuple[str, str], CellTables]
) -> dict[str, Any]:
    """Returns what the cells of a dataset share; nothing if its family has no such part."""
    make = getattr(dataset.module("payload"), "dataset_payload", None)
    of_dataset = {model: cell for (model, of), cell in cells.items() if of == dataset.name}
    shared: dict[str, Any] = make(of_dataset) if make else {}
    return shared


def cell_block(
    cell: CellTables, dataset: ReportDataset, shared: Mapping[str, Any], summary: pl.DataFrame
) -> dict[str, Any]:
    """Returns what the page of a cell shows: its rows of the summary, and its parts from its
    family.

    Of a family without such parts they are tables of groups; where there are no groups, or no
    family is known, the numbers of all parts.
    """
    keys = ("measure", "options", "bias_type", "n", "left_out", "flag", *MARK_COLUMNS)
    own = {"summary": page_rows(summary, keys, PAYLOAD_NUMBERS)}
    if make := getattr(dataset.module("payload"), "cell_payload", None):
        parts: dict[str, Any] = make(cell, shared)
        return own | parts
    if tables := tables_of_groups(cell.measures) if dataset.reference else []:
        return own | {"tables": tables}
    keyed = cell.measures.join(
        of_wholes(cell.measures), on=cell.measures.columns, how="anti", nulls_equal=True
    )
    names = ("measure", "options", "n", *MEASURE_KEYS)
    return own | {
        "keyed": page_rows(keyed.head(MOST_KEYED), names, PAYLOAD_NUMBERS),
        "keyed_of": len(keyed),
    }


def evidence_by_weight(
    cell: CellTables, dataset: ReportDataset, shared: Mapping[str, Any]
) -> Sequence[dict[str, Any]]:
    """Returns the sentences that a cell may carry, those that matter most first."""
    if make := getattr(dataset.module("payload"), "examples", None):
        examples: Sequence[dict[str, Any]] = make(cell, shared)
        return examples
    told: Sentences | None = getattr(dataset.module("evidence"), "SENTENCES", None)
    return (
        example_payloads(cell.examples, told.explained, told.view)
        if told
        else example_payloads(cell.examples)
    )


def blocks_within_limit(evidence: Mapping[str, ExampleTexts], room: float) -> dict[str, str]:
    """Returns blocks of as many examples as fit, the same number of each cell.

    Args:
        evidence: the examples of each cell, by the id of its block.
        room: how many bytes they may take with what is around them.
    """

    def carrying(most: int) -> dict[str, str]:
        return {
            name: packed_text(f'{{"examples":[{",".join(texts)}],"of":{examples.count}}}')
            for name, examples in evidence.items()
            if (texts := examples.first(most))
        }

    fitting: dict[str, str] = {}
    guess, least, beyond = (
        FIRST_GUESS,
        0,
        1 + max((examples.count for examples in evidence.values()), default=0),
    )
    # So many as `least` fit, and `beyond` is too many. By their share of the room none is left for
    # another one: later examples are of fewer cells and compress better, so that one or two more
    # might fit, for which none is tried.
    while room > 0 and least < guess and least + 1 < beyond:
        most = min(guess, beyond - 1)
        packed = carrying(most)
        size = sum(TAG + len(name) + len(block) for name, block in packed.items())
        if size <= room:
            fitting, least = packed, most
        else:
            beyond = most
        guess = int(most * room / size)
    return fitting


def packed_block(value: Any) -> str:
    """Returns JSON, compressed, in letters that a page may hold."""
    return packed_text(json_text(value))


def json_text(value: Any) -> str:
    """Returns JSON in as few letters as possible."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def packed_text(text: str) -> str:
    """Returns a text, compressed, in letters that a page may hold."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
