"""Which files of a checkpoint count, and what those in JSON say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from biasgrid.checkpoints.checkpoint import ModelError

CONFIG = "config.json"
GENERATION_CONFIG = "generation_config.json"
TOKENIZER_CONFIG = "tokenizer_config.json"
CHAT_TEMPLATE = "chat_template.jinja"
CHAT_KEY = "chat_template"
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "spm.model")
TOKENIZER_FILES = (
    *VOCABULARIES, TOKENIZER_CONFIG, CHAT_TEMPLATE, "special_tokens_map.json", "added_tokens.json", "merges.txt",
)  # fmt: skip
SAFE_WEIGHTS = ("model.safetensors", "model-*.safetensors", "model.safetensors.index.json")
PICKLED_WEIGHTS = ("pytorch_model.bin", "pytorch_model-*.bin", "pytorch_model.bin.index.json")


def matching(names: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Returns the names that match any of the patterns and lie in no folder."""
    patterns = tuple(patterns)
    return sorted(name for name in names if "/" not in name and any(fnmatchcase(name, one) for one in patterns))


def names_in(folder: str | Path) -> list[str]:
    """Returns the names of the files in a folder, none where it is missing."""
    return [path.name for path in Path(folder).glob("*") if path.is_file()]


def without_weights(allow_remote_code: bool) -> tuple[str, ...]:
    """Returns the patterns of all files that count but for the weights: config, tokenizer, and code if it may run."""
    return (CONFIG, GENERATION_CONFIG, *TOKENIZER_FILES, *(["*.py"] if allow_remote_code else []))


def weights_among(names: Iterable[str], allow_pickle: bool) -> list[str]:
    """Returns the files of the weights: safe ones where there are any, else pickled ones where they are allowed."""
    names = tuple(names)
    return matching(names, SAFE_WEIGHTS) or matching(names, PICKLED_WEIGHTS if allow_pickle else ())


def files_that_count(folder: str | Path, weights: bool, allow_pickle: bool, allow_remote_code: bool) -> list[str]:
    """Returns the paths of the files in a folder that a record of its checkpoint has; none where it is missing.

    Args:
        folder: the folder.
        weights: whether the weights are needed, or the tokenizer alone.
        allow_pickle: whether weights may be pickled files.
        allow_remote_code: whether code that comes with the checkpoint may be run.
    """
    names = names_in(folder)
    counting = matching(names, without_weights(allow_remote_code))
    counting += weights_among(names, allow_pickle) if weights else []
    return sorted(str(Path(folder, name)) for name in counting)


def read_json(name: str, path: Path) -> dict[str, Any]:
    """Reads a file of a checkpoint, empty where there is none or it holds no object.

    Raises:
        ModelError: it is not JSON; `name` is the checkpoint's in the message.
    """
    if not path.exists():
        return {}
    try:
        content = json.loads(path.read_bytes())
    except ValueError as error:
        raise ModelError(f"{name}: {path.name} is not JSON ({error}); expected what transformers wrote") from None
    return content if isinstance(content, dict) else {}
