"""Runs a masked language model, and its head at some places of each row only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class MaskHead:
    """A masked language model whose head computes logits only at the places that are read.

    The head is the part with the most parameters: it has a row for each entry of the vocabulary.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast):
        """Prepares the model.

        Raises:
            ModelError: its tokenizer has no mask token.
        """
        if tokenizer.mask_token_id is None:
            raise ModelError("the tokenizer has no mask token; expected a masked language model")
        self.model = model

    def logits(
        self, inputs: Mapping[str, torch.Tensor], places: torch.Tensor, *, plain: bool
    ) -> torch.Tensor:
        """Returns the logits at one place of each row.

        Args:
            inputs: the model's arguments, see `DeviceRows.inputs`; each of shape (rows, length).
            places: shape (rows,), on the model's device; each must be a place of its row.
            plain: whether to compute logits at every place, for the audit.

        Returns:
            float32, shape (rows, vocabulary), on the model's device.
        """
        logits: torch.Tensor = self.outputs(inputs, places[:, None], plain=plain).logits[:, 0]
        return logits.float()

    def outputs(
        self,
        inputs: Mapping[str, torch.Tensor],
        places: torch.Tensor,
        *,
        plain: bool,
        **switches: bool,
    ) -> Any:
        """Returns the model's outputs, with `logits` of shape (rows, places, vocabulary).

        Args:
            inputs: see `logits`.
            places: shape (rows, places), on the model's device; see `logits`.
            plain: see `logits`.
            switches: further arguments of the model, such as `output_attentions`.
        """
        base = self.model.base_model
        if plain or base is self.model:
            outputs = self.model(**inputs, **switches)
            outputs.logits = at_places(outputs.logits, places)
            return outputs

        def keep_places(_base: torch.nn.Module, _inputs: Any, output: Any) -> Any:
            states = output["last_hidden_state"]
            output["last_hidden_state"] = at_places(states, places)
            return output

        # The head acts on each place by itself, so it needs the hidden states of these places only.
        # The hook is removed: other code may use the model.
        with base.register_forward_hook(keep_places):
            return self.model(**inputs, **switches)


def at_places(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Returns the values at some places of each row.

    Args:
        values: shape (rows, length, size).
        places: shape (rows, places); each must be a place of its row.

    Returns:
        Shape (rows, places, size).
    """
    return values[torch.arange(len(values), device=values.device)[:, None], places]
