"""Which files of a checkpoint count, and what those in JSON say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError

CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"
END_KEY = "eos_token_id"
OF_NO_TEXT = ("_from_model_config", "transformers_version", "bos_token_id", "pad_token_id")
"""Keys of a generation_config.json that change no text that goes on from a prompt."""
TOKENIZER_CONFIG = "tokenizer_config.json"
CHAT_TEMPLATE = "chat_template.jinja"
CHAT_KEY = "chat_template"
VOCABULARIES = (
    "tokenizer.json",
    "vocab.txt",
    "vocab.json",
    "spiece.model",
    "sentencepiece.bpe.model",
    "spm.model",
)
TOKENIZER_FILES = (
    *VOCABULARIES,
    TOKENIZER_CONFIG,
    CHAT_TEMPLATE,
    "special_tokens_map.json",
    "added_tokens.json",
    "merges.txt",
)
PROCESSOR_TEMPLATES = ("chat_template.json", "processor_config.json")
"""Where models that also take pictures may have the chat template that their tokenizer lacks."""
MODULES = "modules.json"
"""What an encoder of sentences is made of, in the folders that it names."""
OTHER_FILES = (
    *PROCESSOR_TEMPLATES,
    MODULES,
    "config_sentence_transformers.json",
    "sentence_*_config.json",
)
"""Files that decide the numbers of some uses; a record has their digests apart from those of other
files.
"""
OF_MODULES = "[0-9]*_*/config.json"
SAFE_WEIGHTS = ("model.safetensors", "model-*.safetensors", "model.safetensors.index.json")
PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json")


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Returns the names that match any of the patterns and lie in no folder."""
    patterns = tuple(patterns)
    return sorted(
        name
        for name in names
        if "/" not in name and any(fnmatchcase(name, one) for one in patterns)
    )


def file_names(folder: str | Path) -> list[str]:
    """Returns the names of the files in a folder, none where it is missing; those of modules with
    their folders.
    """
    found = [*Path(folder).glob("*"), *Path(folder).glob(OF_MODULES)]
    return [path.relative_to(folder).as_posix() for path in found if path.is_file()]


def without_weights(allow_remote_code: bool) -> tuple[str, ...]:
    """Returns the patterns of all files that count but for the weights: config, tokenizer, and code
    if it may run.
    """
    return (CONFIG, GENERATION_CONFIG, *TOKENIZER_FILES, *(["*.py"] if allow_remote_code else []))


def others_among(names: Iterable[str]) -> list[str]:
    """Returns those of `OTHER_FILES`, and the configs of the modules of encoders of sentences."""
    names = tuple(names)
    of_modules = [name for name in names if fnmatchcase(name, OF_MODULES) and name.count("/") == 1]
    return sorted([*matching(names, OTHER_FILES), *(of_modules if MODULES in names else [])])


def weights_among(names: Iterable[str], allow_pickle: bool) -> list[str]:
    """Returns the files of the weights: safe ones where there are any, else pickled ones where they
    are allowed.
    """
    names = tuple(names)
    return matching(names, SAFE_WEIGHTS) or matching(names, PICKLED_WEIGHTS if allow_pickle else ())


def files_that_count(
    folder: str | Path, weights: bool, allow_pickle: bool, allow_remote_code: bool
) -> list[str]:
    """Returns the paths of the files in a folder that a record of its checkpoint has; none where it
    is missing.

    Args:
        folder: the folder.
        weights: whether the weights are needed, or the tokenizer alone.
        allow_pickle: whether weights may be pickled files.
        allow_remote_code: whether code that comes with the checkpoint may be run.
    """
    names = file_names(folder)
    counting = [*matching(names, without_weights(allow_remote_code)), *others_among(names)]
    counting += weights_among(names, allow_pickle) if weights else []
    return sorted(str(Path(folder, name)) for name in counting)


def read_checkpoint_json(name: str, path: Path) -> dict[str, Any]:
    """Reads a file of a checkpoint, empty where there is none or it holds no object.

    Raises:
        UserError: it is not JSON; `name` is the checkpoint's in the message.
    """
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise UserError(
            f"{name}: {path.name} is not JSON ({error}); expected what transformers wrote"
        ) from None
    return content if isinstance(content, dict) else {}


def chat_template_of(name: str, folder: Path) -> Any:
    """Returns the chat template of a checkpoint: its tokenizer's, or else its processor's; None
    where there is none.

    Raises:
        UserError: a file is not JSON.
    """
    file = folder / CHAT_TEMPLATE
    if file.exists():
        return file.read_text("utf-8")
    templates = (
        read_checkpoint_json(name, folder / each).get(CHAT_KEY)
        for each in (TOKENIZER_CONFIG, *PROCESSOR_TEMPLATES)
    )
    return next(filter(None, templates), None)


def end_tokens_of_checkpoint(name: str, folder: Path) -> list[int]:
    """Returns the tokens that end a text, by a checkpoint's generation_config.json or, without one,
    its config.json.

    Raises:
        UserError: the file is not JSON, or names other things than tokens.
    """
    file = folder / GENERATION_CONFIG
    config = read_checkpoint_json(name, file if file.exists() else folder / CONFIG)
    of_text = config.get("text_config")
    named = config.get(END_KEY, of_text.get(END_KEY) if isinstance(of_text, dict) else None)
    tokens = named if isinstance(named, list) else [] if named is None else [named]
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in tokens):
        raise UserError(f"{name}: {END_KEY} is {named!r} in its config; expected numbers of tokens")
    return [token for token in tokens if token >= 0]


def generation_keys(name: str, folder: Path) -> dict[str, Any]:
    """Returns what of a checkpoint's generation_config.json is taken, and what is not, empty where
    there is none.

    Raises:
        UserError: the file is not JSON.
    """
    config = read_checkpoint_json(name, folder / GENERATION_CONFIG)
    kept = {key: value for key, value in config.items() if key not in OF_NO_TEXT}
    if not kept:
        return {}
    taken = {END_KEY: kept.pop(END_KEY)} if END_KEY in kept else {}
    return {"generation_config": {"taken": taken, "not_taken": kept}}
