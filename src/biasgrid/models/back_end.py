"""What the engine needs of a task's back end, and what it tells one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.models.encoding import Rows
from biasgrid.models.settings import Settings

if TYPE_CHECKING:
    import pandera.polars as pa
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

PAIR_COLUMNS = (
    "instance", "context", "question", "candidate1", "candidate2", "position1", "position2", "cluster1", "cluster2",
)  # fmt: skip
"""What back ends read of `INSTANCES`."""


class BackEnd(Protocol):
    """Turns instances into predictions of one task; what `encode` returns has the rows' tokens as `rows`.

    Attributes:
        instances: the schema of the instances.
        columns: those of its columns that are needed.
        choices: the settings that decide the numbers, besides the task and the precision.
        schema: the schema of the predictions.
        model: the model.
        tokenizer: its tokenizer.
    """

    instances: ClassVar[pa.DataFrameSchema]
    columns: ClassVar[Sequence[str]]
    choices: ClassVar[Sequence[str]]
    schema: ClassVar[pa.DataFrameSchema]
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, settings: Settings):
        """Prepares the model."""

    def encode(self, frame: pl.DataFrame) -> Any:
        """Tokenizes instances; each becomes one row or several."""

    def run(self, encoded: Any, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length; the first dimension of what it returns are the rows."""

    def table(self, instances: pl.Series, encoded: Any, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes the predictions table, in the order of the instances, from the columns that `run` returned."""


def inputs_of(model: PreTrainedModel, encoded: Rows, rows: IntArray) -> dict[str, torch.Tensor]:
    """Returns what a model is given for rows of one length: ids, and token types where it takes them."""
    ids, types = encoded.assemble(rows)
    inputs = {"input_ids": torch.from_numpy(ids).to(model.device)}
    if types is not None and "token_type_ids" in inspect.signature(model.forward).parameters:
        inputs["token_type_ids"] = torch.from_numpy(types).to(model.device)
    return inputs
