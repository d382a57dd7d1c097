"""Reads a probe from YAML, from a Python file with its class, or from a log of GenderBench.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import runpy
from dataclasses import dataclass, replace
from functools import lru_cache
from math import factorial
from pathlib import Path
from typing import Any

from biasgrid.base.digests import digest_fields
from biasgrid.base.faults import Fault, InputError, Problem
from biasgrid.base.languages import ENGLISH, language_words
from biasgrid.base.records import list_words
from biasgrid.base.references import FORMATS, RUNS, describe_failure, load_reference
from biasgrid.base.text import read_text
from biasgrid.base.yaml import Document, read_yaml
from biasgrid.families.probe.checks import ProbeChecks
from biasgrid.families.probe.definitions import (
    SHARED_KEYS,
    FilePart,
    Head,
    Probe,
    ProbeClass,
    ProbeSection,
    SharedFile,
    WordCounts,
)
from biasgrid.families.sampling import Sample

PROBE_EXPECTED = "a probe in YAML, a Python file with its class, or a log of GenderBench"
PROBE_KEYS = "keys such as title, question, items, evaluator and metric"
PYTHON, LOG = ".py", ".jsonl"
PROBE_OF_LOG = f"{FORMATS}.genderbench.probes:read_probe"
"""Reads a log of GenderBench, and a file that names one. Formats import families, so it is loaded
by reference.
"""
LOG_KEY = "log"
"""The key of a file of YAML that names a log of GenderBench."""
WORD_LIST_EXPECTED = "one word per line; # begins a comment"
SHARED_EXPECTED = "a YAML file with the key {key!r}, which several probes can share"
WRITTEN, SCORED = "written", "scored"


@dataclass(frozen=True)
class ProbeFiles:
    """The file of a dataset and the options that determine its instances.

    Attributes:
        probe: the probe's file.
        answers: `written` or `scored`.
        repetitions: how often each prompt is asked.
        sample: the sample of items, None to ask all.
        language: the language of its texts.
    """

    probe: Path
    answers: str
    repetitions: int
    sample: Sample | None
    language: str = ENGLISH


@dataclass(frozen=True)
class ProbeRequests:
    """A probe, with the options that determine its instances."""

    files: ProbeFiles
    probe: Probe

    @property
    def count(self) -> int:
        """The number of instances without a sample."""
        head = self.probe.head
        orders = factorial(len(head.options)) if head.orders == "all" else head.orders
        return self.files.repetitions * orders * sum(map(len, self.probe.items))

    @property
    def candidates(self) -> dict[str, str]:
        """By label, the texts that probabilities are read of; empty if answers are written."""
        return self.probe.candidates if self.files.answers == SCORED else {}

    def digest(self) -> str:
        """Returns a digest of everything that determines the instances; metrics do not."""
        head = self.probe.head.model_dump(
            mode="json",
            include={"system", "question", "options", "orders", "seed"},
            exclude_defaults=True,
        )
        files = self.files
        sample = files.sample.model_dump(exclude_defaults=True) if files.sample else None
        options = {
            "answers": files.answers,
            "repetitions": files.repetitions,
            "sample": sample,
            "candidates": self.candidates,
        }
        return digest_fields(head, self.probe.items, options)


def read(files: ProbeFiles) -> tuple[ProbeRequests | None, list[Fault]]:
    """Reads the probe of a dataset.

    Returns:
        Its requests, None if the file is no probe at all; and every fault of the file.
    """
    probe_file = load_probe(files.probe)
    if probe_file.probe is None:
        return None, list(probe_file.faults)
    probe = replace(probe_file.probe, language=language_words(files.language))
    faults = [*probe_file.faults, *ProbeChecks(files.probe, probe).all()]
    requests = ProbeRequests(files, probe)
    if files.answers == SCORED and not requests.candidates:
        name = probe.head.evaluator.name
        problem = f"the evaluator {name!r} has no options, so there are no probabilities to read"
        faults.append(Fault(str(files.probe), "", problem, "`answers: written` of the dataset"))
    return requests, list(dict.fromkeys(faults))


# The file of a probe, read once for all datasets that name it


@dataclass(frozen=True)
class LoadedProbe:
    """The content of a probe's file.

    Attributes:
        probe: the probe, None if the file cannot be used.
        faults: the faults of the file.
        digest: a digest of everything that determines the measures of answers.
    """

    probe: Probe | None
    faults: tuple[Fault, ...]
    digest: str = ""


def load_probe(path: Path) -> LoadedProbe:
    """Reads a probe; files that have not changed are read once.

    Nothing is raised: if the file cannot be used, the probe is None, and the faults say why.
    """
    try:
        probe_file = _load(path, file_version(path))
        parts = probe_file.probe.shared.values() if probe_file.probe else ()
        # The cache knows the version of the probe's file, but not of the files that it names.
        if any(file_version(part.file) != part.version for part in parts):
            _load.cache_clear()
            probe_file = _load(path, file_version(path))
        return probe_file
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
    own, code, file_parts = None, "", dict[str, FilePart]()
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
        file_parts = read_shared(path, document)
        parts = {key: part.document.content[key] for key, part in file_parts.items()}
        document = document._replace(content=document.content | parts)
    head = document.checked(ProbeSection, path)
    words, faults = read_evaluator_words(path, head)
    probe = Probe(document, head, words, own, file_parts)
    return LoadedProbe(probe, tuple(faults), measure_digest(probe, code))


def measure_digest(probe: Probe, code: str) -> str:
    """Returns a digest of everything that determines the measures of answers.

    That is the evaluator, metrics, words of lists, and the code of a class.
    """
    head = probe.head.model_dump(
        mode="json",
        include={"bias_type", "options", "evaluator", "metric"},
        exclude_defaults=True,
    )
    return digest_fields(head, probe.words, code)


def load_class(path: Path) -> tuple[ProbeClass, dict[str, Any]]:
    """Runs a file that holds a probe's class.

    Returns:
        The probe, and its keys as a file of YAML would have them.

    Raises:
        Problem: the file cannot be run, or holds no such class or several, or its items are not
            available.
    """
    try:
        content = runpy.run_path(str(path))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # the code of a user may raise anything, and end the program
        raise Problem(describe_failure(error, "while it runs"), RUNS) from error
    classes: list[type[ProbeClass]] = []
    for value in content.values():
        # A file imports the base class, which is among its names.
        if isinstance(value, type) and issubclass(value, ProbeClass) and value is not ProbeClass:
            classes.append(value)
    if len(classes) != 1:
        raise Problem(f"defines {len(classes)} subclasses of ProbeClass", "one")
    try:
        probe = classes[0]()
        items = list(probe.items())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # see above
        raise Problem(f"the method `items` {describe_failure(error)}", RUNS) from error
    keys = {key: getattr(probe, key) for key in Head.model_fields if hasattr(probe, key)}
    return probe, {**keys, "items": items}


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
            document_part = read_yaml(file, expected, f"the key {key}")
            document_part.checked(SharedFile, file)
            if key not in document_part.content:
                raise InputError([Fault(str(file), "", f"has no key {key!r}", expected)])
            parts[key] = FilePart(file, document_part, file_version(file))
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(dict.fromkeys(faults))
    return parts


def read_evaluator_words(
    path: Path, head: ProbeSection
) -> tuple[dict[str, tuple[str, ...]], list[Fault]]:
    """Returns the words of an evaluator's lists in lower case, and the faults of their files.

    A list that cannot be read has no words.

    Args:
        path: the file of the probe, beside which the files of lists lie.
        head: the probe.
    """
    words = {}
    faults: list[Fault] = []
    lists = head.evaluator.lists if isinstance(head.evaluator, WordCounts) else {}
    for name, source in lists.items():
        texts = source
        if isinstance(source, str):
            texts = list_words(path.parent / source, WORD_LIST_EXPECTED, faults)
        words[name] = tuple(dict.fromkeys(text.lower() for text in texts))
    return words, faults
