"""Encoders that place texts which other models wrote: a vector for each text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import polars as pl
import torch

from biasgrid.engine.batches import Part
from biasgrid.engine.on_device import Batch
from biasgrid.models.scoring.whole_texts import WholeTextBackEnd, WholeTexts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class EncoderChoices:
    """What decides the answers: the key `max_tokens` of a model."""

    max_tokens: int | None


class TextVectors(WholeTextBackEnd):
    """Encodes texts as sentence-transformers does (Reimers and Gurevych, EMNLP 2019): mean over tokens, of length 1."""

    Choices = EncoderChoices
    loader = "AutoModel"

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: EncoderChoices):
        """Prepares the model."""
        self.model = model
        self.tokenizer = tokenizer
        self.most = choices.max_tokens

    @torch.inference_mode()
    def run(self, encoded: WholeTexts, batch: Batch, plain: bool = False) -> dict[str, torch.Tensor]:
        """Encodes rows of one length, none of which has padding.

        Args:
            encoded: the encoded texts.
            batch: which rows.
            plain: not used: there are no shortcuts.

        Returns:
            `vector`, float32, shape (rows, hidden size).
        """
        states = self.model(**encoded.on_device.inputs(batch)).last_hidden_state.float()
        return {"vector": torch.nn.functional.normalize(states.mean(dim=1), dim=1)}

    def table(self, encoded: WholeTexts, part: Part, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes columns of the answers (`vector`) from what `run` returned."""
        vectors = pl.Series("vector", columns["vector"]).cast(pl.List(pl.Float32))
        return pl.DataFrame({"vector": vectors, "cut": encoded.cut[part.instances]})
