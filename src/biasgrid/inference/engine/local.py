"""Back ends that are models on this machine, which compute in batches of one length."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.base.arrays import BoolArray
from biasgrid.inference.engine.audit import SampleAudit, audit_sample, measure_drift
from biasgrid.inference.engine.autotune import cached_tuning, choose_token_budget, time_kernels
from biasgrid.inference.engine.back_end import (
    SECONDS_BETWEEN_TABLES,
    BackEnd,
    PromptPart,
    tables_at_intervals,
    with_instance_and_key,
)
from biasgrid.inference.engine.batches import (
    BatchPart,
    Encoded,
    RanBatch,
    check_finite,
    longest_input,
    run_part,
)
from biasgrid.inference.engine.chunks import Chunks
from biasgrid.inference.engine.device_rows import Batch, ColumnTransfer
from biasgrid.inference.engine.encoding import NotAssembledError, check_row_lengths
from biasgrid.inference.engine.hardware import (
    MemoryTrimmer,
    choose_device,
    choose_precision,
    device_name,
    gpu_peak_memory,
    set_precision,
)
from biasgrid.inference.engine.loading import load_once, load_tokenizer_once
from biasgrid.inference.engine.one_dnn import use_one_dnn
from biasgrid.inference.engine.out_of_vocabulary import (
    check_tokens,
    embedding_count,
    is_out_of_vocabulary,
)
from biasgrid.inference.engine.processor_findings import REPORTED_SPEEDUP, precision_note
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.engine.worker import Worker

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
    """A part that another thread runs.

    Attributes:
        asked: the part.
        ready: the encoded instances among which its instances are.
        part: where they are.
        batches: the batches that were run and not read yet, in their order.
        ended: raises why the part could not be run to its end.
    """

    asked: PromptPart
    ready: Ready
    part: BatchPart
    batches: deque[RanBatch]
    ended: Future[None]

    def steps(self) -> Iterator[None]:
        """Yields now and then until the part has ended."""
        while wait([self.ended], SECONDS_BETWEEN_TABLES).not_done:
            yield


class ReturnedRows:
    """The rows of a part that have come back from the device."""

    def __init__(self, part: BatchPart, is_answered: BoolArray):
        """Begins without any.

        Args:
            part: the part.
            is_answered: shape (instances,), whether an answer is there already.
        """
        self.part = part
        self.is_open = ~is_answered
        self.has_row = np.zeros(len(part.rows), dtype=np.bool_)
        self.columns: dict[str, npt.NDArray[Any]] = {}

    def add(self, batches: deque[RanBatch]) -> None:
        """Takes all batches out of a queue and waits for their numbers."""
        ran = [batches.popleft() for _ in range(len(batches))]
        if not ran:
            return
        places = np.concatenate([self.part.order[batch.begin : batch.end] for batch in ran])
        fetched = ColumnTransfer.of([outcome for batch in ran for outcome in batch.outcomes])
        self.has_row[places] = True
        # A fast device has run the whole part by now, whose numbers need no second copy.
        if not self.columns and self.has_row.all():
            self.columns = fetched.read(places)
            return
        for name, values in fetched.read(np.arange(len(places))).items():
            shape = (len(self.has_row), *values.shape[1:])
            self.columns.setdefault(name, np.empty(shape, values.dtype))[places] = values

    def take_complete(self) -> BoolArray:
        """Returns which instances have all of their rows since this was called last, shape
        (instances,).
        """
        is_complete = self.is_open.copy()
        if not self.has_row.all():
            missing = np.bincount(self.part.owner, ~self.has_row, len(self.part.instances))
            is_complete &= missing == 0
        self.is_open &= ~is_complete
        return is_complete

    def of(self, instances: BoolArray) -> tuple[BatchPart, dict[str, npt.NDArray[Any]]]:
        """Returns the part and the columns of some of its instances."""
        if instances.all():
            return self.part, self.columns
        rows = instances[self.part.owner]
        return self.part.only(instances), {
            name: values[rows] for name, values in self.columns.items()
        }


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
    """

    loader: ClassVar[str]
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    settings: InferenceSettings
    precision: str
    products: str
    token_budget: int
    pieces: Chunks[Ready | None]

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
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers: the precision on this machine, and the
        choices.
        """
        precision = choose_precision(settings.precision, choose_device(settings.device))
        return {"precision": precision, **super().identity(record, settings)}

    @classmethod
    def choose_loader(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the class of transformers that loads the model of a record."""
        return cls.loader

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Loads model and tokenizer of a record, in float32."""
        model = load_once(record, settings, cls.choose_loader(record, settings))
        return cls(model, load_tokenizer_once(record, settings), cls.Choices(**settings.choices))

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Loads the model, tokenizes the prompts, and answers a sample in float32, with which the
        other answers are compared.

        Last, as half precision cannot be undone, it turns the model to its precision.
        """
        torch.set_num_threads(settings.threads)
        back_end = cls.load(record, settings)
        back_end.device = device_name(back_end.model.device)
        back_end.take(prompts, settings)
        set_precision(back_end.model, "float32")
        sample = audit_sample(prompts)
        exact = back_end.answer_alone(sample)
        back_end.precision = cls.identity(record, settings)["precision"]
        back_end.choose_products(sample, exact)
        facts = {"products": back_end.products, "token_budget": back_end.token_budget}
        back_end.audit = SampleAudit(exact, back_end.precision, facts)
        set_precision(back_end.model, back_end.precision)
        if back_end.products == "oneDNN":
            use_one_dnn(back_end.model)
        return back_end

    def choose_products(self, sample: pl.DataFrame, exact: pl.DataFrame) -> None:
        """Finds the fastest products of float32, or takes them from an earlier shard; in another
        precision they are torch's.

        It also logs how fast and how exact `precision: auto` would be.

        Args:
            sample: the audited instances.
            exact: their answers, see `answer_alone`.
        """
        if self.precision != "float32":
            self.products = "torch"
            return

        def find(auto: str) -> dict[str, Any]:
            found = time_kernels(self.model, auto)
            return found | (
                {"drift": self._drift(sample, exact, auto)}
                if found["auto_is_faster"] >= REPORTED_SPEEDUP
                else {}
            )

        found = cached_tuning(self.model, self.settings, find)
        self.products = found["products"]
        logger.info(
            "float32 products are computed by %s, the fastest on %s",
            self.products,
            found["processor"],
        )
        if "drift" in found:
            logger.info("precision: auto would be %s", precision_note(found))

    def _drift(self, sample: pl.DataFrame, exact: pl.DataFrame, precision: str) -> dict[str, float]:
        """Returns how far a sample's answers in another precision are from exact ones."""
        tensors = self.model.state_dict(keep_vars=True).values()
        weights = [tensor.data for tensor in tensors]
        set_precision(self.model, precision)
        try:
            drift = measure_drift(self.answer_alone(sample), exact)
        finally:
            for tensor, weight in zip(tensors, weights, strict=True):
                tensor.data = weight
            set_precision(self.model, "float32")
        return drift

    def take(self, instances: pl.DataFrame, settings: InferenceSettings) -> None:
        """Tokenizes what will be asked first."""
        self.settings = settings
        self.token_budget = choose_token_budget(settings, self.model.device)
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
            encoded.rows, embedding_count(self.model), instances["instance"], self.settings.model
        )
        return Ready(encoded, self.unknown(encoded))

    def unknown(self, encoded: Any) -> BoolArray:
        """Says of each encoded instance whether the tokenizer does not know all of it; shape
        (instances,).
        """
        return is_out_of_vocabulary(encoded.rows, self.tokenizer)

    def answer_alone(self, sample: pl.DataFrame) -> pl.DataFrame:
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
        columns = ColumnTransfer.of(outcomes).read(np.arange(len(rows)))
        return self._told(sample, ready, part, columns)

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts; while one is read and written, the device has the next ones."""
        running: deque[Running] = deque()
        freed = MemoryTrimmer() if self.model.device.type == "cpu" else None
        with Worker() as worker, Worker() as ahead:
            for piece in self.pieces.pieces[1:]:
                ahead.submit(piece.encoded)
            for asked in parts:
                running.append(self._start(asked, worker, freed))
                if len(running) > PARTS_AHEAD:
                    yield from self._read(running.popleft())
            while running:
                yield from self._read(running.popleft())

    def _start(self, asked: PromptPart, worker: Worker, freed: MemoryTrimmer | None) -> Running:
        instances = asked.prompts
        piece, places = self.pieces.of(instances) or (None, np.arange(len(instances)))
        ready = piece.encoded() if piece else self._ready_of(instances)
        if ready is None:
            ready, places = self._encoded(instances, whole=True), np.arange(len(instances))
        part = BatchPart.of(ready.encoded.rows, places)
        batches: deque[RanBatch] = deque()

        def run() -> None:
            ran = worker.checked(batches.append)
            is_answered = asked.is_answered.to_numpy()
            run_part(self, ready.encoded, part, is_answered, self.token_budget, ran, freed)

        return Running(asked, ready, part, batches, worker.submit(run))

    def _read(self, running: Running) -> Iterator[pl.DataFrame]:
        rows = ReturnedRows(running.part, running.asked.is_answered.to_numpy())

        def take() -> pl.DataFrame:
            rows.add(running.batches)
            complete = rows.take_complete()
            prompts = running.asked.prompts
            if not complete.all():
                prompts = prompts.filter(pl.Series(complete))
            return self._told(prompts, running.ready, *rows.of(complete))

        yield from tables_at_intervals(running.steps(), take)
        running.ended.result()

    def _told(
        self,
        instances: pl.DataFrame,
        ready: Ready,
        part: BatchPart,
        columns: dict[str, npt.NDArray[Any]],
    ) -> pl.DataFrame:
        """Returns the answers to instances, the ones of `part`, with `instance` and `key`."""
        if instances.is_empty():
            return instances.select("instance", "key")
        check_finite(columns, instances["instance"].gather(part.owner), self.settings.model)
        unknown = pl.Series("unknown", ready.unknown[part.instances])
        answers = self.table(ready.encoded, part, columns)
        return with_instance_and_key(instances, answers.with_columns(unknown))

    @property
    def gpu_peak_mb(self) -> int | None:
        """The most memory of a GPU that it used, in MB; None without one."""
        return gpu_peak_memory(self.model.device)


def longest_texts(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the instances with the longest texts, in their order."""
    characters = pl.col("text", "text_pair").cast(pl.String).str.len_chars().fill_null(0)
    lengths = instances.select(pl.sum_horizontal(characters)).to_series()
    places = lengths.arg_sort(descending=True)[:TEXTS_MEASURED]
    return instances[places.sort()]
