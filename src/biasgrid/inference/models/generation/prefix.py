"""The tokens that all prompts begin with: read once, their keys and values reused."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from biasgrid.inference.models.generation.options import shared_prefix_length

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class Prefix:
    """The beginning that all prompts share.

    Attributes:
        length: the number of its tokens; 0 without a cache.
        cache: the model's keys and values for these tokens; None if prompts are read as a whole.
    """

    length: int = 0
    cache: Any = None

    def longer(self, model: PreTrainedModel, tokens: Sequence[int]) -> Prefix:
        """Returns a longer prefix, of which only the tokens behind this one are read.

        Args:
            model: the model.
            tokens: the tokens of the longer prefix, which begin with those of this one.

        Returns:
            The prefix of all tokens; an empty one for a model without keys and values.
        """
        if len(tokens) == self.length:
            return self
        ids = torch.tensor([tokens[self.length :]], device=model.device)
        with torch.inference_mode():
            outputs = model(
                input_ids=ids, use_cache=True, **self.for_rows(1), **only_last(model, 1)
            )
        cache = getattr(outputs, "past_key_values", None)
        return Prefix() if cache is None else Prefix(len(tokens), cache)

    @classmethod
    def from_prompts(cls, model: PreTrainedModel, prompts: Sequence[list[int]]) -> Prefix:
        """Reads the common beginning of prompts; it is empty if they share too little."""
        length = shared_prefix_length(prompts)
        return cls().longer(model, prompts[0][:length]) if length else cls()

    def for_rows(self, row_count: int) -> dict[str, Any]:
        """Returns a model's arguments for a batch behind the prefix; none for an empty prefix.

        The keys and values are a copy, as the model appends to them.
        """
        if self.cache is None:
            return {}
        own = copy.deepcopy(self.cache)
        own.reorder_cache(torch.zeros(row_count, dtype=torch.long))
        return {"past_key_values": own}


def only_last(model: PreTrainedModel, places: int) -> dict[str, int]:
    """Returns the argument that limits logits to the last places; none if the model lacks it."""
    if "logits_to_keep" in inspect.signature(model.forward).parameters:
        return {"logits_to_keep": places}
    return {}
