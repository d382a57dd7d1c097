"""Checkpoints: found on the hub or in a folder, recorded by their digests, and loaded with clear refusals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.faults import UserError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
)
SAFE_WEIGHTS = ("model.safetensors", "model-*.safetensors", "model.safetensors.index.json")
PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json")


class ModelError(UserError):
    """A model that cannot be used, with what is wrong and what to do about it."""


def locate(
    checkpoint: str | None, folder: str | None, revision: str | None, files: Iterable[str], offline: bool
) -> tuple[Path, str | None]:
    """Finds a checkpoint's folder, downloading from the hub what is not cached.

    Args:
        checkpoint: a repository of the hub, or None where `folder` is given.
        folder: a local folder.
        revision: the commit or branch of the repository.
        files: patterns of the files to download.
        offline: whether to look in the cache only.

    Returns:
        The folder and, for the hub, the commit that the revision stands for.

    Raises:
        ModelError: there is no such folder or repository, or it cannot be reached.
    """
    if folder is not None or checkpoint is None:
        folder = str(folder)
        if not Path(folder).is_dir():
            raise ModelError(f"there is no folder {folder}; expected a checkpoint with config.json and weights")
        return Path(folder), None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        path = snapshot_download(
            checkpoint, revision=revision, allow_patterns=["config.json", *files], local_files_only=offline
        )
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(
            f"{checkpoint} at revision {revision} cannot be downloaded ({reason}); expected a repository of the hub "
            "that this machine can reach and your token may read, or set `folder` to a local copy"
        ) from error
    return Path(path), Path(path).name


def make_record(
    checkpoint: str | None, folder: str | None, revision: str | None, weights: bool, allow_pickle: bool
) -> dict[str, Any]:
    """Fetches a checkpoint and returns its record: where it is from, and a digest of each file that counts.

    Later stages depend on the record, so they run again when a file's content changes and not when it is touched.

    Args:
        checkpoint: a repository of the hub, or None where `folder` is given.
        folder: a local folder.
        revision: the commit or branch of the repository.
        weights: whether the weights are needed, or the tokenizer alone.
        allow_pickle: whether weights may be pickled files, which can run code when they are loaded.

    Raises:
        ModelError: it cannot be found, or has no weights or tokenizer.
    """
    pickled = PICKLED_WEIGHTS if allow_pickle else ()
    needed = (*SAFE_WEIGHTS, *pickled) if weights else TOKENIZER_FILES
    files = (*TOKENIZER_FILES, *needed) if weights else TOKENIZER_FILES
    path, commit = locate(checkpoint, folder, revision, files, offline=False)
    found = sorted({file for pattern in ("config.json", *files) for file in path.glob(pattern)})
    if not any(file.match(pattern) for file in found for pattern in needed):
        hint = " (or set allow_pickle: true)" if weights and any(path.glob("pytorch_model*.bin")) else ""
        raise ModelError(
            f"{checkpoint or folder} has none of the files {', '.join(needed)}; expected at least one{hint}"
        )
    digests = {}
    for file in found:
        with file.open("rb") as stream:
            digests[file.name] = file_digest(stream, "sha256").hexdigest()
    return {"checkpoint": checkpoint, "folder": folder, "revision": commit, "files": digests}


def read_record(path: str | Path) -> dict[str, Any]:
    """Reads a record that `make_record` made."""
    record: dict[str, Any] = json.loads(Path(path).read_text())
    return record


def folder_of(record: dict[str, Any]) -> Path:
    """Returns the local folder of a recorded checkpoint, without touching the network."""
    return locate(record["checkpoint"], record["folder"], record["revision"], list(record["files"]), offline=True)[0]


def locate_source(source: Mapping[str, str | None]) -> Path:
    """Finds the checkpoint that training starts from, downloading what is not cached."""
    files = (*TOKENIZER_FILES, *SAFE_WEIGHTS)
    return locate(source["checkpoint"], source["folder"], source["revision"], files, offline=False)[0]


def load_tokenizer(record: dict[str, Any]) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a recorded checkpoint.

    Raises:
        ModelError: it has no fast version, whose offsets the engine needs.
    """
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder_of(record), local_files_only=True)
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer of {name_of(record)} has no fast version; expected a tokenizer.json")
    # A tokenizer.json may carry the padding and truncation of its training, which the engine must not see.
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def load_model(record: dict[str, Any], task: str, device: torch.device) -> PreTrainedModel:
    """Loads a recorded checkpoint in float32, ready for inference.

    Raises:
        ModelError: weights that the task needs are not in the checkpoint.
    """
    import torch
    from transformers import AutoModelForMaskedLM, AutoModelForQuestionAnswering

    loaders = {"fill-mask": AutoModelForMaskedLM, "question-answering": AutoModelForQuestionAnswering}
    model, info = loaders[task].from_pretrained(
        folder_of(record), local_files_only=True, dtype=torch.float32, output_loading_info=True
    )
    missing = sorted([*info["missing_keys"], *(str(key) for key in info["mismatched_keys"])])
    if missing:
        raise ModelError(
            f"{name_of(record)} has no weights for the task {task}: {', '.join(missing[:5])} would be newly "
            f"initialized; expected a checkpoint that was trained for {task}"
        )
    return model.eval().to(device)


def name_of(record: dict[str, Any]) -> str:
    """Names a checkpoint for messages."""
    return str(record["checkpoint"] or record["folder"])
