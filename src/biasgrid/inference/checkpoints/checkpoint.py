"""Records of fetched checkpoints; loads their models and tokenizers without the network."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.base.faults import UserError, first_few
from biasgrid.base.files import digest_once, read_run_json
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
LAYER_NUMBER = re.compile(r"\.\d+\.")


class ModelError(UserError):
    """A model cannot be used; the message says why, and what to do about it."""


def read_record(path: str | Path) -> dict[str, Any]:
    """Reads a record that `fetch.make_record` or `fetch.make_keys_record` made.

    Raises:
        UserError: the file is damaged.
    """
    record: dict[str, Any] = read_run_json(path, "a record of a checkpoint")
    return record


def has_checkpoint(record: Mapping[str, Any]) -> bool:
    """Whether a record, or its source, is of a checkpoint.

    Models behind endpoints, and answers in files, only have `keys`.
    """
    return "keys" not in record


def checkpoint_name(record: Mapping[str, Any]) -> str:
    """Returns the name of a record's checkpoint for messages; "the config" without a checkpoint."""
    return str(record["checkpoint"] or record["folder"] or "the config")


def recorded_files(record: Mapping[str, Any]) -> dict[str, str]:
    """Returns the digests of all recorded files, by their names in the checkpoint's folder."""
    return {**record["files"], **record.get("other_files", {})}


def local_folder(record: Mapping[str, Any]) -> Path:
    """Returns the local folder of a recorded checkpoint, without touching the network.

    Raises:
        ModelError: there is no checkpoint, or its folder or a recorded file is missing.
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
    """Returns the folder of a recorded commit in the cache of the hub; None if it is incomplete."""
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


def read_tokenizer(name: str, folder: str | Path, **permissions: bool) -> PreTrainedTokenizerFast:
    """Loads the tokenizer of a folder; it neither pads nor truncates.

    Args:
        name: the checkpoint's name, for messages.
        folder: the folder.
        permissions: arguments of transformers, see `switches`.

    Raises:
        ModelError: it cannot be loaded, or has no fast version, whose offsets the engine needs.
    """
    from transformers import AutoTokenizer

    with loading_errors(name):
        tokenizer = AutoTokenizer.from_pretrained(folder, **permissions)
        if not tokenizer.chat_template:
            tokenizer.chat_template = read_chat_template(name, Path(folder))
    if not tokenizer.is_fast:
        raise ModelError(f"the tokenizer of {name} has no fast version; expected a tokenizer.json")
    # A tokenizer.json may contain the padding and truncation of its training.
    tokenizer.backend_tokenizer.no_padding()
    tokenizer.backend_tokenizer.no_truncation()
    return tokenizer


def checked_folder(record: Mapping[str, Any]) -> Path:
    """Returns the local folder of a recorded checkpoint, after a check of its files.

    Raises:
        ModelError: a recorded file is missing or has changed.
    """
    folder = local_folder(record)
    check_digests(record, folder)
    return folder


def check_digests(record: Mapping[str, Any], folder: Path) -> None:
    """Refuses a checkpoint whose files have other digests than its record.

    Raises:
        ModelError: names the files that have changed.
    """
    changes = []
    for name, digest in recorded_files(record).items():
        if digest_once(folder / name) != digest:
            changes.append(name)
    if changes:
        raise ModelError(
            f"{checkpoint_name(record)}: {', '.join(changes)} changed since the model's record was "
            "made; expected the same files: remove the record and run again"
        )


def load_recorded_model(
    record: Mapping[str, Any], task: str, loader: str, device: torch.device
) -> PreTrainedModel:
    """Loads a recorded checkpoint in float32, ready for inference.

    Args:
        record: its record.
        task: the model's task, for messages.
        loader: the name of the class of transformers that loads it, such as `AutoModelForMaskedLM`.
        device: the device to move it to.

    Raises:
        ModelError: it cannot be loaded, its files have changed, or it lacks weights for the task.
    """
    import torch
    import transformers

    name = checkpoint_name(record)
    folder = checked_folder(record)
    fault = quantisation(name, file_names(folder), folder)
    if fault:
        raise ModelError(f"{name} {fault.problem}; expected {fault.expected}")
    # Other settings of the checkpoint are left out: the config decides how tokens are drawn.
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
    """Refuses weights of other sizes or depth than the model in `config.json`.

    Args:
        name: the checkpoint's name, for the message.
        tensors: names of the model's tensors, without optional ones, which a file may lack.
        info: the loading info of transformers: `mismatched_keys` (name, size in the file, size in
            the model), `missing_keys` (not in the file) and `unexpected_keys` (not in the model).

    Raises:
        ModelError: names the first two contradictions.
    """
    missing = set(info["missing_keys"])
    # A file has a tensor of all layers or of none.
    in_both = {without_layer(tensor) for tensor in tensors - missing}
    problems = []
    for tensor, size_in_file, size_in_model in sorted(info["mismatched_keys"]):
        if tensor in tensors:
            problems.append(f"{tensor} is {shape(size_in_file)}, not {shape(size_in_model)}")
    for tensor in sorted(missing):
        if without_layer(tensor) in in_both:
            problems.append(f"{tensor} is missing")
    problems += [
        f"{tensor} is left over" for tensor in surplus_layers(tensors, info["unexpected_keys"])
    ]
    if problems:
        raise ModelError(
            f"{name}: the weights do not match config.json ({first_few(problems, 2)}); expected "
            "both from the same model"
        )


def surplus_layers(tensors: set[str], surplus: Iterable[str]) -> list[str]:
    """Returns, sorted, the tensors in the file that belong to layers which the model lacks.

    These are further layers of a stack, or the layers of a part to which the config gives none.
    Other surplus tensors are no contradiction: heads of other tasks, poolers, or a decoder that the
    task does not need.

    Args:
        tensors: names of the model's tensors.
        surplus: names of tensors that are in the file and not in the model.
    """
    in_model = {without_layer(tensor) for tensor in tensors}
    parts_with_layers = {model_part(tensor) for tensor in tensors if LAYER_NUMBER.search(tensor)}
    parts_without_layers = {model_part(tensor) for tensor in tensors} - parts_with_layers
    layers = []
    for tensor in sorted(surplus):
        is_further_layer = without_layer(tensor) in in_model
        has_layer = LAYER_NUMBER.search(tensor) is not None
        is_first_layer = has_layer and model_part(tensor) in parts_without_layers
        if is_further_layer or is_first_layer:
            layers.append(tensor)
    return layers


def without_layer(tensor: str) -> str:
    """Returns a tensor's name without numbers, such as `encoder.layer.N.bias`."""
    return DIGITS.sub("N", tensor)


def model_part(tensor: str) -> str:
    """Returns the part of a model that a tensor belongs to, such as `bert` or `cls`."""
    return tensor.split(".")[0]


def shape(size: Iterable[int]) -> str:
    """Formats the size of a tensor: `30522 x 768`."""
    return " x ".join(map(str, size))


def switches(record: Mapping[str, Any]) -> dict[str, bool]:
    """Returns arguments of transformers: no downloads, and code of the checkpoint only if allowed.

    Without them, transformers asks on the terminal whether to run code.
    """
    return {"local_files_only": True, "trust_remote_code": record["allow_remote_code"]}


@contextmanager
def without_load_report() -> Iterator[None]:
    """Stops transformers from printing its table of tensors; see `check_weights_fit`."""
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
    # Damaged files may fail anywhere, as transformers does not check them.
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
