"""Back ends that read whole texts, which models wrote and which are rarely alike."""

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
    """Encoded texts.

    Attributes:
        rows: the tokens of the rows, one row for each instance.
        on_device: likewise on the device.
        is_truncated: shape (instances,), whether the end of a text was cut.
    """

    rows: TokenRows
    on_device: DeviceRows
    is_truncated: BoolArray


class WholeTextBackEnd(LocalBackEnd):
    """Reads texts from their beginning, as far as the model can.

    Attributes:
        max_tokens: the largest number of tokens to read; None for as many as the model can.
    """

    max_tokens: int | None = None

    def prepare(self, text: str) -> str:
        """Returns a text as the model reads it."""
        return text

    def encode(self, instances: pl.DataFrame, *, whole: bool) -> WholeTexts:
        """Tokenizes whole texts; logs a warning if the ends of some are cut."""
        texts = [(self.prepare(text),) for text in instances["text"].cast(pl.String)]
        longest = longest_input(self.model, self.tokenizer)
        limit = min(longest, self.max_tokens or longest)
        rows, is_truncated = truncate_rows(self.tokenizer, texts, limit)
        if is_truncated.any():
            logger.warning(
                "%s of %s texts are longer than the model can read; their ends are cut off",
                is_truncated.sum(),
                len(is_truncated),
            )
        return WholeTexts(rows, DeviceRows.from_rows(rows, self.model), is_truncated)


def truncate_rows(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]], limit: int
) -> tuple[TokenRows, BoolArray]:
    """Tokenizes whole texts or pairs; cuts the ends of those that are too long.

    Special tokens are never cut.

    Args:
        tokenizer: the tokenizer, which must not truncate now, nor does afterwards.
        texts: tuples of one or two texts, see `whole_rows`.
        limit: the largest number of tokens in a row, special ones included.

    Returns:
        The rows, and whether each was cut, shape (texts,).
    """
    rows = whole_rows(tokenizer, texts)
    is_truncated: BoolArray = rows.lengths > limit
    if is_truncated.any():
        backend = tokenizer.backend_tokenizer
        backend.enable_truncation(limit)
        try:
            rows = whole_rows(tokenizer, texts)
        finally:
            backend.no_truncation()
    return rows, is_truncated
