"""Back ends that read whole texts, each written by some model and hardly ever like another."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from biasgrid.base.arrays import BoolArray
from biasgrid.inference.engine.batches import longest_input
from biasgrid.inference.engine.device_rows import DeviceRows
from biasgrid.inference.engine.encoding import TokenRows, whole_rows
from biasgrid.inference.engine.local import LocalBackEnd

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class WholeTexts:
    """Encoded texts: their rows, here and on the device, and which were too long; shape
    (instances,).
    """

    rows: TokenRows
    on_device: DeviceRows
    cut: BoolArray


class WholeTextBackEnd(LocalBackEnd):
    """Reads of each text as much as the model takes, from its beginning; kinds of its answers have
    a column `cut`.

    Attributes:
        most: how many tokens are read at most, None for as many as the model takes.
    """

    most: int | None = None

    def prepare(self, text: str) -> str:
        """Returns a text as it is read."""
        return text

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> WholeTexts:
        """Tokenizes texts as a whole, and cuts those that are longer than the model takes."""
        texts = [(self.prepare(text),) for text in instances["text"].cast(pl.String)]
        taken = longest_input(self.model, self.tokenizer)
        rows, cut = truncate_rows(self.tokenizer, texts, min(taken, self.most or taken))
        if cut.any():
            logger.warning(
                "%s of %s texts are longer than the model can read; their ends are cut off",
                cut.sum(),
                len(cut),
            )
        return WholeTexts(rows, DeviceRows.from_rows(rows, self.model), cut)


def truncate_rows(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]], limit: int
) -> tuple[TokenRows, BoolArray]:
    """Tokenizes whole texts, of which those that are too long lose their ends; special tokens stay.

    Args:
        tokenizer: the tokenizer.
        texts: the texts.
        limit: how many tokens a row may have.

    Returns:
        The rows, and whether each was cut, shape (texts,).
    """
    rows = whole_rows(tokenizer, texts)
    cut: BoolArray = rows.lengths > limit
    if cut.any():
        backend = tokenizer.backend_tokenizer
        backend.enable_truncation(limit)
        try:
            rows = whole_rows(tokenizer, texts)
        finally:
            backend.no_truncation()
    return rows, cut
