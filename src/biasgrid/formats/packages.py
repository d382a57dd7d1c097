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
"""Variables of the environment that a foreign package gets: no keys and no tokens."""


@contextmanager
def open_package_folder(package: Path, part: str, problem: str, expected: str) -> Iterator[Path]:
    """Opens the folder that holds a package's own; a wheel is copied into a temporary one.

    Args:
        package: the wheel or the folder.
        part: a file or folder of the package.
        problem: the problem if that is missing, for messages.
        expected: a description of a package that would be right.

    Raises:
        InputError: it cannot be read, or has no such part.
    """
    with TemporaryDirectory() as copy:
        if package.is_dir():
            folder = package
        else:
            folder = Path(copy)
            try:
                with ZipFile(package) as wheel:
                    wheel.extractall(folder)
            except (OSError, BadZipFile) as error:
                fault = Fault(str(package), "", f"cannot be read ({error})", expected)
                raise InputError([fault]) from None
        if not (folder / part).exists():
            raise InputError([Fault(str(package), "", problem, expected)])
        yield folder.resolve()


def version_of(folder: Path, name: str) -> str | None:
    """Returns the version of a package, from its metadata or the pyproject.toml of a checkout.

    Args:
        folder: the folder that holds the package's own.
        name: the package.

    Returns:
        The version, None if nothing there tells it.
    """
    for distribution in distributions(name=name, path=[str(folder)]):
        return distribution.version
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for head in (project.get("project"), project.get("tool", {}).get("poetry")):
        if not isinstance(head, dict) or head.get("name") != name:
            continue
        version = head.get("version")
        if isinstance(version, str):
            return version
    return None


def version_line(name: str, version: str | None) -> str:
    """Returns a sentence that says which version of a package was read."""
    if version is None:
        reason = f"neither {name}-*.dist-info nor pyproject.toml beside it gives one"
        return f"{name} of an unknown version: {reason}."
    return f"{name} {version}."


def run_isolated(command: Sequence[str], seconds: float) -> tuple[int, str]:
    """Runs code of others in a process of its own, which ends with all that it has started.

    Args:
        command: the command.
        seconds: the time that it may take.

    Returns:
        Its exit code, and its standard error.

    Raises:
        subprocess.TimeoutExpired: it took longer, and was killed.
    """
    environment = {name: os.environ[name] for name in ENVIRONMENT_KEPT if name in os.environ}
    # The hub's library would read a token from the home folder.
    environment["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    # A pipe would be waited for as long as a process that it has started holds it.
    with TemporaryFile() as errors:
        process = Popen(
            command,
            env=environment,
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        errors.seek(0)
        return code, errors.read().decode("utf-8", errors="replace")
