"""Texts of any length in one batch, with the model's keys and values for their tokens."""

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
"""Names of a model's memory of tokens that it has read; the second one for models like Mamba."""
JOINED_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer)
"""Caches with a column for each token, or for each of the last tokens."""


@dataclass
class TextBatch:
    """Texts that are written in one batch.

    Their last tokens are in one column. A shorter text has padding on the left, or between the
    shared prefix and its own tokens.

    Attributes:
        model: the model.
        texts: the texts.
        logits: shape (texts, vocabulary), of the next token of each text.
        is_token: shape (texts, columns), False for padding.
        past: the caches for the tokens of all texts, by the model's names in `CACHES`. Empty for a
            model without a cache, which reads every text again for every token.
    """

    model: PreTrainedModel
    texts: list[OpenText] = field(default_factory=list)
    logits: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    is_token: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    past: dict[str, Any] = field(default_factory=dict)

    @classmethod
    @torch.inference_mode()
    def read(cls, model: PreTrainedModel, texts: Sequence[OpenText], prefix: Prefix) -> TextBatch:
        """Reads prompts, and returns them as a batch.

        Args:
            model: the model.
            texts: texts of which nothing is written yet.
            prefix: tokens that their prompts begin with.

        Raises:
            TypeError: the prompts have several lengths, and the model has other caches than keys
                and values of all tokens.
        """
        own = [text.tokens[prefix.length :] for text in texts]
        columns = max(map(len, own))
        padded_ids = []
        is_own_token = []
        for ids in own:
            padding = columns - len(ids)
            padded_ids.append([0] * padding + ids)
            is_own_token.append([False] * padding + [True] * len(ids))
        without_prefix = torch.tensor(is_own_token)
        is_token = torch.nn.functional.pad(without_prefix, (prefix.length, 0), value=True)
        batch = cls(model, list(texts), is_token=is_token.to(model.device))
        batch._run(padded_ids, prefix.for_rows(len(texts)))
        if not is_token.all():
            batch._check_layers((DynamicLayer,))
        return batch

    def _run(self, tokens: list[list[int]], past: dict[str, Any]) -> None:
        """Reads the tokens of the last columns, behind `past`; sets `logits` and `past`."""
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
        """Raises TypeError if a layer of the caches is of another class."""
        for layer in self._layers():
            # Subclasses may treat padding differently.
            if type(layer) not in kinds:
                raise TypeError(f"{type(layer).__name__} knows no such padding")

    @torch.inference_mode()
    def join(self, new_batches: Sequence[TextBatch]) -> None:
        """Adds the texts of other batches, whose prompts have been read.

        Args:
            new_batches: the other batches, which must not be used any more.

        Raises:
            TypeError: the model has other caches than keys and values of tokens.
        """
        batches = [self, *new_batches] if self.texts else [*new_batches]
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
        """Drops texts that have ended, and computes the logits of the others' next tokens.

        Args:
            places: the places of the texts that go on. Each must have one more token than at the
                last call.
        """
        if len(places) < len(self.texts):
            self._keep(places)
        if not self.texts:
            return
        self.is_token = torch.nn.functional.pad(self.is_token, (0, 1), value=True)
        read = -1 if self.past else 0
        self._run([text.tokens[read:] for text in self.texts], self.past)

    def _keep(self, places: Sequence[int]) -> None:
        """Drops all texts but some, and columns on the left that are padding in all of these."""
        self.texts = [self.texts[place] for place in places]
        if not places:
            self.past = {}
            return
        rows = torch.tensor(places, device=self.model.device)
        self.is_token = self.is_token[rows]
        for cache in self.past.values():
            cache.reorder_cache(rows)
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
    """Adds the keys and values of one layer of several caches to the first of them."""
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
    wide = []
    for tensor in tensors:
        missing_columns = columns - tensor.shape[dim]
        wide.append(torch.nn.functional.pad(tensor, (*later_dimensions, missing_columns, 0)))
    # A single tensor is not copied.
    return torch.cat(wide) if len(wide) > 1 else wide[0]
