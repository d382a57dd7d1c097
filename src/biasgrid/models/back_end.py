"""What the engine needs of a task's back end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy.typing as npt
import polars as pl

from biasgrid.models.encoding import IntArray

if TYPE_CHECKING:
    import pandera.polars as pa
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class BackEnd(Protocol):
    """Turns instances into predictions of one task; what `encode` returns has the rows' tokens as `rows`."""

    schema: pa.DataFrameSchema
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast

    def encode(self, frame: pl.DataFrame) -> Any:
        """Tokenizes instances."""

    def run(self, encoded: Any, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length."""

    def table(self, instances: pl.Series, encoded: Any, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes the predictions table from the columns that `run` returned."""
