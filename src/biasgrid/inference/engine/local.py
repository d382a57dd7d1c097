"""Back ends that run a model on this machine, in batches of rows of one length."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from itertools import chain
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
    EncodedInstances,
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
    device_name,
    gpu_peak_memory,
    set_precision,
    warn_if_emulated,
)
from biasgrid.inference.engine.loading import load_once, load_tokenizer_once
from biasgrid.inference.engine.one_dnn import untimed_products, use_one_dnn
from biasgrid.inference.engine.out_of_vocabulary import (
    check_tokens,
    embedding_count,
    is_out_of_vocabulary,
)
from biasgrid.inference.engine.processor_findings import REPORTED_SPEEDUP, precision_note
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.engine.worker import Worker
from biasgrid.inference.input_counts import InputCounts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

TEXTS_MEASURED = 256
PARTS_AHEAD = 2
"""Parts that are run or wait for it while the answers to an earlier part are stored."""


class Ready(NamedTuple):
    """Encoded instances that a model can be run on.

    Attributes:
        encoding: the result of `encode`.
        unknown: shape (instances,), whether the tokenizer lacks words of an instance.
    """

    encoding: EncodedInstances
    unknown: BoolArray


class Running(NamedTuple):
    """A part that another thread runs.

    Attributes:
        prompt_part: the prompts.
        ready: the encoded instances that contain the prompts.
        batch_part: the rows of the prompts, in the order of `prompt_part`.
        batches: a queue of the batches that were run, which the other thread fills.
        end: done when all batches are in the queue; `result` raises the error of the thread.
    """

    prompt_part: PromptPart
    ready: Ready
    batch_part: BatchPart
    batches: deque[RanBatch]
    end: Future[None]

    def steps(self) -> Iterator[None]:
        """Yields about once a second until the part has ended."""
        while wait([self.end], SECONDS_BETWEEN_TABLES).not_done:
            yield


class ReturnedRows:
    """The results of a part's rows, collected as they come back from the device.

    Attributes:
        part: the part.
        is_open: shape (instances,), whether an instance has no answer yet, and was not returned by
            `take_complete`.
        has_row: shape (rows,), whether a row's results are there.
        columns: the results, shape (rows, ...); empty before the first batch. Rows without results
            have any values.
    """

    def __init__(self, part: BatchPart, is_answered: BoolArray):
        """Begins without results.

        Args:
            part: the part.
            is_answered: shape (instances,), whether an instance has an answer already.
        """
        self.part = part
        self.is_open = ~is_answered
        self.has_row = np.zeros(len(part.rows), dtype=np.bool_)
        self.columns: dict[str, npt.NDArray[Any]] = {}

    def add(self, batches: deque[RanBatch]) -> None:
        """Takes all batches out of a queue and waits for their results.

        Another thread may add batches meanwhile; they stay for the next call.
        """
        ran_batches = [batches.popleft() for _ in range(len(batches))]
        if not ran_batches:
            return
        order = self.part.order
        places = np.concatenate([order[batch.begin : batch.end] for batch in ran_batches])
        outcomes = list(chain.from_iterable(batch.outcomes for batch in ran_batches))
        transfer = ColumnTransfer.start(outcomes)
        self.has_row[places] = True
        # A fast device has run the whole part by now: its results need no second copy.
        if not self.columns and self.has_row.all():
            self.columns = transfer.read(places)
            return
        for name, values in transfer.read(np.arange(len(places))).items():
            shape = (len(self.has_row), *values.shape[1:])
            self.columns.setdefault(name, np.empty(shape, values.dtype))[places] = values

    def take_complete(self) -> BoolArray:
        """Returns which open instances have results for all of their rows; they are then closed.

        Returns:
            Shape (instances,). An instance is True in one call only.
        """
        is_complete = self.is_open.copy()
        if not self.has_row.all():
            missing_rows = np.bincount(self.part.owner, ~self.has_row, len(self.part.instances))
            is_complete &= missing_rows == 0
        self.is_open &= ~is_complete
        return is_complete

    def select(self, is_included: BoolArray) -> tuple[BatchPart, dict[str, npt.NDArray[Any]]]:
        """Returns the rows and results of those instances for which `is_included` holds.

        Args:
            is_included: shape (instances,); the rows of these instances must have results.
        """
        if is_included.all():
            return self.part, self.columns
        is_row = is_included[self.part.owner]
        columns = {name: values[is_row] for name, values in self.columns.items()}
        return self.part.filter(is_included), columns


class LocalBackEnd(BackEnd):
    """Answers instances with a model on this machine; a subclass for each task.

    On a CPU all instances are tokenized when it is opened. On a GPU the first ones are, and the
    others while it computes.

    Attributes:
        loader: the class of transformers that loads models of the task.
        model: the model.
        tokenizer: its tokenizer.
        settings: how to answer.
        precision: the precision of the answers. `open` sets it before it turns the model: until
            `open` ends, the model itself is float32.
        products: the library of its matrix products, `torch` or `oneDNN`.
        token_budget: the largest number of tokens in a batch.
        chunks: the instances that it was opened with. The encoding of a chunk is None if tokens of
            segments differ from tokens of whole texts: then each part is tokenized by itself, as
            whole texts.
        inputs: see `BackEnd`. Rows of answers that an earlier run has stored do not count, though
            they may fill batches.
    """

    loader: ClassVar[str]
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    settings: InferenceSettings
    precision: str
    products: str
    token_budget: int
    chunks: Chunks[Ready | None]
    inputs: InputCounts = InputCounts()

    @abstractmethod
    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, choices: Any):
        """Prepares a float32 model; `choices` are of the class `Choices`."""

    @abstractmethod
    def encode(self, instances: pl.DataFrame, *, whole: bool) -> Any:
        """Tokenizes instances, and copies to the device whatever `run` needs.

        Args:
            instances: the instances, with the columns of `tables.instances.read_requests`.
            whole: whether to tokenize each text as a whole, and not in segments.

        Returns:
            An encoding with `rows`, see `batches.EncodedInstances`. Each instance has at least one
            row, and the rows are in the order of the instances.

        Raises:
            NotAssembledError: `whole` is False, and the tokens of segments differ from the tokens
                of whole texts.
        """

    @abstractmethod
    def run(self, encoding: Any, batch: Batch, *, plain: bool = False) -> dict[str, torch.Tensor]:
        """Predicts rows of one length without waiting for the device.

        Args:
            encoding: the result of `encode`.
            batch: the rows.
            plain: whether to leave out shortcuts, for the audit.

        Returns:
            The same columns for each batch, float32 or int32, on the device; their first dimension
            are the rows.
        """

    @abstractmethod
    def table(
        self, encoding: Any, part: BatchPart, columns: dict[str, npt.NDArray[Any]]
    ) -> pl.DataFrame:
        """Returns columns of answers from the results of `run`; a missing column counts as null.

        Args:
            encoding: the result of `encode`.
            part: the answered instances, in the order of the answers, and their rows.
            columns: the columns of `run`, shape (rows, ...), in the order of `part.rows`.
        """

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers: the choices, and the precision here."""
        precision = cls.choose_precision(record, settings)
        return {"precision": precision, **super().identity(record, settings)}

    @classmethod
    def choose_precision(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the precision of the answers; `auto` is float32."""
        return "float32" if settings.precision == "auto" else settings.precision

    @classmethod
    def choose_loader(cls, record: Mapping[str, Any], settings: InferenceSettings) -> str:
        """Returns the name of the class of transformers that loads the model of a record."""
        return cls.loader

    @classmethod
    def load(cls, record: Mapping[str, Any], settings: InferenceSettings) -> Self:
        """Loads the model of a record, in float32, and its tokenizer."""
        model = load_once(record, settings, cls.choose_loader(record, settings))
        return cls(model, load_tokenizer_once(record, settings), cls.Choices(**settings.choices))

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Loads the model, tokenizes prompts, and answers a sample in float32 for the audit.

        Raises:
            ModelError: the model cannot be loaded, or cannot answer these prompts.
        """
        torch.set_num_threads(settings.threads)
        back_end = cls.load(record, settings)
        back_end.device = device_name(back_end.model.device)
        back_end.prepare_instances(prompts, settings)
        # Half precision cannot be undone: the audit, which needs float32, comes first.
        set_precision(back_end.model, "float32")
        sample = audit_sample(prompts)
        exact = back_end.answer_alone(sample)
        back_end.precision = cls.identity(record, settings)["precision"]
        back_end.choose_products(sample, exact)
        facts = {"products": back_end.products, "token_budget": back_end.token_budget}
        back_end.audit = SampleAudit(exact, back_end.precision, facts)
        warn_if_emulated(back_end.precision, back_end.model.device, settings.model)
        set_precision(back_end.model, back_end.precision)
        if back_end.products == "oneDNN":
            use_one_dnn(back_end.model)
        return back_end

    def choose_products(self, sample: pl.DataFrame, exact: pl.DataFrame) -> None:
        """Sets `products` to the library for the precision; for float32 to the fastest one.

        The first shard of a cell measures it, later ones use its result. If `precision: bfloat16`
        would be much faster, its speed and drift are logged.

        Args:
            sample: the audited instances.
            exact: their answers, see `answer_alone`.
        """
        if self.precision != "float32":
            self.products = untimed_products(self.precision, self.model.device)
            return

        def find() -> dict[str, Any]:
            findings = time_kernels(self.model)
            if findings["bfloat16_is_faster"] >= REPORTED_SPEEDUP:
                findings["bfloat16_drift"] = self._drift(sample, exact)
            return findings

        findings = cached_tuning(self.model, self.settings, find)
        self.products = findings["products"]
        logger.info(
            "float32 products are computed by %s, the fastest on %s",
            self.products,
            findings["processor"],
        )
        if "bfloat16_drift" in findings:
            logger.info("precision: bfloat16 would be %s", precision_note(findings))

    def _drift(self, sample: pl.DataFrame, exact: pl.DataFrame) -> dict[str, float]:
        """Returns how far answers in bfloat16 are from exact ones.

        The weights are turned and put back, so that the model is as before, also after an error.
        """
        tensors = self.model.state_dict(keep_vars=True).values()
        weights = [tensor.data for tensor in tensors]
        set_precision(self.model, "bfloat16")
        try:
            drift = measure_drift(self.answer_alone(sample), exact)
        finally:
            for tensor, weight in zip(tensors, weights, strict=True):
                tensor.data = weight
            set_precision(self.model, "float32")
        return drift

    def prepare_instances(self, instances: pl.DataFrame, settings: InferenceSettings) -> None:
        """Sets `settings`, `token_budget` and `chunks`, and tokenizes the first chunk.

        Raises:
            ModelError: one of the instances is too long for the model.
        """
        self.settings = settings
        self.token_budget = choose_token_budget(settings, self.model.device)
        self.chunks = Chunks(instances, self._try_encode, self.model.device)
        self.chunks.items[0].encoding()
        if len(self.chunks.items) > 1:
            # The others are tokenized while the device computes. A text that is too long must be
            # refused before that.
            self._checked_encoding(longest_texts(instances), whole=True)

    def _try_encode(self, instances: pl.DataFrame) -> Ready | None:
        """Encodes instances in segments; None, with a warning, if they differ from whole texts."""
        try:
            return self._checked_encoding(instances, whole=False)
        except NotAssembledError as error:
            slower = "each text is tokenized as a whole, which is slower"
            logger.warning(
                "assembled tokens differ from the tokenizer's (%r): %s", error.args[0], slower
            )
            return None

    def _checked_encoding(self, instances: pl.DataFrame, *, whole: bool) -> Ready:
        """Encodes instances, see `encode`; refuses those that the model cannot read.

        Raises:
            NotAssembledError: see `encode`.
            ModelError: an instance is too long, or has a token that the model does not know.
        """
        encoding = self.encode(instances, whole=whole)
        longest = longest_input(self.model, self.tokenizer)
        check_row_lengths(encoding.rows, longest, instances["instance"], self.settings.model)
        check_tokens(
            encoding.rows, embedding_count(self.model), instances["instance"], self.settings.model
        )
        return Ready(encoding, self.unknown(encoding))

    def unknown(self, encoding: Any) -> BoolArray:
        """Returns whether the tokenizer lacks words of each instance; shape (instances,)."""
        return is_out_of_vocabulary(encoding.rows, self.tokenizer)

    def answer_alone(self, sample: pl.DataFrame) -> pl.DataFrame:
        """Answers instances one row at a time, as whole texts and without shortcuts.

        The model computes in the precision that it has now: float32 for the audit.

        Returns:
            Their answers, with `instance` and `key`.
        """
        ready = self._checked_encoding(sample, whole=True)
        encoding = ready.encoding
        part = BatchPart.from_instances(encoding.rows, np.arange(len(sample)))
        rows = torch.arange(len(part.rows), device=self.model.device)
        lengths = encoding.rows.lengths.tolist()
        batches = [Batch(rows[row : row + 1], length) for row, length in enumerate(lengths)]
        outcomes = [self.run(encoding, batch, plain=True) for batch in batches]
        columns = ColumnTransfer.start(outcomes).read(np.arange(len(rows)))
        return self._answers(sample, ready, part, columns)

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts; while the answers to one are stored, the device has the next ones."""
        running: deque[Running] = deque()
        trimmer = MemoryTrimmer() if self.model.device.type == "cpu" else None
        with Worker() as worker, Worker() as encoder:
            for chunk in self.chunks.items[1:]:
                encoder.submit(chunk.encoding)
            for part in parts:
                running.append(self._start(part, worker, trimmer))
                if len(running) > PARTS_AHEAD:
                    yield from self._read(running.popleft())
            while running:
                yield from self._read(running.popleft())

    def _start(
        self, prompt_part: PromptPart, worker: Worker, trimmer: MemoryTrimmer | None
    ) -> Running:
        """Encodes a part, if no chunk has it, and gives it to the worker's thread."""
        ready, places = self._find_encoding(prompt_part.prompts)
        encoding = ready.encoding
        batch_part = BatchPart.from_instances(encoding.rows, places)
        is_answered = prompt_part.is_answered.to_numpy()
        batches: deque[RanBatch] = deque()
        report = worker.stoppable(batches.append)

        def run() -> None:
            budget = self.token_budget
            run_part(self, encoding, batch_part, is_answered, budget, report, trimmer)

        return Running(prompt_part, ready, batch_part, batches, worker.submit(run))

    def _find_encoding(self, prompts: pl.DataFrame) -> tuple[Ready, npt.NDArray[np.int64]]:
        """Returns an encoding that contains some prompts, and their places in it."""
        in_chunk = self.chunks.find(prompts)
        if in_chunk is None:
            ready, places = self._try_encode(prompts), np.arange(len(prompts))
        else:
            chunk, places = in_chunk
            ready = chunk.encoding()
        if ready is None:
            return self._checked_encoding(prompts, whole=True), np.arange(len(prompts))
        return ready, places

    def _read(self, running: Running) -> Iterator[pl.DataFrame]:
        """Yields the answers to a part while it is run.

        Raises:
            KeyboardInterrupt: see `BackEnd.answer`.
            Exception: the error that ended the part's thread, after the answers before it.
        """
        prompt_part = running.prompt_part
        rows = ReturnedRows(running.batch_part, prompt_part.is_answered.to_numpy())

        def take_answers() -> pl.DataFrame:
            rows.add(running.batches)
            is_complete = rows.take_complete()
            prompts = prompt_part.prompts
            if not is_complete.all():
                prompts = prompts.filter(pl.Series(is_complete))
            batch_part, columns = rows.select(is_complete)
            tokens = int(batch_part.lengths.sum())
            self.inputs = self.inputs.plus(InputCounts(len(batch_part.rows), tokens))
            return self._answers(prompts, running.ready, batch_part, columns)

        yield from tables_at_intervals(running.steps(), take_answers)
        running.end.result()

    def _answers(
        self,
        instances: pl.DataFrame,
        ready: Ready,
        part: BatchPart,
        columns: dict[str, npt.NDArray[Any]],
    ) -> pl.DataFrame:
        """Returns the answers to instances, with `instance` and `key`.

        Args:
            instances: the instances of `part`, in the same order; may be none.
            ready: the encoded instances that contain them.
            part: their rows.
            columns: the results of these rows; not read if there are no instances.

        Raises:
            ModelError: a result is not finite.
        """
        if instances.is_empty():
            return pl.DataFrame()
        check_finite(columns, instances["instance"].gather(part.owner), self.settings.model)
        unknown = pl.Series("unknown", ready.unknown[part.instances])
        answers = self.table(ready.encoding, part, columns)
        return with_instance_and_key(instances, answers.with_columns(unknown))

    @property
    def gpu_peak_mb(self) -> int | None:
        """The most GPU memory that it used, in MB; None without a GPU."""
        return gpu_peak_memory(self.model.device)


def longest_texts(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the `TEXTS_MEASURED` instances with the most characters, in their order."""
    characters = pl.col("text", "text_pair").cast(pl.String).str.len_chars().fill_null(0)
    lengths = instances.select(pl.sum_horizontal(characters)).to_series()
    places = lengths.arg_sort(descending=True)[:TEXTS_MEASURED]
    return instances[places.sort()]
