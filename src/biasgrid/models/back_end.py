"""What the engine needs of a task's back end, and what it tells one."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy.typing as npt
import polars as pl
import torch

from biasgrid.models.encoding import IntArray, Rows

if TYPE_CHECKING:
    import pandera.polars as pa
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

PAIR_COLUMNS = (
    "instance", "context", "question", "candidate1", "candidate2", "position1", "position2", "cluster1", "cluster2",
)  # fmt: skip
"""What back ends read of `INSTANCES`."""

TargetScoring = Literal["joint", "pll", "pll-l2r"]


@dataclass(frozen=True)
class Settings:
    """How a shard is predicted.

    Attributes:
        model: the model's name in the config.
        task: `fill-mask`, `question-answering` or `text-classification`.
        scoring: `exact` or `unqover`.
        precision: `float32`, `tf32`, `float16`, `bfloat16` or `auto`.
        pronouns: the pronoun of each cluster of subjects, empty for none.
        token_budget: how many tokens a batch may have; changes speed, not numbers.
        device: `auto`, `cpu` or `cuda`.
        seconds_without_progress: after which the process is ended.
        instances: what the instances are: `pairs` of subjects (`INSTANCES`) or `cases` (`CASES`).
        labels: of classifiers, the names of the dataset's classes in their order.
        target_scoring: of masked language models, how words of several pieces are scored in cases.
    """

    model: str
    task: str
    scoring: str
    precision: str
    pronouns: Mapping[str, str]
    token_budget: int
    device: str
    seconds_without_progress: float
    instances: str = "pairs"
    labels: Sequence[str] = ()
    target_scoring: TargetScoring = "joint"


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
