"""Reads the recipe of a sentence encoder from the files of sentence-transformers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.checkpoints.files import MODULES, read_checkpoint_json

if TYPE_CHECKING:
    import torch

POOLINGS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "mean": lambda states: states.mean(dim=1),
    "cls": lambda states: states[:, 0],
    "max": lambda states: states.amax(dim=1),
    "lasttoken": lambda states: states[:, -1],
    # The sum divided by the root of the length has the direction of the mean, and vectors are
    # scaled to length 1.
    "mean_sqrt_len": lambda states: states.mean(dim=1),
}
"""Functions from the states of tokens, shape (rows, tokens, size), to one vector for each row. The
rows must have no padding.
"""
SPELLINGS = {f"pooling_mode_{name}": name for name in POOLINGS} | {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
}
"""The keys of old files by which they choose a pooling."""
ENCODER_EXPECTED = (
    "an encoder made only of Transformer, Pooling and Normalize, "
    "such as sentence-transformers/all-MiniLM-L6-v2"
)
TRANSFORMERS_FILES = "files written by sentence-transformers"


@dataclass(frozen=True)
class Recipe:
    """How texts become vectors, which are always scaled to length 1.

    Attributes:
        pooling: a key of `POOLINGS`.
        max_tokens: the largest number of tokens to read; None for as many as the model can.
        prompt: the text before each text; "" for none.
        lower: whether texts are turned to lower case.
    """

    pooling: str = "mean"
    max_tokens: int | None = None
    prompt: str = ""
    lower: bool = False

    @classmethod
    def read(cls, name: str, folder: Path) -> Recipe:
        """Reads the recipe of a checkpoint.

        Without files of sentence-transformers, it is the default recipe of that library.

        Raises:
            ModelError: the recipe has unsupported parts.
            UserError: a file is not JSON.
        """
        settings = encoder_settings(name, folder)
        pooling, includes_prompt = read_pooling(name, folder)
        config = read_checkpoint_json(name, folder / "config_sentence_transformers.json")
        prompts = config.get("prompts") or {}
        if not isinstance(prompts, dict):
            raise ModelError(
                f"{name}, config_sentence_transformers.json, prompts: {prompts!r}; expected an "
                "object with the text of each prompt"
            )
        prompt = str(prompts.get(str(config.get("default_prompt_name")), ""))
        if prompt and not includes_prompt:
            problem = f"{name} reads the prompt {prompt!r} but leaves it out of its vectors"
            raise ModelError(
                f"{problem}; expected an encoder without a default prompt, or with `include_prompt`"
            )
        lower = bool(settings.get("do_lower_case"))
        return cls(pooling, settings.get("max_seq_length"), prompt, lower)

    def prepare(self, text: str) -> str:
        """Returns a text as the model reads it."""
        text = f"{self.prompt}{text}"
        return text.lower() if self.lower else text

    def pool(self, states: torch.Tensor) -> torch.Tensor:
        """Returns a vector for each row of states; see `POOLINGS`."""
        return POOLINGS[self.pooling](states)


def encoder_settings(name: str, folder: Path) -> Mapping[str, Any]:
    """Returns the content of `sentence_bert_config.json`; empty if there is no such file.

    Older checkpoints name the file by their architecture, such as `sentence_roberta_config.json`.

    Raises:
        ModelError: it has unsupported settings.
        UserError: it is not JSON.
    """
    files = sorted(folder.glob("sentence_*_config.json"))
    content = read_checkpoint_json(name, files[0]) if files else {}
    unsupported = ("model_args", "tokenizer_args", "config_args")
    present = [key for key in unsupported if content.get(key)]
    if present:
        raise ModelError(
            f"{name}: {files[0].name} has {', '.join(present)}, which biasgrid does not support; "
            f"expected {ENCODER_EXPECTED}"
        )
    longest = content.get("max_seq_length")
    if longest is not None and (not isinstance(longest, int) or longest < 1):
        raise ModelError(
            f"{name}: {files[0].name} has a max_seq_length of {longest!r}; expected a "
            "number of tokens"
        )
    return content


def read_pooling(name: str, folder: Path) -> tuple[str, bool]:
    """Reads the pooling of a checkpoint; the default one without files of sentence-transformers.

    Returns:
        A key of `POOLINGS`, and whether the states of the prompt's tokens are pooled, too.

    Raises:
        ModelError: the encoder has unsupported modules, or pools in an unsupported way.
        UserError: the config of the pooling is not JSON.
    """
    if not (folder / MODULES).exists():
        return Recipe.pooling, True
    modules = encoder_modules(name, folder)
    check_modules(name, modules)
    file = f"{modules[1].get('path')}/config.json"
    content = read_checkpoint_json(name, folder / file)
    modes = pooling_modes(content)
    if len(modes) != 1 or modes[0] not in POOLINGS:
        listed = ", ".join(map(str, modes)) or "no mode"
        raise ModelError(
            f"{name}: {file} pools by {listed}; expected exactly one of {', '.join(POOLINGS)}"
        )
    return modes[0], content.get("include_prompt", True) is not False


def pooling_modes(config: Mapping[str, Any]) -> list[Any]:
    """Returns the modes in a pooling's config: keys of `POOLINGS`, then unsupported values."""
    # Old files have a key for each mode, which is true or false; new ones have `pooling_mode`.
    modes = [mode for key, mode in SPELLINGS.items() if config.get(key) is True]
    setting = config.get("pooling_mode")
    modes += [setting] if isinstance(setting, str) else setting or []
    for key, value in config.items():
        if key.startswith("pooling_mode_") and value and key not in SPELLINGS:
            modes.append(key)
    return modes


def check_modules(name: str, modules: Sequence[Mapping[str, Any]]) -> None:
    """Refuses an encoder with unsupported modules, or with modules in another order.

    Args:
        name: the checkpoint's name.
        modules: see `encoder_modules`.

    Raises:
        ModelError: names the unsupported modules, or all if only their order is unsupported.
    """
    kinds = [str(module.get("type")).rsplit(".", 1)[-1] for module in modules]
    is_known_order = kinds[:2] == ["Transformer", "Pooling"] and set(kinds[2:]) <= {"Normalize"}
    # The files of the transformer must lie in the checkpoint's folder itself.
    if is_known_order and not modules[0].get("path"):
        return
    unsupported = [kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")]
    listed = ", ".join(unsupported or kinds)
    raise ModelError(
        f"{name}: {MODULES} has modules that biasgrid does not support ({listed}); "
        f"expected {ENCODER_EXPECTED}"
    )


def encoder_modules(name: str, folder: Path) -> list[Mapping[str, Any]]:
    """Reads the modules of a sentence encoder, in their order.

    Raises:
        ModelError: the file is not JSON, or no list of objects.
    """
    try:
        modules = json.loads((folder / MODULES).read_bytes())
    except ValueError as error:
        raise ModelError(
            f"{name}: {MODULES} is not JSON ({error}); expected {TRANSFORMERS_FILES}"
        ) from None
    if not isinstance(modules, list) or not all(isinstance(module, dict) for module in modules):
        raise ModelError(
            f"{name}: {MODULES} contains no list of modules; expected {TRANSFORMERS_FILES}"
        )
    return modules
