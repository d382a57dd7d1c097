"""What the engine needs of a task's back end, and what it tells one."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.engine.encoding import Rows
from biasgrid.engine.settings import Settings

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class BackEnd(Protocol):
    """Turns what is asked into answers; what `encode` returns has the rows' tokens as `rows`.

    Attributes:
        choices: the settings that decide the numbers, besides the task and the precision.
        model: the model.
        tokenizer: its tokenizer.
    """

    choices: ClassVar[Sequence[str]]
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, settings: Settings):
        """Prepares the model."""

    def encode(self, asked: pl.DataFrame) -> Any:
        """Tokenizes instances, of which it reads what `tables.instances.read_asked` does; each becomes rows."""

    def run(self, encoded: Any, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length; the first dimension of what it returns are the rows."""

    def table(self, encoded: Any, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes columns of the answers, in the order of the instances, from what `run` returned; others are null."""


def inputs_of(model: PreTrainedModel, encoded: Rows, rows: IntArray) -> dict[str, torch.Tensor]:
    """Returns what a model is given for rows of one length: ids, and token types where it takes them."""
    ids, types = encoded.assemble(rows)
    inputs = {"input_ids": torch.from_numpy(ids).to(model.device)}
    if types is not None and "token_type_ids" in inspect.signature(model.forward).parameters:
        inputs["token_type_ids"] = torch.from_numpy(types).to(model.device)
    return inputs


def numbered(asked: pl.DataFrame, what: str) -> list[str]:
    """Returns the columns of all candidates, or of all positions, from the first on."""
    return [name for name in asked.columns if name.removeprefix(what).isdigit()]


def lists_of(name: str, values: npt.NDArray[Any], known: npt.NDArray[np.bool_], kind: type[pl.DataType]) -> pl.Series:
    """Puts what is known of candidates into a list for each instance.

    Args:
        name: the column's name.
        values: shape (instances, candidates).
        known: shape (instances, candidates), False where there is none; null stands there.
        kind: the type of the values.
    """
    if not values.shape[1]:
        return pl.Series(name, [[]] * len(values), pl.List(kind))
    flat = pl.DataFrame({name: values.ravel(), "known": known.ravel()}, schema_overrides={name: kind})
    return flat.select(pl.when("known").then(name)).to_series().reshape(values.shape).arr.to_list()
