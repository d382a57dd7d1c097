"""Reads the file of a probe: YAML, a Python file with its class, or a log of GenderBench."""

from __future__ import annotations

import json
import runpy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, Problem
from biasgrid.base.languages import ENGLISH_WORDS, Language
from biasgrid.base.records import list_words
from biasgrid.base.references import RUNS, how_it_ends, load_reference
from biasgrid.base.text import read_text
from biasgrid.base.yaml import Document, read_yaml
from biasgrid.families.probe.definitions import WordCounts
from biasgrid.families.probe.section import (
    PROMPTS_KEY,
    SHARED_KEYS,
    Head,
    ItemKeys,
    ProbeSection,
    SharedFile,
)

if TYPE_CHECKING:
    import polars as pl

PROBE_EXPECTED = "a probe in YAML, a Python file with its class, or a log of GenderBench"
PROBE_KEYS = "keys such as title, question, items, evaluator and metric"
PYTHON, LOG = ".py", ".jsonl"
LOG_KEY = "log"
PROBE_OF_LOG = "biasgrid.formats.genderbench.probes:probe_of_file"
"""What reads a log of GenderBench, and a file that names one."""
WORD_LIST_EXPECTED = "one word per line; lines that begin with # are comments"
SHARED_EXPECTED = "a YAML file with the key {key!r}, which several probes can share"


class ProbeClass:
    """A probe in Python: attributes of the names of a probe's keys, and its items.

    With the evaluator `own` its method `observe` observes an answer; metrics of the kind `own` are
    what its method `measure` returns.
    """

    def items(self) -> Iterable[ItemKeys]:
        """Returns the items."""
        raise NotImplementedError("the class has no method `items`")

    def observe(self, answer: str, keys: ItemKeys) -> str | float | None:
        """Returns the label or number of an answer, None where nothing is found.

        Args:
            answer: the text of the model.
            keys: the keys of the item and prompt.
        """
        raise NotImplementedError("the class has no method `observe`")

    def measure(self, observations: pl.DataFrame) -> Mapping[str, float]:
        """Returns metrics by name.

        Args:
            observations: the columns of the table of observations.
        """
        raise NotImplementedError("the class has no method `measure`")


def load_class(path: Path) -> tuple[ProbeClass, dict[str, Any]]:
    """Runs a file that holds a probe's class.

    Returns:
        The probe, and its keys as a file of YAML would have them.

    Raises:
        Problem: the file cannot be run, or holds no such class or several, or its items are not
            available.
    """
    probe_class = class_in_file(path)
    try:
        probe = probe_class()
        items = list(probe.items())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the code of a user may raise anything, and end the program
        raise Problem(f"the method `items` {how_it_ends(error)}", RUNS) from error
    keys = {key: getattr(probe, key) for key in Head.model_fields if hasattr(probe, key)}
    return probe, {**keys, "items": items}


def class_in_file(path: Path) -> type[ProbeClass]:
    """Runs a file and returns the one subclass of `ProbeClass` that it defines.

    Raises:
        Problem: the file cannot be run, or holds no such class or several.
    """
    try:
        content = runpy.run_path(str(path))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # as in `load_class`
        raise Problem(how_it_ends(error, "while it runs"), RUNS) from error
    classes: list[type[ProbeClass]] = []
    for value in content.values():
        # A file imports the base class, which is among its names.
        if isinstance(value, type) and issubclass(value, ProbeClass) and value is not ProbeClass:
            classes.append(value)
    if len(classes) != 1:
        raise Problem(f"defines {len(classes)} subclasses of ProbeClass", "one")
    return classes[0]


class FilePart(NamedTuple):
    """A part of a probe that a file of its own has.

    Attributes:
        file: the file.
        document: its content.
        version: when it was last written, and its size.
    """

    file: Path
    document: Document
    version: tuple[int, int]


@dataclass(frozen=True)
class Probe:
    """A probe.

    Attributes:
        document: the content of its file, with lines where these are known.
        head: its keys.
        items: for each item the keys of its prompts, with those of the item.
        words: for each list of its evaluator the words, in lower case.
        own: its class, None of a file of YAML.
        shared: parts that other files have, by key.
        language: the language of its texts, which its dataset names.
    """

    document: Document
    head: ProbeSection
    items: tuple[tuple[ItemKeys, ...], ...]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    own: ProbeClass | None = None
    shared: Mapping[str, FilePart] = field(default_factory=dict)
    language: Language = field(default_factory=lambda: ENGLISH_WORDS)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that its evaluator may give; none if it returns numbers or anything else."""
        return self.head.evaluator.labels(list(self.head.options))

    @property
    def candidates(self) -> dict[str, str]:
        """The texts whose probability may replace an answer, by label; none without such texts."""
        return self.head.evaluator.candidates(list(self.head.options), self.language)

    @property
    def keys(self) -> Iterator[ItemKeys]:
        """The keys of all prompts."""
        return (keys for item in self.items for keys in item)

    def digest(self, code: str) -> str:
        """Returns a digest of all that decides the measures.

        That is the evaluator, metrics, words of lists, and the code of a class.
        """
        head = self.head.model_dump(
            mode="json", include={"bias_type", "options", "evaluator", "metric"}
        )
        words = {name: list(of_list) for name, of_list in self.words.items()}
        content = json.dumps([head, words, code])
        return sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class LoadedProbe:
    """What was read of a file.

    Attributes:
        probe: the probe, None where there is none.
        faults: the faults of the file.
        digest: a digest of all that decides the measures of answers.
    """

    probe: Probe | None
    faults: tuple[Fault, ...]
    digest: str = ""


def load_probe(path: Path) -> LoadedProbe:
    """Reads a probe; files that have not changed are read once.

    Nothing is raised: if the file cannot be used, the probe is None, and the faults say why.
    """
    try:
        loaded = _load(path, file_version(path))
        shared = loaded.probe.shared.values() if loaded.probe else ()
        # The cache knows the version of the probe's file, but not of those that it names.
        if any(file_version(part.file) != part.version for part in shared):
            _load.cache_clear()
            loaded = _load(path, file_version(path))
        return loaded
    except InputError as error:
        return LoadedProbe(None, tuple(error.faults))
    except OSError as error:
        fault = Fault(str(path), "", f"cannot be read ({error.strerror})", PROBE_EXPECTED)
        return LoadedProbe(None, (fault,))


def file_version(path: Path) -> tuple[int, int]:
    """Returns when a file was last written, and its size."""
    stat = path.stat()
    return stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=256)
def _load(path: Path, _version: tuple[int, int]) -> LoadedProbe:
    own, code, shared = None, "", dict[str, FilePart]()
    if path.suffix == PYTHON:
        code = read_text(path, PROBE_EXPECTED)
        try:
            own, content = load_class(path)
        except Problem as error:
            raise InputError([Fault(str(path), "", error.problem, error.expected)]) from error
        document = Document(content, {})
    elif path.suffix == LOG:
        document = Document(load_reference(PROBE_OF_LOG)(path), {})
    else:
        document = read_yaml(path, PROBE_EXPECTED, PROBE_KEYS)
    if LOG_KEY in document.content:
        document = Document(load_reference(PROBE_OF_LOG)(path, document), {})
    elif own is None:
        shared = read_shared(path, document)
        taken = {key: part.document.content[key] for key, part in shared.items()}
        document = document._replace(content=document.content | taken)
    head = document.checked(ProbeSection, path)
    words, faults = read_evaluator_words(path, head)
    items = tuple(prompts_of_item(item, head.prompts) for item in head.items)
    probe = Probe(document, head, items, words, own, shared)
    return LoadedProbe(probe, tuple(faults), probe.digest(code))


def read_shared(path: Path, document: Document) -> dict[str, FilePart]:
    """Reads the files that a probe names in place of its items or prompts; they lie beside it.

    Raises:
        InputError: with the faults of all of them.
    """
    parts: dict[str, FilePart] = {}
    faults: list[Fault] = []
    for key in SHARED_KEYS:
        name = document.content.get(key)
        if not isinstance(name, str):
            continue
        file, expected = path.parent / name, SHARED_EXPECTED.format(key=key)
        try:
            shared = read_yaml(file, expected, f"the key {key}")
            shared.checked(SharedFile, file)
            if key not in shared.content:
                raise InputError([Fault(str(file), "", f"has no key {key!r}", expected)])
            parts[key] = FilePart(file, shared, file_version(file))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(dict.fromkeys(faults))
    return parts


def prompts_of_item(item: ItemKeys, common: list[ItemKeys]) -> tuple[ItemKeys, ...]:
    """Returns the keys of an item's prompts, its own keys included.

    Prompts that are no mappings are left out; `reading` refuses them.

    Args:
        item: the item.
        common: the prompts of items that have none of their own.
    """
    own = {key: value for key, value in item.items() if key != PROMPTS_KEY}
    prompts = item.get(PROMPTS_KEY, common) or [{}]
    if not isinstance(prompts, list):
        return ()
    return tuple(own | prompt for prompt in prompts if isinstance(prompt, dict))


def read_evaluator_words(
    path: Path, head: ProbeSection
) -> tuple[dict[str, tuple[str, ...]], list[Fault]]:
    """Returns the words of an evaluator's lists in lower case, and the faults of their files.

    Lists that cannot be read are left out.

    Args:
        path: the file of the probe, beside which the files of lists lie.
        head: the probe.
    """
    words: dict[str, tuple[str, ...]] = {}
    faults: list[Fault] = []
    if not isinstance(head.evaluator, WordCounts):
        return words, faults
    for name, source in head.evaluator.lists.items():
        of_list: Iterable[str] = source
        if isinstance(source, str):
            of_list = list_words(path.parent / source, WORD_LIST_EXPECTED, faults)
            if not of_list:
                continue
        words[name] = tuple(dict.fromkeys(word.lower() for word in of_list))
    return words, faults
