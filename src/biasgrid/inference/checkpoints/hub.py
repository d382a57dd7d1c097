"""Downloads from the hub: the files of one commit, checked against the digests on the hub."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from huggingface_hub import HfApi, get_cached_repo_tree, is_offline_mode, snapshot_download
from huggingface_hub.constants import ENDPOINT, HF_HUB_CACHE

# HTTPError is the base of the errors of whichever HTTP client the library uses.
from huggingface_hub.errors import (  # type: ignore[attr-defined]
    CachedRepoTreeNotFoundError,
    GatedRepoError,
    HFValidationError,
    HTTPError,
    LocalEntryNotFoundError,
    OfflineModeIsEnabled,
    RepositoryNotFoundError,
    RevisionNotFoundError,
    XetDownloadError,
)

from biasgrid.base.addresses import prepare_proxies
from biasgrid.base.files import explain_refusal
from biasgrid.inference.checkpoints.checkpoint import ModelError, first_line
from biasgrid.inference.checkpoints.files import file_names

logger = logging.getLogger(__name__)

FAILURES = (HTTPError, OSError, HFValidationError, XetDownloadError)


def download_checkpoint(checkpoint: str, revision: str | None, patterns: Collection[str]) -> Path:
    """Downloads files of a repository that are not in the cache; resumes broken downloads.

    Args:
        checkpoint: the repository.
        revision: its commit, tag or branch; None for its main branch.
        patterns: names of files, or patterns of names. If all are without a slash, files in folders
            of the repository are left out.

    Returns:
        The folder in the cache; see `commit_in_path`.

    Raises:
        ModelError: a file cannot be downloaded.
    """
    with explain_failures(checkpoint, revision):
        nested = any("/" in pattern for pattern in patterns)
        ignored = None if nested else ["*/*"]
        folder = snapshot_download(
            checkpoint, revision=revision, allow_patterns=list(patterns), ignore_patterns=ignored
        )
    return Path(folder)


def commit_in_path(folder: Path) -> str:
    """Returns the commit of a folder in the cache of the hub, which is the folder's name."""
    return folder.name


def list_files(checkpoint: str, folder: Path) -> list[str]:
    """Names all files of a repository at the commit of a folder in the cache.

    If the cache has no list of them, these are the files in the folder.
    """
    commit = commit_in_path(folder)
    try:
        return [file.path for file in get_cached_repo_tree(checkpoint, revision=commit)]
    except CachedRepoTreeNotFoundError:
        return file_names(folder)


def verify(checkpoint: str, commit: str, names: Collection[str]) -> None:
    """Compares files in the cache with the digests on the hub, and removes files that differ.

    With HF_HUB_OFFLINE, nothing was downloaded, and the files in the cache are not compared.

    Args:
        checkpoint: the repository.
        commit: the commit whose files are in the cache.
        names: the files to compare.

    Raises:
        ModelError: files differ, or the hub cannot be reached.
    """
    if is_offline_mode():
        logger.warning(
            "%s: taken from the cache as it is, because HF_HUB_OFFLINE is set", checkpoint
        )
        return
    with explain_failures(checkpoint, commit):
        report = HfApi().verify_repo_checksums(checkpoint, revision=commit)
    mismatches = [mismatch for mismatch in report.mismatches if mismatch["path"] in names]
    for mismatch in mismatches:
        remove(report.verified_path / mismatch["path"])
    if mismatches:
        line = "{path} ({algorithm} {actual}, expected {expected})"
        listed = ", ".join(line.format(**mismatch) for mismatch in mismatches)
        raise ModelError(
            f"{checkpoint} at revision {commit}: the download does not match what {ENDPOINT} "
            f"lists: {listed}. It was removed. Run again; if that does not help, check the "
            "mirror or proxy"
        )


def remove(path: Path) -> None:
    """Removes a file of the cache, with all links on the way to its content."""
    while path.is_symlink():
        target = path.parent / path.readlink()
        path.unlink()
        path = target
    path.unlink(missing_ok=True)


@contextmanager
def explain_failures(checkpoint: str, revision: str | None) -> Iterator[None]:
    """Turns errors of a download into a ModelError that users can act on."""
    prepare_proxies()
    with explain_refusal(HF_HUB_CACHE, "set HF_HOME to a folder that can be written to"):
        try:
            yield
        except FAILURES as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            which = f"{checkpoint} at revision {revision or 'main'}"
            raise ModelError(f"{which} cannot be fetched: {refusal_text(error)}") from error


def refusal_text(error: Exception) -> str:
    """Explains an error of the hub or of the connection to it, and the remedy."""
    cause: BaseException = error
    # The library wraps the reason for which a file is not in the cache.
    if isinstance(error, LocalEntryNotFoundError) and error.__cause__:
        cause = error.__cause__
    login = "log in with `hf auth login`, or set HF_TOKEN"
    match cause:
        case GatedRepoError():
            return f"the repository is gated; ask for access on its page on the hub and {login}"
        case RevisionNotFoundError():
            return (
                "the repository has no such revision; expected one of its commits, tags or branches"
            )
        case RepositoryNotFoundError():
            return (
                f"{ENDPOINT} shows no such repository; expected a name such as org/name, and for "
                f"a private one {login}"
            )
        case OfflineModeIsEnabled():
            return (
                f"it is not in the cache, {HF_HUB_CACHE}, and HF_HUB_OFFLINE is set; unset it if "
                "there is a network, or set `folder` to a local copy"
            )
        case HFValidationError():
            return "that is not the name of a repository; expected one such as org/name"
    return (
        f"{ENDPOINT} cannot be reached, or broke off the connection ({first_line(cause)}); run "
        "again with a network (complete files are kept), set HF_HUB_OFFLINE=1 if the cache has all "
        "files, or set `folder` to a local copy"
    )
