"""Texts of any length that are written at once, with the keys and values of what is read of
them.
"""

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
"""How models name what they keep of the tokens that they have read: all others, and those that are
like Mamba.
"""
JOINED_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer)
"""Keys and values that have one column for each token, or for each of the last ones."""


@dataclass
class TextBatch:
    """Texts that are written at once.

    The last tokens of all are in one column. Shorter texts have padding before them, or behind the
    prefix that all have.

    Attributes:
        model: the model.
        texts: the texts.
        logits: of the next token of each; shape (texts, vocabulary).
        is_token: where there is no padding; shape (texts, columns).
        past: the keys and values of the tokens of all texts, by the model's name for them; empty
            for models that have none, which read every text again for every token.
    """

    model: PreTrainedModel
    texts: list[OpenText] = field(default_factory=list)
    logits: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    is_token: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    past: dict[str, Any] = field(default_factory=dict)

    @classmethod
    @torch.inference_mode()
    def read(cls, model: PreTrainedModel, texts: Sequence[OpenText], prefix: Prefix) -> TextBatch:
        """Reads prompts.

        Args:
            model: the model.
            texts: texts of which nothing is written yet.
            prefix: what they begin with.

        Raises:
            TypeError: the prompts have several lengths, and the model keeps more than keys and
                values of all tokens.
        """
        own = [text.tokens[prefix.length :] for text in texts]
        columns = max(map(len, own))
        padded = []
        is_own_token = []
        for ids in own:
            padding = columns - len(ids)
            padded.append([0] * padding + ids)
            is_own_token.append([False] * padding + [True] * len(ids))
        without_prefix = torch.tensor(is_own_token)
        is_token = torch.nn.functional.pad(without_prefix, (prefix.length, 0), value=True)
        batch = cls(model, list(texts), is_token=is_token.to(model.device))
        batch._run(padded, prefix.for_rows(len(texts)))
        if not is_token.all():
            batch._check_layers((DynamicLayer,))
        return batch

    def _run(self, tokens: list[list[int]], past: dict[str, Any]) -> None:
        """Reads the tokens of the last columns behind what is read already."""
        ids = torch.tensor(tokens, device=self.model.device)
        inputs = dict(past)
        if "position_ids" in inspect.signature(self.model.forward).parameters:
            places = (self.is_token.cumsum(dim=1) - 1).clamp(min=0)
            inputs["position_ids"] = places[:, -ids.shape[1] :]
        if not self.is_token.all():
            inputs["attention_mask"] = self.is_token.long()
        outputs = self.model(input_ids=ids, use_cache=True, **inputs, **only_last(self.model, 1))
        self.logits = outputs.logits[:, -1]
        self.past = {name: outputs[name] for name in CACHES if isinstance(outputs.get(name), Cache)}

    def _layers(self) -> list[Any]:
        return [layer for cache in self.past.values() for layer in cache.layers]

    def _check_layers(self, kinds: tuple[type, ...]) -> None:
        other = next(
            (type(layer).__name__ for layer in self._layers() if type(layer) not in kinds), None
        )
        if other:
            raise TypeError(f"{other} knows no such padding")

    @torch.inference_mode()
    def join(self, others: Sequence[TextBatch]) -> None:
        """Takes in the texts of other batches, whose prompts are read.

        Raises:
            TypeError: the model keeps more than keys and values of tokens.
        """
        batches = [self, *others] if self.texts else [*others]
        if len(batches) > 1:
            for batch in batches:
                batch._check_layers(JOINED_LAYERS)
            for layers in zip(*(batch._layers() for batch in batches), strict=True):
                join_layers(layers)
        self.past = batches[0].past
        self.is_token = joined_columns([batch.is_token for batch in batches], dim=-1)
        self.logits = torch.cat([batch.logits for batch in batches])
        self.texts = [text for batch in batches for text in batch.texts]

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
        self.is_token = torch.nn.functional.pad(self.is_token, (0, 1), value=True)
        read = -1 if self.past else 0
        self._run([text.tokens[read:] for text in self.texts], self.past)

    def _keep(self, places: Sequence[int]) -> None:
        """Keeps the texts in some places, and no columns on the left that are padding in all of
        them.
        """
        self.texts = [self.texts[place] for place in places]
        if not places:
            self.past = {}
            return
        chosen = torch.tensor(places, device=self.model.device)
        self.is_token = self.is_token[chosen]
        for cache in self.past.values():
            cache.reorder_cache(chosen)
        columns = self.is_token.shape[1] - int(self.is_token.any(dim=0).int().argmax())
        if columns < self.is_token.shape[1]:
            self.is_token = self.is_token[:, -columns:]
            for layer in self._layers():
                if layer.is_initialized:
                    layer.keys = layer.keys[..., -columns:, :]
                    layer.values = layer.values[..., -columns:, :]
                if layer.is_sliding:
                    layer.cumulative_length = min(layer.cumulative_length, columns)


def join_layers(layers: Sequence[Any]) -> None:
    """Puts keys and values of one layer of several caches into the first of them."""
    target = layers[0]
    if target.is_initialized:
        target.keys = joined_columns([layer.keys for layer in layers], dim=-2)
        target.values = joined_columns([layer.values for layer in layers], dim=-2)
    if target.is_sliding:
        target.cumulative_length = max(layer.cumulative_length for layer in layers)


def joined_columns(tensors: Sequence[torch.Tensor], dim: int) -> torch.Tensor:
    """Concatenates tensors of texts, with zeros before the columns of narrower ones.

    Args:
        tensors: of shape (texts, heads, columns, numbers), such as keys, or (texts, columns).
        dim: the dimension of the columns, counted from the last one as -1.

    Returns:
        All texts in their order, with as many columns as the widest tensor.
    """
    columns = max(tensor.shape[dim] for tensor in tensors)
    # `pad` takes a pair of sizes for each dimension, from the last one on.
    later_dimensions = (0, 0) * (-1 - dim)
    padded = []
    for tensor in tensors:
        missing = columns - tensor.shape[dim]
        padded.append(torch.nn.functional.pad(tensor, (*later_dimensions, missing, 0)))
    # A single tensor is not copied.
    return torch.cat(padded) if len(padded) > 1 else padded[0]
