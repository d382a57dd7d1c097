"""Texts of any length that are written at once, with the keys and values of what is read of them."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

from biasgrid.inference.models.generation.next_tokens import OpenText
from biasgrid.inference.models.generation.prefix import Prefix, only_last

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CACHES = ("past_key_values", "cache_params")
"""How models name what they keep of the tokens that they have read: all others, and those that are like Mamba."""
JOINED_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer)
"""Keys and values that have one column for each token, or for each of the last ones."""


@dataclass
class TextBatch:
    """Texts that are written at once.

    The last tokens of all stand in one column: shorter texts have padding on the left.

    Attributes:
        model: the model.
        texts: the texts.
        logits: of the next token of each; shape (texts, vocabulary).
        past: the keys and values of the tokens of all texts, by the model's name for them; empty for models that
            have none, which read every text again for every token.
    """

    model: PreTrainedModel
    texts: list[OpenText] = field(default_factory=list)
    logits: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    past: dict[str, Any] = field(default_factory=dict)

    @classmethod
    @torch.inference_mode()
    def read(cls, model: PreTrainedModel, texts: Sequence[OpenText], prefix: Prefix) -> TextBatch:
        """Reads prompts of one length.

        Args:
            model: the model.
            texts: texts of which nothing is written yet.
            prefix: what they begin with.
        """
        batch = cls(model, list(texts))
        batch._run([text.tokens[prefix.length :] for text in texts], prefix.for_rows(len(texts)))
        return batch

    def _run(self, tokens: list[list[int]], inputs: dict[str, Any]) -> None:
        ids = torch.tensor(tokens, device=self.model.device)
        outputs = self.model(input_ids=ids, use_cache=True, **inputs, **only_last(self.model, 1))
        self.logits = outputs.logits[:, -1]
        self.past = {name: outputs[name] for name in CACHES if isinstance(outputs.get(name), Cache)}

    @torch.inference_mode()
    def join(self, other: TextBatch) -> None:
        """Takes in the texts of another batch.

        Raises:
            TypeError: the model keeps more than keys and values of tokens.
        """
        if not self.texts:
            self.texts, self.logits, self.past = other.texts, other.logits, other.past
            return
        for own, more in zip(self._layers(), other._layers(), strict=True):
            if type(own) not in JOINED_LAYERS:
                raise TypeError(f"{type(own).__name__} has no columns for padding")
            if own.is_initialized:
                own.keys, own.values = (
                    joined_columns(*each) for each in ((own.keys, more.keys), (own.values, more.values))
                )
            if own.is_sliding:
                own.cumulative_length = max(own.cumulative_length, more.cumulative_length)
        self.texts = [*self.texts, *other.texts]
        self.logits = torch.cat([self.logits, other.logits])

    def _layers(self) -> list[Any]:
        return [layer for cache in self.past.values() for layer in cache.layers]

    @torch.inference_mode()
    def go_on(self, places: Sequence[int]) -> None:
        """Lets go of all but some texts, and computes the logits of the next token of those.

        Args:
            places: where they are among the texts, each of which has one more token than before.
        """
        if len(places) < len(self.texts):
            self._keep(places)
        if not self.texts:
            return
        if not self.past:
            self._run([text.tokens for text in self.texts], {})
            return
        lengths = torch.tensor([len(text.tokens) for text in self.texts], device=self.model.device)
        inputs: dict[str, Any] = dict(self.past)
        if "position_ids" in inspect.signature(self.model.forward).parameters:
            inputs["position_ids"] = lengths[:, None] - 1
        if lengths.min() < lengths.max():
            columns = torch.arange(int(lengths.max()), device=lengths.device)
            inputs["attention_mask"] = (columns >= lengths.max() - lengths[:, None]).long()
        self._run([text.tokens[-1:] for text in self.texts], inputs)

    def _keep(self, places: Sequence[int]) -> None:
        """Keeps the texts in some places, and no columns that are padding in all of them."""
        before = max(len(text.tokens) for text in self.texts)
        self.texts = [self.texts[place] for place in places]
        if not places:
            self.past = {}
            return
        for cache in self.past.values():
            cache.reorder_cache(torch.tensor(places))
        # The last token of each text is not read yet.
        columns = max(len(text.tokens) for text in self.texts) - 1
        if columns < before - 1:
            for layer in self._layers():
                if layer.is_initialized:
                    layer.keys, layer.values = (values[..., -columns:, :] for values in (layer.keys, layer.values))
                if layer.is_sliding:
                    layer.cumulative_length = min(layer.cumulative_length, columns)


def joined_columns(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """Puts keys or values of texts below each other, with zeros to the left of those that have fewer columns.

    Args:
        one: shape (texts, heads, columns, numbers).
        other: the same, of other texts and as many columns as these have.
    """
    columns = max(one.shape[-2], other.shape[-2])
    return torch.cat([torch.nn.functional.pad(each, (0, 0, columns - each.shape[-2], 0)) for each in (one, other)])
