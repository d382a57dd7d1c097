"""Back ends that are models on this machine, which compute in batches of one length."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.base.arrays import BoolArray
from biasgrid.inference.checkpoints.checkpoint import (
    load_recorded_model,
    load_recorded_tokenizer,
)
from biasgrid.inference.engine.audit import (
    audited_of,
    compare_audit,
    drift_between,
)
from biasgrid.inference.engine.autotune import find_tuning, kept_tuning, tokens_of_batch
from biasgrid.inference.engine.back_end import BackEnd
from biasgrid.inference.engine.batches import (
    BatchPart,
    Encoded,
    check_finite,
    longest_input,
    run_part,
)
from biasgrid.inference.engine.chunks import Chunks
from biasgrid.inference.engine.device_rows import Batch, Fetched
from biasgrid.inference.engine.encoding import NotAssembledError, check_row_lengths
from biasgrid.inference.engine.hardware import (
    FreedMemory,
    choose_device,
    choose_precision,
    name_of_device,
    set_precision,
)
from biasgrid.inference.engine.one_dnn import use_one_dnn
from biasgrid.inference.engine.out_of_vocabulary import (
    check_tokens,
    known_tokens,
    with_unknown_tokens,
)
from biasgrid.inference.engine.processor_findings import WORTH_TELLING, precision_note
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.engine.worker import Worker
from biasgrid.jobs.progress import Progress

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

TEXTS_MEASURED = 256
PARTS_AHEAD = 2
"""Parts that wait to be run or read while another one is written."""


class Ready(NamedTuple):
    """Instances that are encoded, and whether the tokenizer knows all of each; shape
    (instances,).
    """

    encoded: Encoded
    unknown: BoolArray


class Running(NamedTuple):
    """A part that is being answered: what it asks, of which encoded instances it is, and what comes
    back of it.
    """

    instances: pl.DataFrame
    ready: Ready
    part: BatchPart
    fetched: Future[Fetched]


class LocalBackEnd(BackEnd):
    """Turns what is asked into answers.

    All instances are tokenized and moved to the device when it is opened, or on a GPU the first
    ones, and the others while it computes; batches are numbers of rows.

    Attributes:
        loader: the class of transformers that loads models of the task.
        model: the model.
        tokenizer: its tokenizer.
        settings: how to answer.
        precision: what it computes in.
        products: whose products of matrices it takes, `torch` or `oneDNN`.
        token_budget: how many tokens a batch may have.
        pieces: the instances that it was opened with; of those whose texts are not the tokens of
            their segments there is nothing encoded, as each part of them is tokenized by itself, as
            a whole.
        audited: the answers of the audit, with `instance` and `key`.
    """

    loader: ClassVar[str]
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    settings: InferenceSettings
    precision: str
    products: str
    token_budget: int
    pieces: Chunks[Ready | None]
    audited: pl.DataFrame

    @abstractmethod
    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: Any):
        """Prepares a model; `choices` are its class's `Choices`."""

    @abstractmethod
    def encode(self, asked: pl.DataFrame, whole: bool) -> Any:
        """Tokenizes instances, and moves what `run` needs to the model's device.

        Args:
            asked: the instances, of which it reads what `tables.instances.read_requests` does; each
                becomes rows.
            whole: whether to tokenize each text as a whole in place of its segments.

        Raises:
            NotAssembledError: the tokenizer makes something else of whole texts than of their
                segments.
        """

    @abstractmethod
    def run(self, encoded: Any, batch: Batch, plain: bool = False) -> dict[str, torch.Tensor]:
        """Predicts rows of one length without waiting for the device.

        Args:
            encoded: what `encode` returned.
            batch: which rows.
            plain: whether to leave out shortcuts, as a check.

        Returns:
            Columns, float32 or int32, on the device; their first dimension are the rows.
        """

    @abstractmethod
    def table(
        self, encoded: Any, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Makes columns of the answers, in the order of the instances, from what `run` returned;
        others are null.
        """

    @classmethod
    def decisive(cls, settings: InferenceSettings) -> dict[str, Any]:
        """Returns the settings that decide the answers: the precision on this machine, and the
        choices.
        """
        precision = choose_precision(settings.precision, choose_device(settings.device))
        return {"precision": precision, **super().decisive(settings)}

    @classmethod
    def runs_on(cls, settings: InferenceSettings) -> str:
        """Names the GPU's model, or `cpu`."""
        return name_of_device(choose_device(settings.device))

    @classmethod
    def loader_of(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the class of transformers that loads the model of a record."""
        return cls.loader

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Loads model and tokenizer of a record, in float32."""
        loader = cls.loader_of(record, settings)
        model = load_recorded_model(record, settings.task, loader, choose_device(settings.device))
        return cls(model, load_recorded_tokenizer(record), cls.Choices(**settings.choices))

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
    ) -> Self:
        """Loads the model, tokenizes the instances, and audits the model in float32."""
        torch.set_num_threads(settings.threads)
        back_end = cls.load(record, settings)
        back_end.take(instances, settings)
        set_precision(back_end.model, "float32")
        sample = audited_of(instances)
        back_end.audited = back_end.audit(sample)
        back_end.precision = cls.decisive(settings)["precision"]
        back_end.fit(sample)
        set_precision(back_end.model, back_end.precision)
        if back_end.products == "oneDNN":
            use_one_dnn(back_end.model)
        return back_end

    def reopen(
        self, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
    ) -> Self:
        """Tokenizes other instances and audits the model on them; it is loaded again where it is
        float32 no more.
        """
        if self.precision != "float32":
            return super().reopen(record, settings, instances)
        self.take(instances, settings)
        self.audited = self.audit(audited_of(instances))
        return self

    def fit(self, sample: pl.DataFrame) -> None:
        """Finds, or takes from an earlier shard, whose products are the fastest and what
        `precision: auto` would do.
        """
        if self.precision != "float32":
            self.products = "torch"
            return

        def find(auto: str) -> dict[str, Any]:
            found = find_tuning(self.model, auto)
            return found | (
                {"drift": self._drift(sample, auto)}
                if found["auto_is_faster"] >= WORTH_TELLING
                else {}
            )

        found = kept_tuning(self.model, self.settings, find)
        self.products = found["products"]
        logger.info(
            "float32 products are computed by %s, the fastest on %s",
            self.products,
            found["processor"],
        )
        if "drift" in found:
            logger.info("precision: auto would be %s", precision_note(found))

    def _drift(self, sample: pl.DataFrame, precision: str) -> dict[str, float]:
        """Returns how far a sample's answers in another precision are from those of the audit."""
        tensors = self.model.state_dict(keep_vars=True).values()
        weights = [tensor.data for tensor in tensors]
        set_precision(self.model, precision)
        try:
            drift = drift_between(self.audit(sample), self.audited)
        finally:
            for tensor, weight in zip(tensors, weights, strict=True):
                tensor.data = weight
            set_precision(self.model, "float32")
        return drift

    def take(self, instances: pl.DataFrame, settings: InferenceSettings) -> None:
        """Tokenizes what will be asked first."""
        self.settings = settings
        self.token_budget = tokens_of_batch(settings, self.model.device)
        self.pieces = Chunks(instances, self._ready_of, self.model.device)
        self.pieces.pieces[0].encoded()
        if len(self.pieces.pieces) > 1:
            # The others are tokenized while the device computes: what is too long must be known
            # before.
            self._encoded(longest_texts(instances), whole=True)

    def _ready_of(self, instances: pl.DataFrame) -> Ready | None:
        try:
            return self._encoded(instances, whole=False)
        except NotAssembledError as error:
            slower = "each text is tokenized as a whole, which is slower"
            logger.warning(
                "assembled tokens differ from the tokenizer's (%r): %s", error.args[0], slower
            )
            return None

    def _encoded(self, instances: pl.DataFrame, whole: bool) -> Ready:
        encoded = self.encode(instances, whole)
        longest = longest_input(self.model, self.tokenizer)
        check_row_lengths(encoded.rows, longest, instances["instance"], self.settings.model)
        check_tokens(
            encoded.rows, known_tokens(self.model), instances["instance"], self.settings.model
        )
        return Ready(encoded, self.unknown(encoded))

    def unknown(self, encoded: Any) -> BoolArray:
        """Says of each encoded instance whether the tokenizer does not know all of it; shape
        (instances,).
        """
        return with_unknown_tokens(encoded.rows, self.tokenizer)

    def audit(self, sample: pl.DataFrame) -> pl.DataFrame:
        """Predicts instances one row at a time by torch in float32, without shortcuts.

        Returns:
            Their answers, with `instance` and `key`.
        """
        ready = self._encoded(sample, whole=True)
        encoded = ready.encoded
        part = BatchPart.of(encoded.rows, np.arange(len(sample)))
        rows = torch.arange(len(part.rows), device=self.model.device)
        lengths = encoded.rows.lengths.tolist()
        batches = [Batch(rows[row : row + 1], length) for row, length in enumerate(lengths)]
        outcomes = [self.run(encoded, batch, plain=True) for batch in batches]
        columns = Fetched.of(outcomes).read(np.arange(len(rows)))
        return sample.select("instance", "key").hstack(self._told(sample, ready, part, columns))

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Answers some instances in batches of one length."""
        (answered,) = self.answer_parts([instances], progress)
        return answered

    def answer_parts(
        self, parts: Iterable[pl.DataFrame], progress: Progress
    ) -> Generator[pl.DataFrame]:
        """Answers parts; while one is read and written, the device has the next ones."""
        running: deque[Running] = deque()
        freed = FreedMemory() if self.model.device.type == "cpu" else None
        with Worker() as worker, Worker() as ahead:
            for piece in self.pieces.pieces[1:]:
                ahead.submit(piece.encoded)
            for instances in parts:
                running.append(self._start(instances, worker, progress, freed))
                if len(running) > PARTS_AHEAD:
                    yield self._read(running.popleft())
            while running:
                yield self._read(running.popleft())

    def _start(
        self, instances: pl.DataFrame, worker: Worker, progress: Progress, freed: FreedMemory | None
    ) -> Running:
        piece, places = self.pieces.of(instances) or (None, np.arange(len(instances)))
        ready = piece.encoded() if piece else self._ready_of(instances)
        if ready is None:
            ready, places = self._encoded(instances, whole=True), np.arange(len(instances))
        part = BatchPart.of(ready.encoded.rows, places)

        def run() -> Fetched:
            return run_part(
                self,
                ready.encoded,
                part,
                self.token_budget,
                worker.checked(progress.advance),
                freed,
            )

        return Running(instances, ready, part, worker.submit(run))

    def _read(self, running: Running) -> pl.DataFrame:
        instances, ready, part, fetched = running
        return self._told(instances, ready, part, fetched.result().read(part.order))

    def _told(
        self,
        instances: pl.DataFrame,
        ready: Ready,
        part: BatchPart,
        columns: dict[str, npt.NDArray[Any]],
    ) -> pl.DataFrame:
        check_finite(columns, instances["instance"].gather(part.owner), self.settings.model)
        unknown = pl.Series("unknown", ready.unknown[part.instances])
        return self.table(ready.encoded, part, columns).with_columns(unknown)

    def close(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Compares the answers with the audit."""
        device = choose_device(self.settings.device)
        peak = torch.cuda.max_memory_allocated(device) // 2**20 if device.type == "cuda" else None
        drift = compare_audit(answers.select(self.audited.columns), self.audited, self.precision)
        return {
            "audit": drift | {"products": self.products, "token_budget": self.token_budget},
            "gpu_peak_mb": peak,
        }


def longest_texts(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the instances with the longest texts, in their order."""
    lengths = instances.select(
        pl.sum_horizontal(pl.col("text", "text_pair").cast(pl.String).str.len_chars().fill_null(0))
    ).to_series()
    return instances[lengths.arg_sort(descending=True)[:TEXTS_MEASURED].sort()]
