"""Checkpoints that were fetched: their records, and how model and tokenizer are loaded, without the
network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.base.faults import UserError, first_few
from biasgrid.base.files import digest_file, read_run_json
from biasgrid.inference.checkpoints.files import (
    file_names,
    read_chat_template,
    read_end_tokens,
)
from biasgrid.inference.checkpoints.unsupported import quantisation

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

DIGITS = re.compile(r"\d+")
LAYER = re.compile(r"\.\d+\.")


class ModelError(UserError):
    """A model that cannot be used, with what is wrong and what to do about it."""


def read_record(path: str | Path) -> dict[str, Any]:
    """Reads a record that `biasgrid.inference.checkpoints.fetch.make_record` made.

    Raises:
        UserError: the file is damaged.
    """
    record: dict[str, Any] = read_run_json(path, "a record of a checkpoint")
    return record


def checkpoint_name(record: Mapping[str, Any]) -> str:
    """Names a checkpoint for messages."""
    return str(record["checkpoint"] or record["folder"] or "the config")


def has_checkpoint(record: Mapping[str, Any]) -> bool:
    """Whether a record is of a checkpoint, and not of the keys of a model without one, such as an
    endpoint.
    """
    return "keys" not in record


def recorded_files(record: Mapping[str, Any]) -> dict[str, str]:
    """Returns the digests of all recorded files, by their names in the checkpoint's folder."""
    return {**record["files"], **record.get("other_files", {})}


def local_folder(record: Mapping[str, Any]) -> Path:
    """Returns the local folder of a recorded checkpoint, without touching the network.

    Raises:
        ModelError: it, or one of its files, is not there.
    """
    if not has_checkpoint(record):
        raise ModelError("the model has no checkpoint")
    is_local = record["checkpoint"] is None
    folder = Path(record["folder"]) if is_local else cached_folder(record)
    missing = [*recorded_files(record)]
    if folder is not None:
        missing = [name for name in missing if not (folder / name).is_file()]
    if folder is None or missing:
        place = "it" if is_local else "this machine's cache of the hub, which HF_HOME sets,"
        raise ModelError(
            f"{checkpoint_name(record)}: {place} no longer has {', '.join(missing[:3])}; expected "
            "the files of its record: remove the record and run again with a network"
        )
    return folder


def cached_folder(record: Mapping[str, Any]) -> Path | None:
    """Returns the folder of a commit in the cache of the hub, None where it is not there or lacks
    files.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = snapshot_download(
            record["checkpoint"],
            revision=record["revision"],
            allow_patterns=[*recorded_files(record)],
            local_files_only=True,
        )
    except LocalEntryNotFoundError:
        return None
    return Path(folder)


def load_recorded_tokenizer(record: Mapping[str, Any]) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a recorded checkpoint.

    Raises:
        ModelError: see `read_tokenizer`.
    """
    return read_tokenizer(checkpoint_name(record), local_folder(record), **switches(record))


def read_tokenizer(name: str, folder: str | Path, **options: bool) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a folder.

    Args:
        name: the checkpoint's name, for messages.
        folder: the folder.
        options: what transformers may do while it loads.

    Raises:
        ModelError: it cannot be loaded, or has no fast version, whose offsets the engine needs.
    """
    from transformers import AutoTokenizer

    with loading_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(folder, **options)
        if not tokenizer.chat_template:
            tokenizer.chat_template = read_chat_template(name, Path(folder))
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer of {name} has no fast version; expected a tokenizer.json")
    # A tokenizer.json may carry the padding and truncation of its training, which the engine must
    # not see.
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def checked_folder(record: Mapping[str, Any]) -> Path:
    """Returns the local folder of a recorded checkpoint, whose files are those that were recorded.

    Raises:
        ModelError: one of them is not there or has changed.
    """
    folder = local_folder(record)
    check_digests(record, folder)
    return folder


def check_digests(record: Mapping[str, Any], folder: Path) -> None:
    """Refuses a checkpoint whose files are not those that were recorded, whatever their times say.

    Raises:
        ModelError: with the files that have changed.
    """
    changed = [
        name
        for name, digest in recorded_files(record).items()
        if digest_file(folder / name) != digest
    ]
    if changed:
        raise ModelError(
            f"{checkpoint_name(record)}: {', '.join(changed)} changed since the model's record was "
            "made; expected the same files: remove the record and run again"
        )


def load_recorded_model(
    record: Mapping[str, Any], task: str, loader: str, device: torch.device
) -> PreTrainedModel:
    """Loads a recorded checkpoint in float32, ready for inference.

    Args:
        record: its record.
        task: what it is used for, for messages.
        loader: the class of transformers that loads models of the task, such as
            `AutoModelForMaskedLM`.
        device: where it goes.

    Raises:
        ModelError: it cannot be loaded, is not what was recorded, or lacks weights that the task
            needs.
    """
    import torch
    import transformers

    name = checkpoint_name(record)
    folder = checked_folder(record)
    quantised = quantisation(name, file_names(folder), folder)
    if quantised:
        raise ModelError(f"{name} {quantised.problem}; expected {quantised.expected}")
    # No other setting for generation is used: the config decides how tokens are drawn, and not the
    # checkpoint.
    end_tokens = read_end_tokens(name, folder)
    generation_config = transformers.GenerationConfig(eos_token_id=end_tokens or None)
    # Other files may lie in the same folder; pickles are loaded only if the record has them.
    has_pickles = any(file.endswith(".bin") for file in record["files"])
    auto_class = getattr(transformers, loader)
    with loading_errors(name), without_load_report():
        model, info = auto_class.from_pretrained(
            folder,
            **switches(record),
            generation_config=generation_config,
            use_safetensors=not has_pickles,
            dtype=torch.float32,
            output_loading_info=True,
            # `check_weights_fit` reports tensor and size; transformers would refuse without them.
            ignore_mismatched_sizes=True,
        )
    check_weights_fit(name, set(model.state_dict()), info)
    missing = sorted(info["missing_keys"])
    if missing:
        raise ModelError(
            f"{name} has no weights for the task {task}: {', '.join(missing[:5])} would start with "
            f"random values; expected a checkpoint that was trained for {task}"
        )
    return model.eval().to(device)


def check_weights_fit(name: str, tensors: set[str], info: dict[str, Any]) -> None:
    """Refuses weights of other sizes or depth than those of the model in `config.json`.

    Args:
        name: the checkpoint's name.
        tensors: names of the model's tensors; optional ones, which the file may lack, may be left
            out.
        info: the loading info of transformers: `mismatched_keys` (name, size in the file, size in
            the model), `missing_keys` (not in the file) and `unexpected_keys` (not in the model).

    Raises:
        ModelError: names the first contradictions.
    """
    missing = set(info["missing_keys"])
    # Layers are numbered: of two tensors that differ in a number only, a file has both or none.
    in_both = {DIGITS.sub("N", tensor) for tensor in tensors - missing}
    problems = []
    for tensor, size_in_file, size_in_model in sorted(info["mismatched_keys"]):
        if tensor in tensors:
            problems.append(f"{tensor} is {shape(size_in_file)}, not {shape(size_in_model)}")
    for tensor in sorted(missing):
        if DIGITS.sub("N", tensor) in in_both:
            problems.append(f"{tensor} is missing")
    problems += [
        f"{tensor} is left over" for tensor in surplus_layers(tensors, info["unexpected_keys"])
    ]
    if problems:
        raise ModelError(
            f"{name}: the weights do not match config.json ({first_few(problems, 2)}); expected "
            "both from the same model"
        )


def surplus_layers(tensors: set[str], unexpected: Iterable[str]) -> list[str]:
    """Returns the sorted tensors of layers that are in the file, but missing in the model.

    Other surplus tensors are no contradiction: heads of other tasks, poolers, or a decoder that the
    task does not need.

    Args:
        tensors: names of the model's tensors.
        unexpected: names of tensors that are in the file and not in the model.
    """
    in_model = {DIGITS.sub("N", tensor) for tensor in tensors}
    layered = {model_part(tensor) for tensor in tensors if LAYER.search(tensor)}
    without_layers = {model_part(tensor) for tensor in tensors} - layered
    surplus = []
    for tensor in sorted(unexpected):
        is_further_layer = DIGITS.sub("N", tensor) in in_model
        # The config may give a part of the model no layers at all.
        is_first_layer = LAYER.search(tensor) and model_part(tensor) in without_layers
        if is_further_layer or is_first_layer:
            surplus.append(tensor)
    return surplus


def model_part(tensor: str) -> str:
    """Returns the part of a model that a tensor belongs to, such as `bert` or `cls`."""
    return tensor.split(".")[0]


def shape(size: Iterable[int]) -> str:
    """Formats the size of a tensor: `30522 x 768`."""
    return " x ".join(map(str, size))


def switches(record: Mapping[str, Any]) -> dict[str, bool]:
    """Returns the permissions of transformers as it loads: no downloads, and code only if allowed.

    Without them, transformers asks on the terminal whether to run code.
    """
    return {"local_files_only": True, "trust_remote_code": record["allow_remote_code"]}


@contextmanager
def without_load_report() -> Iterator[None]:
    """Keeps transformers from printing a table of unfitting tensors; see `check_weights_fit`."""
    from transformers.utils import logging

    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def loading_errors(name: str) -> Iterator[None]:
    """Turns errors of transformers in loading a checkpoint's files into a ModelError."""
    try:
        yield
    except UserError:
        raise
    # Files that are wrong in their own way fail wherever transformers does not check them.
    except Exception as error:
        raise ModelError(
            f"{name} cannot be loaded ({first_line(error)}); expected files that "
            "transformers can read"
        ) from error


def first_line(error: BaseException) -> str:
    """Returns the first line of an error's message, and the next one if the first ends in a colon.

    Empty lines do not count; an error without a message gives its class.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if isinstance(error, KeyError):
        return f"there is no {lines[0]}"
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
