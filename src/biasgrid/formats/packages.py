"""Packages of other projects that a user has: a wheel, or the folder where a package is."""

from __future__ import annotations

import os
import signal
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import distributions
from pathlib import Path
from subprocess import DEVNULL, Popen
from tempfile import TemporaryDirectory, TemporaryFile
from zipfile import BadZipFile, ZipFile

from biasgrid.base.faults import Fault, InputError

WHEEL = ".whl"
ENVIRONMENT_KEPT = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LD_LIBRARY_PATH",
    "PATH",
    "PYTHONPATH",
    "SYSTEMROOT",
    "TEMP",
    "TMPDIR",
    "VIRTUAL_ENV",
)
"""What a foreign package's process knows of the environment: no keys and no tokens."""


@contextmanager
def open_package_folder(package: Path, part: str, problem: str, expected: str) -> Iterator[Path]:
    """Gives the folder where a package's own is, for the time: of a wheel that of a copy.

    Args:
        package: the wheel or the folder.
        part: a file or folder of the package.
        problem: what is wrong where that is missing.
        expected: what would be right.

    Raises:
        InputError: it cannot be read, or has no such part.
    """
    with TemporaryDirectory() as copy:
        folder = package if package.is_dir() else Path(copy)
        if not package.is_dir():
            try:
                with ZipFile(package) as wheel:
                    wheel.extractall(folder)
            except (OSError, BadZipFile) as error:
                raise InputError(
                    [Fault(str(package), "", f"cannot be read ({error})", expected)]
                ) from None
        if not (folder / part).exists():
            raise InputError([Fault(str(package), "", problem, expected)])
        yield folder.resolve()


def version_of(folder: Path, name: str) -> str | None:
    """Returns the version of a package: of an installed one that of its metadata, of a checkout its
    pyproject.toml's.

    Args:
        folder: where the package's own folder is.
        name: the package's.

    Returns:
        The version, None where nothing there tells it.
    """
    for one in distributions(name=name, path=[str(folder)]):
        return one.version
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for head in (project.get("project"), project.get("tool", {}).get("poetry")):
        if (
            isinstance(head, dict)
            and head.get("name") == name
            and isinstance(head.get("version"), str)
        ):
            return str(head["version"])
    return None


def version_line(name: str, version: str | None) -> str:
    """Returns a sentence that says which version of a package was read."""
    if version is None:
        told = f"neither {name}-*.dist-info nor pyproject.toml beside it gives one"
        return f"{name} of an unknown version: {told}."
    return f"{name} {version}."


def run_isolated(command: Sequence[str], seconds: float) -> tuple[int, str]:
    """Runs code of others in a process of its own, which ends with all that it has started.

    Args:
        command: what is run.
        seconds: how long it may take.

    Returns:
        Its exit code, and what it has written on its standard error.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    environment = {name: os.environ[name] for name in ENVIRONMENT_KEPT if name in os.environ}
    # The hub's library would read a token from the home folder.
    environment["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    # A pipe would be waited for as long as a process that it has started holds it.
    with TemporaryFile() as said:
        process = Popen(
            command,
            env=environment,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        return code, said.read().decode("utf-8", errors="replace")
