"""Back ends that are models on this machine: torch computes, in batches of one length."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.arrays import IntArray
from biasgrid.checkpoints.checkpoint import load_model, load_tokenizer
from biasgrid.engine.back_end import BackEnd
from biasgrid.engine.batches import audit, compare_audit, predict_rows
from biasgrid.engine.encoding import Rows
from biasgrid.engine.hardware import choose_device, choose_precision, name_of_device, set_precision
from biasgrid.engine.settings import Settings
from biasgrid.jobs.progress import Progress

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast


class LocalBackEnd(BackEnd):
    """Turns what is asked into answers; what `encode` returns has the rows' tokens as `rows`.

    Attributes:
        loader: the class of transformers that loads models of the task.
        model: the model.
        tokenizer: its tokenizer.
        settings: how to answer.
        precision: what it computes in.
        audited: the answers of the audit, with `instance` and `key`.
    """

    loader: ClassVar[str]
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    settings: Settings
    precision: str
    audited: pl.DataFrame

    @abstractmethod
    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: Any):
        """Prepares a model; `choices` are its class's `Choices`."""

    @abstractmethod
    def encode(self, asked: pl.DataFrame) -> Any:
        """Tokenizes instances, of which it reads what `tables.instances.read_asked` does; each becomes rows."""

    @abstractmethod
    def run(self, encoded: Any, rows: IntArray, plain: bool = False) -> dict[str, npt.NDArray[Any]]:
        """Predicts rows of one length; the first dimension of what it returns are the rows."""

    @abstractmethod
    def table(self, encoded: Any, columns: dict[str, npt.NDArray[Any]]) -> pl.DataFrame:
        """Makes columns of the answers, in the order of the instances, from what `run` returned; others are null."""

    @classmethod
    def decisive(cls, settings: Settings) -> dict[str, Any]:
        """Returns what decides the answers: the choices, and the precision on this machine."""
        precision = choose_precision(settings.precision, choose_device(settings.device))
        return {"precision": precision, **super().decisive(settings)}

    @classmethod
    def runs_on(cls, settings: Settings) -> str:
        """Names the GPU's model, or `cpu`."""
        return name_of_device(choose_device(settings.device))

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: Settings) -> Self:
        """Loads model and tokenizer of a record, in float32."""
        model = load_model(record, settings.task, cls.loader, choose_device(settings.device))
        return cls(model, load_tokenizer(record), cls.Choices(**settings.choices))

    @classmethod
    def open(cls, record: Mapping[str, Any], settings: Settings, instances: pl.DataFrame) -> Self:
        """Loads the model, and audits it: it answers a sample one row at a time in float32."""
        torch.set_num_threads(settings.threads)
        back_end = cls.load(record, settings)
        back_end.settings = settings
        set_precision(back_end.model, "float32")
        back_end.audited = audit(back_end, instances, settings.model)
        back_end.precision = cls.decisive(settings)["precision"]
        set_precision(back_end.model, back_end.precision)
        return back_end

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Answers some instances in batches of one length."""
        return predict_rows(self, instances, self.settings.token_budget, progress)

    def close(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Compares the answers with the audit."""
        device = choose_device(self.settings.device)
        peak = torch.cuda.max_memory_allocated(device) // 2**20 if device.type == "cuda" else None
        drift = compare_audit(answers.select(self.audited.columns), self.audited, self.precision)
        return {"audit": drift, "gpu_peak_mb": peak}


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
