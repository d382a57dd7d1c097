"""The tokens that all prompts begin with: computed once, their keys and values reused."""

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
    """What all prompts begin with.

    Attributes:
        length: how many tokens it has.
        cache: the model's keys and values of them, None where every prompt is read whole.
    """

    length: int = 0
    cache: Any = None

    @classmethod
    def from_tokens(cls, model: PreTrainedModel, tokens: Sequence[int]) -> Prefix:
        """Reads what prompts begin with; models without keys and values are given nothing."""
        ids = torch.tensor([tokens], device=model.device)
        with torch.inference_mode():
            cache = getattr(
                model(input_ids=ids, use_cache=True, **only_last(model, 1)), "past_key_values", None
            )
        return cls() if cache is None else cls(len(tokens), cache)

    @classmethod
    def from_prompts(cls, model: PreTrainedModel, prompts: Sequence[list[int]]) -> Prefix:
        """Reads what some prompts have in common."""
        length = common_length(prompts)
        return cls() if length < LEAST_SHARED else cls.from_tokens(model, prompts[0][:length])

    def for_rows(self, count: int) -> dict[str, Any]:
        """Returns what a model is given with a batch of some rows: keys and values that it may
        write behind.
        """
        if self.cache is None:
            return {}
        own = copy.deepcopy(self.cache)
        own.reorder_cache(torch.zeros(count, dtype=torch.long))
        return {"past_key_values": own}


def common_length(prompts: Sequence[list[int]]) -> int:
    """Counts the tokens that all prompts begin with, less what would leave one of them none of its
    own.
    """
    # Of sorted sequences the first and the last one part soonest.
    return min(shared_beginning(min(prompts), max(prompts)), min(map(len, prompts)) - 1)


def only_last(model: PreTrainedModel, count: int) -> dict[str, int]:
    """Returns the argument that has a model compute the logits of the last places alone, if it
    knows it.
    """
    return (
        {"logits_to_keep": count}
        if "logits_to_keep" in inspect.signature(model.forward).parameters
        else {}
    )


def difference_behind(model: PreTrainedModel, prompt: Sequence[int]) -> float:
    """Returns how far log-probabilities are apart, of a prompt read whole and behind a prefix, its
    first half.

    Args:
        model: the model, in float32.
        prompt: tokens.

    Returns:
        The largest difference of the most probable next tokens; 0 where the model has no keys and
        values to reuse.
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
    """Returns the log-probabilities of what may come next; shape (rows, vocabulary)."""
    logits = model(input_ids=ids, use_cache=bool(past), **past, **only_last(model, 1)).logits
    probabilities: torch.Tensor = logits[:, -1].float().log_softmax(dim=1)
    return probabilities
