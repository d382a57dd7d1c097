"""How an encoder of sentences makes a vector of a text, as the files say that sentence-transformers
reads.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
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
    # Of the sum by the root of the length and of the mean the directions are the same.
    "mean_sqrt_len": lambda states: states.mean(dim=1),
}
"""What makes one vector of the states of a text's tokens, shape (rows, tokens, size), none of which
is padding.
"""
SPELLED = {f"pooling_mode_{name}": name for name in POOLINGS} | {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
}
"""How files spell them."""
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
        longest: how many tokens of a text are read at most; None for as many as the model takes.
        prompt: what is put before each text.
        lower: whether texts are written in lower case.
    """

    pooling: str = "mean"
    longest: int | None = None
    prompt: str = ""
    lower: bool = False

    @classmethod
    def of(cls, name: str, folder: Path) -> Recipe:
        """Reads the recipe of a checkpoint; without files of sentence-transformers it is that which
        it takes then.

        Raises:
            ModelError: the recipe has parts that are not known here.
            UserError: a file is not JSON.
        """
        reading = encoder_settings(name, folder)
        pooling, has_prompt = pooling_of(name, folder)
        prompts = read_checkpoint_json(name, folder / "config_sentence_transformers.json")
        named = prompts.get("default_prompt_name")
        prompt = (prompts.get("prompts") or {}).get(named, "") if named else ""
        if prompt and not has_prompt:
            problem = f"{name} reads the prompt {prompt!r} but leaves it out of its vectors"
            raise ModelError(
                f"{problem}; expected an encoder without a default prompt, or with `include_prompt`"
            )
        return cls(
            pooling, reading.get("max_seq_length"), prompt, bool(reading.get("do_lower_case"))
        )

    def prepare(self, text: str) -> str:
        """Returns a text as it is read."""
        text = f"{self.prompt}{text}"
        return text.lower() if self.lower else text

    def pool(self, states: torch.Tensor) -> torch.Tensor:
        """Returns a vector of each row of states; see `POOLINGS`."""
        return POOLINGS[self.pooling](states)


def encoder_settings(name: str, folder: Path) -> Mapping[str, Any]:
    """Returns the content of `sentence_bert_config.json`, which older checkpoints call by their own
    architecture.
    """
    files = sorted(folder.glob("sentence_*_config.json"))
    content = read_checkpoint_json(name, files[0]) if files else {}
    if given := [
        key for key in ("model_args", "tokenizer_args", "config_args") if content.get(key)
    ]:
        raise ModelError(
            f"{name}: {files[0].name} has {', '.join(given)}, which biasgrid does not support; "
            f"expected {ENCODER_EXPECTED}"
        )
    longest = content.get("max_seq_length")
    if longest is not None and (not isinstance(longest, int) or longest < 1):
        raise ModelError(
            f"{name}: {files[0].name} has a max_seq_length of {longest!r}; expected a "
            "number of tokens"
        )
    return content


def pooling_of(name: str, folder: Path) -> tuple[str, bool]:
    """Returns how the states of a text become one vector, and whether those of a prompt are among
    them.

    Raises:
        ModelError: it is made by other modules, or in another way.
    """
    if not (folder / MODULES).exists():
        return Recipe.pooling, True
    modules = encoder_modules(name, folder)
    kinds = [str(module.get("type")).rsplit(".", 1)[-1] for module in modules]
    if (
        kinds[:2] != ["Transformer", "Pooling"]
        or set(kinds[2:]) - {"Normalize"}
        or modules[0].get("path")
    ):
        strange = [
            kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")
        ] or kinds
        raise ModelError(
            f"{name}: {MODULES} has modules that biasgrid does not support ({', '.join(strange)}); "
            f"expected {ENCODER_EXPECTED}"
        )
    where = f"{modules[1].get('path')}/config.json"
    content = read_checkpoint_json(name, folder / where)
    modes = [mode for key, mode in SPELLED.items() if content.get(key) is True]
    strange = [
        key
        for key, value in content.items()
        if key.startswith("pooling_mode_") and value and key not in SPELLED
    ]
    single = content.get("pooling_mode")
    modes += [single] if isinstance(single, str) else single or []
    if strange or len(modes) != 1 or modes[0] not in POOLINGS:
        found = ", ".join([*map(str, modes), *strange]) or "no mode"
        raise ModelError(
            f"{name}: {where} pools by {found}; expected exactly one of {', '.join(POOLINGS)}"
        )
    return modes[0], content.get("include_prompt", True) is not False


def encoder_modules(name: str, folder: Path) -> list[Mapping[str, Any]]:
    """Returns the modules of an encoder of sentences, in their order.

    Raises:
        ModelError: the file is not a list of them.
    """
    try:
        modules = json.loads((folder / MODULES).read_bytes())
    except ValueError as error:
        raise ModelError(
            f"{name}: {MODULES} is not JSON ({error}); expected {TRANSFORMERS_FILES}"
        ) from None
    if not isinstance(modules, list) or not all(isinstance(each, dict) for each in modules):
        raise ModelError(
            f"{name}: {MODULES} contains no list of modules; expected {TRANSFORMERS_FILES}"
        )
    return modules
