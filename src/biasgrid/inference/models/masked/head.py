"""Asks a masked language model for the logits of one place of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class MaskHead:
    """A masked language model whose head sees one hidden state of each row, that of the place which is read."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast):
        """Prepares the model.

        Raises:
            ModelError: its tokenizer has no mask token.
        """
        if tokenizer.mask_token_id is None:
            raise ModelError("the tokenizer has no mask token; expected a masked language model")
        self.model = model
        self.places: torch.Tensor | None = None
        if model.base_model is not model:
            model.base_model.register_forward_hook(self._keep_place)

    def _keep_place(self, _module: torch.nn.Module, _inputs: Any, output: Any) -> Any:
        # The head acts on each position by itself, so it need only see one place's hidden state.
        if self.places is not None:
            hidden = output["last_hidden_state"]
            output["last_hidden_state"] = hidden[
                torch.arange(len(hidden), device=hidden.device), self.places
            ].unsqueeze(1)
        return output

    def logits(self, inputs: Mapping[str, torch.Tensor], places: torch.Tensor, plain: bool) -> torch.Tensor:
        """Returns the logits at one place of each row.

        Args:
            inputs: what the model is given, see `inputs_of`; each of shape (rows, length).
            places: shape (rows,), on the model's device.
            plain: whether to let the head see every position, as a check.

        Returns:
            float32, shape (rows, vocabulary), on the model's device.
        """
        sliced = self.model.base_model is not self.model and not plain
        self.places = places if sliced else None
        logits: torch.Tensor = self.model(**inputs).logits
        logits = logits[:, 0] if sliced else logits[torch.arange(len(places), device=places.device), places]
        return logits.float()
