"""Asks a masked language model for the logits of some places of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class MaskHead:
    """A masked language model whose head sees the hidden states of those places alone that are
    read.
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
        self, inputs: Mapping[str, torch.Tensor], places: torch.Tensor, plain: bool
    ) -> torch.Tensor:
        """Returns the logits at one place of each row.

        Args:
            inputs: what the model is given, see `DeviceRows.inputs`; each of shape (rows, length).
            places: shape (rows,), on the model's device.
            plain: whether to let the head see every position, as a check.

        Returns:
            float32, shape (rows, vocabulary), on the model's device.
        """
        logits: torch.Tensor = self.outputs(inputs, places[:, None], plain).logits[:, 0]
        return logits.float()

    def outputs(
        self, inputs: Mapping[str, torch.Tensor], places: torch.Tensor, plain: bool, **options: bool
    ) -> Any:
        """Returns what the model gives, its logits only those at some places of each row.

        Args:
            inputs: see `logits`.
            places: shape (rows, places), on the model's device.
            plain: see `logits`.
            options: what else the model is asked for.
        """
        base = self.model.base_model
        if plain or base is self.model:
            outputs = self.model(**inputs, **options)
            outputs.logits = at_places(outputs.logits, places)
            return outputs

        def keep_places(_base: torch.nn.Module, _inputs: Any, output: Any) -> Any:
            states = output["last_hidden_state"]
            output["last_hidden_state"] = at_places(states, places)
            return output

        # The head acts on each position by itself, so it need only see the hidden states of these
        # places. The hook goes again: the model may be used without this head.
        with base.register_forward_hook(keep_places):
            return self.model(**inputs, **options)


def at_places(values: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Returns what stands at some places of each row.

    Args:
        values: shape (rows, length, size).
        places: shape (rows, places).

    Returns:
        Shape (rows, places, size).
    """
    return values[torch.arange(len(values), device=values.device)[:, None], places]
