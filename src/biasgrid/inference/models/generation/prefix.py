"""The tokens that all prompts begin with: read once, their keys and values reused."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from biasgrid.inference.models.generation.options import shared_beginning

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LEAST_SHARED = 4
"""A shorter prefix saves less than its copies cost."""
COMPARED_TOKENS = 10


@dataclass(frozen=True)
class Prefix:
    """The beginning that all prompts share.

    Attributes:
        length: the number of its tokens; 0 without a cache.
        cache: the model's keys and values for these tokens; None if prompts are read as a whole.
    """

    length: int = 0
    cache: Any = None

    @classmethod
    def from_tokens(cls, model: PreTrainedModel, tokens: Sequence[int]) -> Prefix:
        """Reads a prefix; it is empty for a model without keys and values."""
        ids = torch.tensor([tokens], device=model.device)
        with torch.inference_mode():
            outputs = model(input_ids=ids, use_cache=True, **only_last(model, 1))
        cache = getattr(outputs, "past_key_values", None)
        return cls() if cache is None else cls(len(tokens), cache)

    @classmethod
    def from_prompts(cls, model: PreTrainedModel, prompts: Sequence[list[int]]) -> Prefix:
        """Reads the common beginning of prompts; it is empty if they share too little."""
        length = common_length(prompts)
        return cls() if length < LEAST_SHARED else cls.from_tokens(model, prompts[0][:length])

    def for_rows(self, row_count: int) -> dict[str, Any]:
        """Returns a model's arguments for a batch behind the prefix; none for an empty prefix.

        The keys and values are a copy, as the model appends to them.
        """
        if self.cache is None:
            return {}
        own = copy.deepcopy(self.cache)
        own.reorder_cache(torch.zeros(row_count, dtype=torch.long))
        return {"past_key_values": own}


def common_length(prompts: Sequence[list[int]]) -> int:
    """Returns the number of tokens that all prompts begin with.

    It is at least one less than the shortest prompt, as each prompt needs a token of its own.
    """
    # No two sequences share less than the first and the last one in sorted order.
    return min(shared_beginning(min(prompts), max(prompts)), min(map(len, prompts)) - 1)


def only_last(model: PreTrainedModel, places: int) -> dict[str, int]:
    """Returns the argument that limits logits to the last places; none if the model lacks it."""
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        return {"logits_to_keep": places}
    return {}


def difference_behind(model: PreTrainedModel, prompt: Sequence[int]) -> float:
    """Compares log-probabilities behind a whole prompt with those behind a reused prefix.

    The prefix is the first half of the prompt.

    Args:
        model: the model, in float32.
        prompt: the tokens of the prompt.

    Returns:
        The largest difference for the most probable next tokens; 0 if the model has no keys and
        values to reuse, NaN if a log-probability is.
    """
    prefix = Prefix.from_tokens(model, prompt[: len(prompt) // 2]) if len(prompt) > 1 else Prefix()
    if prefix.cache is None:
        return 0.0
    with torch.inference_mode():
        whole = next_tokens(model, torch.tensor([prompt], device=model.device), {})
        rows = torch.tensor([prompt[prefix.length :]] * 2, device=model.device)
        behind = next_tokens(model, rows, prefix.for_rows(2))
    probable = whole[0].topk(min(COMPARED_TOKENS, whole.shape[1])).indices
    return float((whole[:, probable] - behind[:, probable]).abs().max())


def next_tokens(model: PreTrainedModel, ids: torch.Tensor, past: dict[str, Any]) -> torch.Tensor:
    """Returns the log-probabilities of all next tokens; shape (rows, vocabulary)."""
    logits = model(input_ids=ids, use_cache=bool(past), **past, **only_last(model, 1)).logits
    log_probabilities: torch.Tensor = logits[:, -1].float().log_softmax(dim=1)
    return log_probabilities
