"""Encoders that place texts which other models wrote: a vector for each text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy.typing as npt
import polars as pl
import torch

from biasgrid.inference.checkpoints.checkpoint import checkpoint_name, local_folder
from biasgrid.inference.engine.batches import BatchPart
from biasgrid.inference.engine.device_rows import Batch
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.scorers.recipe import Recipe
from biasgrid.inference.models.scorers.whole_texts import WholeTextBackEnd, WholeTexts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


@dataclass(frozen=True)
class EncoderChoices:
    """What decides the answers: the key `max_tokens` of a model."""

    max_tokens: int | None


class TextVectors(WholeTextBackEnd):
    """Encodes texts as sentence-transformers does (Reimers and Gurevych, EMNLP 2019), to vectors of
    length 1.

    Attributes:
        recipe: how the checkpoint says that it is done.
    """

    Choices = EncoderChoices
    loader = "AutoModel"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: EncoderChoices
    ):
        """Prepares the model."""
        self.model = model
        self.tokenizer = tokenizer
        self.most = choices.max_tokens
        self.recipe = Recipe()

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Loads model, tokenizer and recipe of a record.

        Raises:
            ModelError: see `Recipe.read`.
        """
        recipe = Recipe.read(checkpoint_name(record), local_folder(record))
        back_end = super().load(record, settings)
        back_end.recipe = recipe
        back_end.most = back_end.most or recipe.longest
        return back_end

    def prepare(self, text: str) -> str:
        """Returns a text as it is read."""
        return self.recipe.prepare(text)

    @torch.inference_mode()
    def run(
        self, encoding: WholeTexts, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Encodes rows of one length, none of which has padding.

        Args:
            encoding: the encoded texts.
            batch: which rows.
            plain: not used: there are no shortcuts.

        Returns:
            `vector`, float32, shape (rows, hidden size).
        """
        states = self.model(**encoding.on_device.inputs(batch)).last_hidden_state.float()
        return {"vector": torch.nn.functional.normalize(self.recipe.pool(states), dim=1)}

    def table(
        self, encoding: WholeTexts, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Makes columns of the answers (`vector`) from what `run` returned."""
        vectors = pl.Series("vector", columns["vector"]).cast(pl.List(pl.Float32))
        return pl.DataFrame({"vector": vectors, "truncated": encoding.cut[part.instances]})
