"""Encoders of texts which other models wrote: a vector for each text."""

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
    """The settings that decide the answers; see `section.Encoder`."""

    max_tokens: int | None


class TextVectors(WholeTextBackEnd):
    """Encodes texts as vectors of length 1 (answer kind `vector`).

    It does so as sentence-transformers (Reimers and Gurevych, EMNLP 2019).

    Attributes:
        recipe: the checkpoint's recipe; the default one until `load`.
    """

    Choices = EncoderChoices
    loader = "AutoModel"

    def __init__(
        self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: EncoderChoices
    ):
        """Prepares the model."""
        self.model = model
        self.tokenizer = tokenizer
        self.max_tokens = choices.max_tokens
        self.recipe = Recipe()

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Loads the model of a record, in float32, its tokenizer and its recipe.

        Raises:
            ModelError: see `Recipe.read`.
        """
        recipe = Recipe.read(checkpoint_name(record), local_folder(record))
        back_end = super().load(record, settings)
        back_end.recipe = recipe
        back_end.max_tokens = back_end.max_tokens or recipe.max_tokens
        return back_end

    def prepare(self, text: str) -> str:
        """Returns a text as the model reads it."""
        return self.recipe.prepare(text)

    @torch.inference_mode()
    def run(
        self, encoding: WholeTexts, batch: Batch, *, plain: bool = False
    ) -> dict[str, torch.Tensor]:
        """Encodes rows of one length, which have no padding: `Recipe.pool` relies on it.

        Args:
            encoding: the encoded texts.
            batch: the rows.
            plain: not used: there are no shortcuts.

        Returns:
            `vector`, float32, shape (rows, hidden size).
        """
        states = self.model(**encoding.on_device.inputs(batch)).last_hidden_state.float()
        return {"vector": torch.nn.functional.normalize(self.recipe.pool(states), dim=1)}

    def table(
        self, encoding: WholeTexts, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Returns `vector`, and `truncated`: whether the end of a text was not read."""
        vectors = pl.Series("vector", columns["vector"]).cast(pl.List(pl.Float32))
        return pl.DataFrame({"vector": vectors, "truncated": encoding.is_truncated[part.instances]})
