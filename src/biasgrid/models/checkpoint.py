"""Checkpoints that were fetched: their records, and how model and tokenizer are loaded, without the network."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.faults import UserError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class ModelError(UserError):
    """A model that cannot be used, with what is wrong and what to do about it."""


def read_record(path: str | Path) -> dict[str, Any]:
    """Reads a record that `biasgrid.models.fetch.make_record` made.

    Raises:
        ModelError: the file is damaged.
    """
    try:
        record: dict[str, Any] = json.loads(Path(path).read_text())
    except ValueError as error:
        raise ModelError(f"{path}: not a record of a checkpoint ({error}); remove it and run again") from None
    return record


def name_of(record: dict[str, Any]) -> str:
    """Names a checkpoint for messages."""
    return str(record["checkpoint"] or record["folder"])


def folder_of(record: dict[str, Any]) -> Path:
    """Returns the local folder of a recorded checkpoint, without touching the network.

    Raises:
        ModelError: it, or one of its files, is not there.
    """
    is_local = record["checkpoint"] is None
    folder = Path(record["folder"]) if is_local else cached_folder(record)
    gone = [name for name in record["files"] if folder is None or not (folder / name).is_file()]
    if folder is None or gone:
        place = "it" if is_local else "this machine's cache of the hub, which HF_HOME sets,"
        raise ModelError(
            f"{name_of(record)}: {place} has no {', '.join(gone[:3])} any more; expected the files that were there "
            "when the record was made: remove the record and run again, where there is a network"
        )
    return folder


def cached_folder(record: dict[str, Any]) -> Path | None:
    """Returns the folder of a commit in the cache of the hub, None where it is not there or lacks files."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = snapshot_download(
            record["checkpoint"], revision=record["revision"], allow_patterns=record["files"], local_files_only=True
        )
    except LocalEntryNotFoundError:
        return None
    return Path(folder)


def load_tokenizer(record: dict[str, Any]) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a recorded checkpoint.

    Raises:
        ModelError: it cannot be loaded, or has no fast version, whose offsets the engine needs.
    """
    from transformers import AutoTokenizer

    with refusals(record):
        tokenizer = AutoTokenizer.from_pretrained(folder_of(record), **switches(record))
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer of {name_of(record)} has no fast version; expected a tokenizer.json")
    # A tokenizer.json may carry the padding and truncation of its training, which the engine must not see.
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def check_content(record: dict[str, Any], folder: Path) -> None:
    """Refuses a checkpoint whose files are not those that were recorded, whatever their times say.

    Raises:
        ModelError: with the files that have changed.
    """
    changed = [name for name, digest in record["files"].items() if digest_file(folder / name) != digest]
    if changed:
        raise ModelError(
            f"{name_of(record)}: {', '.join(changed)} changed since the record of the model was made; expected the "
            "same files: remove the record and run again"
        )


def digest_file(path: Path) -> str:
    """Returns the SHA-256 of a file."""
    with path.open("rb") as stream:
        return file_digest(stream, "sha256").hexdigest()


def load_model(record: dict[str, Any], task: str, device: torch.device) -> PreTrainedModel:
    """Loads a recorded checkpoint in float32, ready for inference.

    Raises:
        ModelError: it cannot be loaded, is not what was recorded, or lacks weights that the task needs.
    """
    import torch
    from transformers import (
        AutoModelForMaskedLM,
        AutoModelForQuestionAnswering,
        AutoModelForSequenceClassification,
    )

    loaders = {
        "fill-mask": AutoModelForMaskedLM,
        "question-answering": AutoModelForQuestionAnswering,
        "text-classification": AutoModelForSequenceClassification,
    }
    folder = folder_of(record)
    check_content(record, folder)
    with refusals(record):
        model, info = loaders[task].from_pretrained(
            folder,
            **switches(record),
            # Other files may lie in the same folder; pickles are loaded only where the record has them.
            use_safetensors=not any(name.endswith(".bin") for name in record["files"]),
            dtype=torch.float32,
            output_loading_info=True,
        )
    missing = sorted([*info["missing_keys"], *(str(key) for key in info["mismatched_keys"])])
    if missing:
        raise ModelError(
            f"{name_of(record)} has no weights for the task {task}: {', '.join(missing[:5])} would be newly "
            f"initialized; expected a checkpoint that was trained for {task}"
        )
    return model.eval().to(device)


def switches(record: dict[str, Any]) -> dict[str, bool]:
    """Returns what transformers may do while it loads; left open, it asks on the terminal whether to run code."""
    return {"local_files_only": True, "trust_remote_code": record["allow_remote_code"]}


@contextmanager
def refusals(record: dict[str, Any]) -> Iterator[None]:
    """Words what transformers says of files that it cannot load."""
    from safetensors import SafetensorError

    try:
        yield
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        raise ModelError(
            f"{name_of(record)} cannot be loaded ({first_line(error)}); expected files that transformers can read"
        ) from error


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message that has words."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)
