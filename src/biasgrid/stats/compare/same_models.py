"""Which names of a run stand for one model: those of the same weights, dump or keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biasgrid.tables.provenance import digest

Facts = Mapping[str, Any]
NOT_DECIDING = {
    "of", "model", "dump", "instances", "store", "devices", "hardware", "audit", "config", "biasgrid", "libraries",
    "code",
}  # fmt: skip
"""In what predictions of one model may differ though it is asked alike; `instances_sha256` says what it is asked."""
NAMES = {"instances_sha256": "instances"}


def same_models(cells: Mapping[str, Facts]) -> str:
    """Says in one line which names of a run have the same weights, and in what else they differ.

    Args:
        cells: the provenance of the measures of each cell, by `DATASET/MODEL`.

    Returns:
        A sentence for each set of such names that were asked of one dataset; empty where there are none.
    """
    made: dict[tuple[Any, ...], dict[str, dict[str, Facts]]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        predictions = facts.get("predictions", {})
        if source := source_of(predictions):
            made.setdefault((*source, predictions.get("task")), {}).setdefault(model, {})[dataset] = predictions
    sentences = []
    for (what, *_), models in made.items():
        shared = set.intersection(*map(set, models.values()))
        if len(models) > 1 and shared:
            names, keys = sorted(models), sorted(differing([models[name] for name in models], shared))
            ending = f"; they differ in {', '.join(keys)}." if keys else " and are asked alike: they are one model."
            sentences.append(f"{' and '.join(names)} have the same {what}{ending}")
    return " ".join(sentences)


def source_of(predictions: Facts) -> tuple[str, Any] | None:
    """Returns what a model is, whatever it is called, and a word for that; None where that is not known."""
    record, dump = predictions.get("model"), predictions.get("dump")
    if dump:
        return "dump", dump["sha256"]
    if not record:
        return None
    if "keys" in record:
        return "source", digest([record["keys"], record["files"]])
    return "weights", digest([record["weights"], record["tokenizer"], record.get("chat_template")])


def differing(models: list[dict[str, Facts]], datasets: set[str]) -> set[str]:
    """Returns in what predictions differ that decides answers, on any of some datasets."""
    found = set()
    for dataset in datasets:
        first, *others = (model[dataset] for model in models)
        for other in others:
            keys = (first.keys() | other.keys()) - NOT_DECIDING
            found |= {NAMES.get(key, key) for key in keys if first.get(key) != other.get(key)}
    return found
