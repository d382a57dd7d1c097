"""Which models may be compared with which and why others may not, and which are the same model
under two names.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from biasgrid.base.arrays import BoolArray
from biasgrid.base.faults import first_few
from biasgrid.stats.compare.cells import PART_KEYS_COMPARED, CellNumbersMatrix, ComparedCell
from biasgrid.stats.compare.differences import Pair
from biasgrid.stats.compare.how_asked import unlike, unlike_scales
from biasgrid.tables.provenance import digest

Facts = Mapping[str, Any]
NOT_DECIDING = {
    "of",
    "model",
    "dump",
    "instances",
    "store",
    "devices",
    "hardware",
    "audit",
    "config",
    "biasgrid",
    "libraries",
    "code",
}
"""Facts in which predictions of one model may differ for the same prompts, whose digest is
`instances_sha256`.
"""
FACT_NAMES = {"instances_sha256": "instances"}


def reason_not_comparable(
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    one: int,
    other: int,
    across: Collection[str],
) -> str | None:
    """Says why two cells may not be compared, None where they may.

    Args:
        numbers: the numbers of the cells.
        cells: the cells.
        one: the place of a cell.
        other: that of another one.
        across: in what they may differ, of `how_asked.ACROSS`.
    """
    unmeasured = [cells[place].model for place in (one, other) if cells[place].numbers.is_empty()]
    if unmeasured:
        return f"nothing is measurable of {' and '.join(dict.fromkeys(unmeasured))}"
    if problem := unlike([cells[place].asked for place in (one, other)], across):
        return problem
    if (numbers.has_part[one] != numbers.has_part[other]).any():
        return unlike_lists(numbers, cells, (one, other))
    return None


def pairs_on_one_scale(
    measure: str, cells: Sequence[ComparedCell], pairs: Sequence[Pair], comparable: BoolArray
) -> tuple[list[Pair], list[int]]:
    """Returns pairs with the reason why a measure may not be compared, and the set of each model
    for that measure.

    Args:
        measure: its name.
        cells: the cells.
        pairs: the pairs of models.
        comparable: shape (models, models), see `sets_of`.
    """
    own, found = comparable.copy(), []
    for pair in pairs:
        reason = pair.reason or unlike_scales(
            measure, [cells[place].asked for place in (pair.one, pair.other)]
        )
        found.append(pair._replace(reason=reason))
        own[[pair.one, pair.other], [pair.other, pair.one]] = reason is None
    return found, sets_of(own)


def unlike_lists(
    numbers: CellNumbersMatrix, cells: Sequence[ComparedCell], pair: tuple[int, int]
) -> str:
    """Words that two models were asked about unlike lists, with what is in one alone."""
    parts = []
    for one, other in (pair, pair[::-1]):
        own, others = (numbers.names.filter(numbers.has_number[place]) for place in (one, other))
        alone = [
            name
            for key in PART_KEYS_COMPARED
            for name in sorted(
                {*own[key].cast(str).drop_nulls()} - {*others[key].cast(str).drop_nulls()}
            )
        ]
        if alone:
            parts.append(f"{first_few(alone)} of {cells[one].model} alone")
    return f"asked about unlike lists: {'; '.join(parts) or 'other pairs of the same names'}"


def sets_of(comparable: BoolArray) -> list[int]:
    """Returns the set of each model, models of one set being comparable; sets are numbered by their
    first models.

    Args:
        comparable: shape (models, models); a model that is not comparable with itself is in none,
            -1.
    """
    firsts = [
        int(np.flatnonzero(row)[0]) if row[place] else -1 for place, row in enumerate(comparable)
    ]
    numbers = {
        first: number
        for number, first in enumerate(dict.fromkeys(first for first in firsts if first >= 0))
    }
    return [numbers.get(first, -1) for first in firsts]


def same_models(cells: Mapping[str, Facts]) -> str:
    """Says in one line which names of a run have the same weights, and in what else they differ.

    Args:
        cells: the provenance of the measures of each cell, by `DATASET/MODEL`.

    Returns:
        A sentence for each set of such names that were asked of one dataset; empty where there are
        none.
    """
    made: dict[tuple[Any, ...], dict[str, dict[str, Facts]]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        predictions = facts.get("predictions", {})
        if source := source_of(predictions):
            made.setdefault((*source, predictions.get("task")), {}).setdefault(model, {})[
                dataset
            ] = predictions
    sentences = []
    for (what, *_), models in made.items():
        shared = set.intersection(*map(set, models.values()))
        if len(models) > 1 and shared:
            names, keys = (
                sorted(models),
                sorted(differing_facts([models[name] for name in models], shared)),
            )
            ending = (
                f"; they differ in {', '.join(keys)}."
                if keys
                else " and are asked alike: they are one model."
            )
            sentences.append(f"{' and '.join(names)} have the same {what}{ending}")
    return " ".join(sentences)


def source_of(predictions: Facts) -> tuple[str, Any] | None:
    """Returns what a model is, whatever it is called, and a word for that; None where that is not
    known.
    """
    record, dump = predictions.get("model"), predictions.get("dump")
    if dump:
        return "dump", dump["sha256"]
    if not record:
        return None
    if "keys" in record:
        return "source", digest([record["keys"], record["files"]])
    return "weights", digest([record["weights"], record["tokenizer"], record.get("chat_template")])


def differing_facts(models: list[dict[str, Facts]], datasets: set[str]) -> set[str]:
    """Returns in what predictions differ that decides answers, on any of some datasets."""
    found = set()
    for dataset in datasets:
        first, *others = (model[dataset] for model in models)
        for other in others:
            keys = (first.keys() | other.keys()) - NOT_DECIDING
            found |= {FACT_NAMES.get(key, key) for key in keys if first.get(key) != other.get(key)}
    return found
