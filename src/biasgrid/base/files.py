"""Writes files whole or not at all, explains refusals of the system, and handles damaged files and
files from the future.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path
from secrets import token_hex
from socket import gethostname
from typing import Any

from biasgrid.base.faults import UserError, nearest_name

LAUNCHER_VARIABLE = "BIASGRID_PARENT"
"""The environment variable with `PID:PARENT_PID` of a job, set by `jobs.fork_server`. If another
process has become the job's parent, its launcher has ended.
"""
FULL_DISK = (errno.ENOSPC, errno.EDQUOT)
MACHINE = sha256(gethostname().encode()).hexdigest()[:4]
"""Distinguishes this machine in names of temporary files from others that share the folder."""
SECONDS_UNTIL_ABANDONED = 24 * 60 * 60
"""The age at which a temporary file of another machine is taken for that of a killed writer."""


def write_text(path: str | Path, text: str) -> None:
    """Writes a text file in UTF-8 with line feeds; readers never see a half-written file.

    Raises:
        UserError: the disk is full, or the system refuses for another reason.
    """
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8", newline="\n")


def read_run_json(path: str | Path, kind: str) -> Any:
    """Reads a JSON file that a run has written.

    Args:
        path: the file.
        kind: a description of the right file, for the message.

    Raises:
        UserError: the file is empty or is not JSON.
        OSError: the file cannot be read.
    """
    try:
        return json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise UserError(f"{path}: not {kind} ({error}); remove it and run again") from None


def missing_path(path: Path) -> str:
    """Describes why a path does not exist: its first missing part, and the nearest name there.

    Args:
        path: a path that does not exist.
    """
    missing, hint = nearest_path(path)
    folder = missing.parent
    folder_text = "this folder" if folder == Path() else f"the folder {folder}"
    return f"there is no {missing.name!r} in {folder_text}{hint}"


def nearest_path(path: Path) -> tuple[Path, str]:
    """Returns the first missing part of a path that does not exist, and a hint at a similar name.

    The hint is of `nearest_name`, "" without a similar name in the folder of that part.
    """
    missing = path
    while not missing.parent.is_dir():
        missing = missing.parent
    return missing, nearest_name(missing.name, [entry.name for entry in missing.parent.iterdir()])


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Yields a temporary path beside `path`; the body must create a file there.

    If the body ends without an error, the file is moved to `path`, else it is removed. Several
    writers may be at work on one path; the last that ends wins. Temporary files that killed writers
    have left are removed.

    Args:
        path: the file; missing folders are made. The temporary path does not have its suffix.

    Raises:
        UserError: `path` exists and is not a regular file; or any OSError of the body, reported as
            a refusal to write `path`.
    """
    path = Path(path)
    with explain_refusal(path):
        if path.exists() and not path.is_file():
            raise UserError(
                f"{path}: is a folder, pipe or device; expected a file that can be written"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_partials(path)
        partial = path.with_name(f".{path.name}.{MACHINE}-{os.getpid()}-{token_hex(4)}")
        try:
            yield partial
            # Some file systems report only now that there was no room.
            with partial.open("rb") as file:
                os.fsync(file)
            # A job whose launcher has ended must not replace what a new run may have written.
            refuse_if_abandoned(path)
            partial.replace(path)
        finally:
            with suppress(OSError):
                partial.unlink(missing_ok=True)


@contextmanager
def each_file_whole(folder: str | Path) -> Iterator[Path]:
    """Yields a temporary folder in `folder`; its files move to `folder` if the body succeeds.

    Only one writer may be at work in a folder: another's temporary files are removed. The files are
    moved one after the other, not all at once. Files of other names in `folder` stay.

    Args:
        folder: the destination; made if it is missing.

    Raises:
        UserError: any OSError of the body or of a move, reported as a refusal to write `folder`.
    """
    partial = Path(folder, ".partial")
    with explain_refusal(folder):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            yield partial
            refuse_if_abandoned(folder)
            for file in partial.iterdir():
                file.replace(Path(folder, file.name))
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def refuse_if_abandoned(path: str | Path) -> None:
    """Refuses to write an output if this process is a job whose launcher has ended.

    Raises:
        UserError: the launcher named in `LAUNCHER_VARIABLE` is not the parent of this process.
    """
    process, _, parent = os.environ.get(LAUNCHER_VARIABLE, "").partition(":")
    if process == str(os.getpid()) and parent != str(os.getppid()):
        raise UserError(
            f"{path}: not written, because the process that started this job has ended; run again"
        )


def remove_partials(path: Path) -> None:
    """Removes temporary files of `whole_file` whose writers have ended without removing them."""
    name = re.compile(rf"\.{re.escape(path.name)}\.([0-9a-f]{{4}})-(\d+)-[0-9a-f]{{8}}")
    for partial in path.parent.glob(f".{path.name[:1]}*"):
        match = name.fullmatch(partial.name)
        if match is None:
            continue
        # A writer may have finished by now.
        with suppress(FileNotFoundError):
            if match[1] == MACHINE:
                has_ended = not is_running(int(match[2]))
            else:
                # Nodes of a cluster share folders. The processes of others cannot be asked for.
                has_ended = time.time() - partial.stat().st_mtime > SECONDS_UNTIL_ABANDONED
            if has_ended:
                partial.unlink()


def is_running(process: int) -> bool:
    """Whether this machine has a process of a number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # another user's
        return True
    return True


@contextmanager
def explain_refusal(path: str | Path, remedy: str = "fix that") -> Iterator[None]:
    """Turns an error of the system in the body into a UserError about writing a path.

    Args:
        path: the file or folder that is written.
        remedy: the advice if the reason is not a full disk.

    Raises:
        UserError: with the path and the reason. Other exceptions of the body are not changed.
    """
    try:
        yield
    except Exception as error:
        error_number = system_error(error)
        if error_number is None:
            raise
        if error_number in FULL_DISK:
            raise UserError(
                f"{path}: cannot be written, because the disk is full; free some space "
                "and run again"
            ) from None
        raise UserError(
            f"{path}: cannot be written ({os.strerror(error_number)}); {remedy} and run again"
        ) from None


def system_error(error: Exception) -> int | None:
    """Returns the `errno` of an exception, None if it is not an error of the system."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno
    # Libraries in Rust, such as polars and safetensors, have the number only in the message.
    match = re.search(r"\(os error (\d+)\)", str(error))
    return int(match[1]) if match else None


def bring_to_present(paths: Iterable[str | Path]) -> None:
    """Sets the modification time of files from the future to now.

    Such files remain after a fast clock is set back. Until their time comes, Snakemake takes all
    that was made from them for outdated, and removes what it makes from them. All get the same
    time, so none becomes newer than a file made from it.
    """
    now = time.time()
    for path in map(Path, paths):
        # Only the owner of a file may set its time, and a job of a killed run may remove it now.
        with suppress(PermissionError, FileNotFoundError):
            if path.lstat().st_mtime > now:
                os.utime(path, (now, now), follow_symlinks=False)


def digest_file(*paths: Path) -> str:
    """Returns the SHA-256 of a file, or of several concatenated files, in hexadecimal digits."""
    digest = sha256()
    for path in paths:
        with path.open("rb") as stream:
            file_digest(stream, lambda: digest)
    return digest.hexdigest()


def digest_once(path: Path) -> str:
    """Returns the SHA-256 of a large file, which is read again only if its size or time changes."""
    status = path.stat()
    return _digest_of_state(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_of_state(path: Path, _size: int, _nanoseconds: int) -> str:
    """Returns the SHA-256 of a file in the state of a size and a time of its last change."""
    return digest_file(path)
