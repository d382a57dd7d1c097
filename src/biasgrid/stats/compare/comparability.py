"""Which models may be compared, why others may not, and which names are the same model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from biasgrid.base.arrays import BoolArray
from biasgrid.base.faults import first_few
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell
from biasgrid.stats.compare.differences import Pair
from biasgrid.stats.compare.how_asked import unlike, unlike_scales
from biasgrid.tables.measures import MEASURE_PART_KEYS
from biasgrid.tables.provenance import digest

Facts = Mapping[str, Any]
NOT_DECIDING = {
    "of",
    "model",
    "dump",
    "instances",
    "store",
    "devices",
    "asked_for",
    "answered_as",
    "hardware",
    "audit",
    "config",
    "biasgrid",
    "libraries",
    "code",
}
"""Facts of provenance that do not decide answers to the same prompts, whose digest is
`instances_sha256`.
"""
FACT_NAMES = {"instances_sha256": "instances"}


def reason_not_comparable(
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    cell: int,
    other_cell: int,
    may_differ_in: Collection[str],
) -> str | None:
    """Returns why two cells may not be compared, None if they may.

    Args:
        numbers: the numbers of all cells.
        cells: all cells.
        cell: the position of a cell.
        other_cell: the position of another one.
        may_differ_in: the facts in which they may differ, of `how_asked.ACROSS`.
    """
    sides = [cells[place] for place in (cell, other_cell)]
    models_without_numbers = [side.model for side in sides if side.numbers.is_empty()]
    if models_without_numbers:
        names = " and ".join(dict.fromkeys(models_without_numbers))
        return f"nothing is measurable of {names}"
    problem = unlike([side.how_asked for side in sides], may_differ_in)
    if problem:
        return problem
    if (numbers.has_part[cell] != numbers.has_part[other_cell]).any():
        return unlike_lists(numbers, cells, (cell, other_cell))
    return None


def pairs_on_one_scale(
    measure: str, cells: Sequence[ComparedCell], pairs: Sequence[Pair], comparable: BoolArray
) -> tuple[list[Pair], list[int]]:
    """Returns pairs with the reason why a measure is not compared, and the set of each model.

    A measure that grows with a scale, such as answer probability, is compared only between models
    with similar scales; see `how_asked.SCALES`.

    Args:
        measure: its name.
        cells: all cells.
        pairs: the pairs of models.
        comparable: shape (models, models), see `comparable_sets`; it is not changed.

    Returns:
        The pairs in the same order, and the sets as `comparable_sets` returns them.
    """
    comparable_here = comparable.copy()
    pairs_here = []
    for pair in pairs:
        askings = [cells[place].how_asked for place in (pair.cell, pair.other_cell)]
        reason = pair.reason or unlike_scales(measure, askings)
        pairs_here.append(pair._replace(reason=reason))
        comparable_here[pair.cell, pair.other_cell] = reason is None
        comparable_here[pair.other_cell, pair.cell] = reason is None
    return pairs_here, comparable_sets(comparable_here)


def unlike_lists(
    numbers: CellNumbersMatrix, cells: Sequence[ComparedCell], pair: tuple[int, int]
) -> str:
    """Names the parts that only one of two models was asked about, as a reason."""
    texts = []
    for own, opposite in (pair, pair[::-1]):
        own_keys = numbers.keys.filter(numbers.has_number[own])
        opposite_keys = numbers.keys.filter(numbers.has_number[opposite])
        only_here: list[str] = []
        for key in MEASURE_PART_KEYS:
            own_names = {*own_keys[key].cast(str).drop_nulls()}
            opposite_names = {*opposite_keys[key].cast(str).drop_nulls()}
            only_here += sorted(own_names - opposite_names)
        if only_here:
            texts.append(f"{first_few(only_here)} of {cells[own].model} alone")
    return f"asked about unlike lists: {'; '.join(texts) or 'other pairs of the same names'}"


def comparable_sets(comparable: BoolArray) -> list[int]:
    """Divides models into sets that are ranked together.

    A model is in the set of the earliest model that it is comparable with.

    Args:
        comparable: shape (models, models), symmetric. The diagonal says whether a model is
            comparable at all.

    Returns:
        The number of each model's set, from 0 in the order of their earliest models; -1 for a model
        that is not comparable at all.
    """
    number_of_earliest: dict[int, int] = {}
    sets = []
    for place, is_comparable in enumerate(comparable):
        if not is_comparable[place]:
            sets.append(-1)
            continue
        earliest = int(np.flatnonzero(is_comparable)[0])
        sets.append(number_of_earliest.setdefault(earliest, len(number_of_earliest)))
    return sets


def same_models(cells: Mapping[str, Facts]) -> str:
    """Names the models of a run that have the same weights, and the facts in which they differ.

    Args:
        cells: the provenance of the measures of each cell, by `DATASET/MODEL`.

    Returns:
        A sentence for each set of such names, if all were asked about one dataset; "" if there are
        none.
    """
    # Predictions by source and task, model, and dataset.
    sources: dict[tuple[Any, ...], dict[str, dict[str, Facts]]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        predictions = facts.get("predictions", {})
        identity = model_identity(predictions)
        if identity is not None:
            models = sources.setdefault((*identity, predictions.get("task")), {})
            models.setdefault(model, {})[dataset] = predictions
    sentences = []
    for (word, *_), models in sources.items():
        datasets = set.intersection(*map(set, models.values()))
        if len(models) < 2 or not datasets:
            continue
        names = sorted(models)
        differences = sorted(differing_facts([models[name] for name in models], datasets))
        ending = " and are asked alike: they are one model."
        if differences:
            ending = f"; they differ in {', '.join(differences)}."
        sentences.append(f"{' and '.join(names)} have the same {word}{ending}")
    return " ".join(sentences)


def model_identity(predictions: Facts) -> tuple[str, Any] | None:
    """Returns a noun and a digest that identify a model whatever its name; None if unknown.

    Args:
        predictions: the provenance of its predictions.
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
    """Returns the names of facts that decide answers and differ between models on any dataset.

    Args:
        models: for each model the provenance of its predictions by dataset; at least two.
        datasets: the datasets to look at, which all models have.
    """
    names = set()
    for dataset in datasets:
        reference, *rest = (model[dataset] for model in models)
        for facts in rest:
            for key in (reference.keys() | facts.keys()) - NOT_DECIDING:
                if reference.get(key) != facts.get(key):
                    names.add(FACT_NAMES.get(key, key))
    return names
