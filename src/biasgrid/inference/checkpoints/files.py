"""The files of a checkpoint that count, and settings in its JSON files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from fnmatch import fnmatchcase
from math import prod
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError

CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"
END_KEY = "eos_token_id"
IGNORED_KEYS = ("_from_model_config", "transformers_version", "bos_token_id", "pad_token_id")
"""Keys of a generation_config.json that have no effect on a text behind a prompt."""
TOKENIZER_CONFIG = "tokenizer_config.json"
CHAT_TEMPLATE = "chat_template.jinja"
SPECIAL_TOKENS_MAP = "special_tokens_map.json"
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
    SPECIAL_TOKENS_MAP,
    "added_tokens.json",
    "merges.txt",
)
PROCESSOR_TEMPLATES = ("chat_template.json", "processor_config.json")
"""Where models that also take pictures may have the chat template that their tokenizer lacks."""
MODULES = "modules.json"
"""Lists the modules of a sentence encoder, and their folders."""
OTHER_FILES = (
    *PROCESSOR_TEMPLATES,
    MODULES,
    "config_sentence_transformers.json",
    "sentence_*_config.json",
)
"""Files that decide the numbers of some uses only; a record lists their digests by themselves."""
MODULE_CONFIGS = "[0-9]*_*/config.json"
SAFE_WEIGHTS = ("model.safetensors", "model-*.safetensors", "model.safetensors.index.json")
HALF_TYPES = ("BF16", "F16")
"""The types of 16-bit numbers, as safetensors names them."""
PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json")


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Returns the sorted names that match any of the patterns and lie in no folder."""
    patterns = tuple(patterns)
    matches = []
    for name in names:
        is_match = any(fnmatchcase(name, pattern) for pattern in patterns)
        if is_match and "/" not in name:
            matches.append(name)
    return sorted(matches)


def file_names(folder: str | Path) -> list[str]:
    """Returns the names of a folder's files, such as `config.json` and `1_Pooling/config.json`.

    A missing folder has none.
    """
    paths = [*Path(folder).glob("*"), *Path(folder).glob(MODULE_CONFIGS)]
    return [path.relative_to(folder).as_posix() for path in paths if path.is_file()]


def without_weights(*, allow_remote_code: bool) -> tuple[str, ...]:
    """Returns the patterns of the files of config, tokenizer and, if it may run, code."""
    patterns = (CONFIG, GENERATION_CONFIG, *TOKENIZER_FILES)
    return (*patterns, "*.py") if allow_remote_code else patterns


def unusual_files(names: Iterable[str]) -> list[str]:
    """Returns the files that only some uses depend on, sorted.

    These are `OTHER_FILES`, and the configs of the modules of sentence encoders.
    """
    names = tuple(names)
    files = matching(names, OTHER_FILES)
    if MODULES in names:
        for name in names:
            # The asterisk of `fnmatch` also matches slashes.
            if fnmatchcase(name, MODULE_CONFIGS) and name.count("/") == 1:
                files.append(name)
    return sorted(files)


def weights_among(names: Iterable[str], *, allow_pickle: bool) -> list[str]:
    """Returns the files of the weights: safetensors if there are any, else pickles if allowed."""
    names = tuple(names)
    safe = matching(names, SAFE_WEIGHTS)
    if safe or not allow_pickle:
        return safe
    return matching(names, PICKLED_WEIGHTS)


def files_that_count(
    folder: str | Path, *, weights: bool, allow_pickle: bool, allow_remote_code: bool
) -> list[str]:
    """Returns the sorted paths of the files in a folder that the checkpoint's record lists.

    Args:
        folder: the folder, which may be missing.
        weights: whether the weights are needed, or the tokenizer alone.
        allow_pickle: whether weights may be pickled files.
        allow_remote_code: whether code that comes with the checkpoint may be run.
    """
    names = file_names(folder)
    patterns = without_weights(allow_remote_code=allow_remote_code)
    files = [*matching(names, patterns), *unusual_files(names)]
    if weights:
        files += weights_among(names, allow_pickle=allow_pickle)
    return sorted(str(Path(folder, name)) for name in files)


def read_checkpoint_json(name: str, path: Path) -> dict[str, Any]:
    """Reads a JSON file of a checkpoint; empty if the file is missing or holds no object.

    Args:
        name: the checkpoint's name, for messages.
        path: the file.

    Raises:
        UserError: the file is not JSON.
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


def is_published_in_16_bits(folder: Path) -> bool:
    """Whether the weights of a checkpoint are 16-bit numbers; False for pickled weights.

    Small tensors, such as those of norms, may have more bits.
    """
    from safetensors import safe_open

    bits: Counter[bool] = Counter()
    for file in sorted(folder.glob("model*.safetensors")):
        with safe_open(file, framework="numpy") as tensors:
            for name in tensors.keys():  # noqa: SIM118
                tensor = tensors.get_slice(name)
                bits[tensor.get_dtype() in HALF_TYPES] += prod(tensor.get_shape())
    return bits[True] > bits[False]


def read_chat_template(name: str, folder: Path) -> Any:
    """Returns a chat template: the tokenizer's, else the processor's; None if there is none.

    Raises:
        UserError: a file is not JSON.
    """
    own_file = folder / CHAT_TEMPLATE
    if own_file.exists():
        return own_file.read_text("utf-8")
    for file in (TOKENIZER_CONFIG, *PROCESSOR_TEMPLATES):
        template = read_checkpoint_json(name, folder / file).get(CHAT_KEY)
        if template:
            return template
    return None


def read_end_tokens(name: str, folder: Path) -> list[int]:
    """Returns the tokens that end a text, by generation_config.json or else config.json.

    Raises:
        UserError: the file is not JSON, or the key has other values than tokens.
    """
    file = folder / GENERATION_CONFIG
    if not file.exists():
        file = folder / CONFIG
    config = read_checkpoint_json(name, file)
    # Models of several modalities keep the settings of their language model in a section.
    text_config = config.get("text_config")
    default = text_config.get(END_KEY) if isinstance(text_config, dict) else None
    value = config.get(END_KEY, default)
    if value is None:
        return []
    tokens = value if isinstance(value, list) else [value]
    # Not isinstance alone: True is an int, too.
    if not all(isinstance(token, int) and not isinstance(token, bool) for token in tokens):
        raise UserError(f"{name}: {END_KEY} is {value!r} in its config; expected numbers of tokens")
    return [token for token in tokens if token >= 0]


def generation_keys(name: str, folder: Path) -> dict[str, Any]:
    """Returns the record's `generation_config`: the settings that are used and those that are not.

    Empty without settings. Only the end tokens are used (`taken`); the config decides the rest.

    Raises:
        UserError: the file is not JSON.
    """
    config = read_checkpoint_json(name, folder / GENERATION_CONFIG)
    settings = {key: value for key, value in config.items() if key not in IGNORED_KEYS}
    if not settings:
        return {}
    used = {END_KEY: settings.pop(END_KEY)} if END_KEY in settings else {}
    return {"generation_config": {"taken": used, "not_taken": settings}}
