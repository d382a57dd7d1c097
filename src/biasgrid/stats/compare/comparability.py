"""Which models may be compared with which and why others may not, and which are the same model
under two names.
"""

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
    sides = [cells[place] for place in (one, other)]
    unmeasured = [cell.model for cell in sides if cell.numbers.is_empty()]
    if unmeasured:
        return f"nothing is measurable of {' and '.join(dict.fromkeys(unmeasured))}"
    problem = unlike([cell.asked for cell in sides], across)
    if problem:
        return problem
    if (numbers.has_part[one] != numbers.has_part[other]).any():
        return unlike_lists(numbers, cells, (one, other))
    return None


def pairs_on_one_scale(
    measure: str, cells: Sequence[ComparedCell], pairs: Sequence[Pair], comparable: BoolArray
) -> tuple[list[Pair], list[int]]:
    """Returns pairs with the reason why a measure is not compared, and the set of each model.

    Args:
        measure: its name.
        cells: the cells.
        pairs: the pairs of models.
        comparable: shape (models, models), see `comparable_sets`.
    """
    comparable_here = comparable.copy()
    pairs_here = []
    for pair in pairs:
        asked = [cells[place].asked for place in (pair.one, pair.other)]
        reason = pair.reason or unlike_scales(measure, asked)
        pairs_here.append(pair._replace(reason=reason))
        comparable_here[pair.one, pair.other] = reason is None
        comparable_here[pair.other, pair.one] = reason is None
    return pairs_here, comparable_sets(comparable_here)


def unlike_lists(
    numbers: CellNumbersMatrix, cells: Sequence[ComparedCell], pair: tuple[int, int]
) -> str:
    """Words the difference of two lists: the names that only one model was asked about."""
    texts = []
    for one, other in (pair, pair[::-1]):
        own = numbers.names.filter(numbers.has_number[one])
        others = numbers.names.filter(numbers.has_number[other])
        alone: list[str] = []
        for key in MEASURE_PART_KEYS:
            own_names, other_names = ({*rows[key].cast(str).drop_nulls()} for rows in (own, others))
            alone += sorted(own_names - other_names)
        if alone:
            texts.append(f"{first_few(alone)} of {cells[one].model} alone")
    return f"asked about unlike lists: {'; '.join(texts) or 'other pairs of the same names'}"


def comparable_sets(comparable: BoolArray) -> list[int]:
    """Returns the set of each model, numbered by first models; models of a set are comparable.

    Args:
        comparable: shape (models, models); a model that is not comparable with itself is in none,
            -1.
    """
    number_of_first: dict[int, int] = {}
    sets = []
    for place, is_comparable in enumerate(comparable):
        if not is_comparable[place]:
            sets.append(-1)
            continue
        first = int(np.flatnonzero(is_comparable)[0])
        sets.append(number_of_first.setdefault(first, len(number_of_first)))
    return sets


def same_models(cells: Mapping[str, Facts]) -> str:
    """Names models of a run that have the same weights, and the facts in which they differ.

    Args:
        cells: the provenance of the measures of each cell, by `DATASET/MODEL`.

    Returns:
        A sentence for each set of such names that were asked of one dataset; empty where there are
        none.
    """
    # Predictions by source and task, model, and dataset.
    sources: dict[tuple[Any, ...], dict[str, dict[str, Facts]]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        predictions = facts.get("predictions", {})
        source = model_identity(predictions)
        if source is not None:
            models = sources.setdefault((*source, predictions.get("task")), {})
            models.setdefault(model, {})[dataset] = predictions
    sentences = []
    for (word, *_), models in sources.items():
        datasets = set.intersection(*map(set, models.values()))
        if len(models) < 2 or not datasets:
            continue
        names = sorted(models)
        facts_apart = sorted(differing_facts([models[name] for name in models], datasets))
        ending = " and are asked alike: they are one model."
        if facts_apart:
            ending = f"; they differ in {', '.join(facts_apart)}."
        sentences.append(f"{' and '.join(names)} have the same {word}{ending}")
    return " ".join(sentences)


def model_identity(predictions: Facts) -> tuple[str, Any] | None:
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
    """Returns the facts in which predictions differ and which decide answers, on any dataset."""
    names = set()
    for dataset in datasets:
        first, *others = (model[dataset] for model in models)
        for other in others:
            for key in (first.keys() | other.keys()) - NOT_DECIDING:
                if first.get(key) != other.get(key):
                    names.add(FACT_NAMES.get(key, key))
    return names
