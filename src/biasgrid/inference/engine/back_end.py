"""A back end: anything that answers prompts.

The loop that calls it (`models.predict`) stores the answers, counts them and compares the audit.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.input_counts import InputCounts

SECONDS_BETWEEN_TABLES = 1.0
"""Time between tables of answers: a table for each batch would take longer than a small model."""


class PromptPart(NamedTuple):
    """Prompts that are answered together.

    Batches are made of all of them, even if some were answered before an interruption: other
    batches would give other last digits.

    Attributes:
        prompts: instances as `tables.instances.read_requests` returns them, with `key`.
        is_answered: whether an earlier run has answered each prompt; such a prompt only fills its
            batch.
    """

    prompts: pl.DataFrame
    is_answered: pl.Series

    @classmethod
    def without_answers(cls, prompts: pl.DataFrame) -> PromptPart:
        """Returns a part of which no prompt is answered yet."""
        return cls(prompts, pl.repeat(False, len(prompts), eager=True))

    @property
    def unanswered(self) -> pl.DataFrame:
        """The prompts without an answer, for back ends that answer each prompt by itself."""
        return self.prompts.filter(~self.is_answered)


class Audit(Protocol):
    """A check of a back end's answers, such as a sample of exact ones."""

    def compare(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Returns facts for the provenance, such as how far answers are from exact ones.

        Args:
            answers: the answers to all prompts that the back end was opened with, by instance.

        Raises:
            ModelError: they are further away than rounding explains.
        """


class BackEnd(ABC):
    """Answers prompts; there is a subclass for each task and source.

    Attributes:
        Choices: the settings that decide the answers: a dataclass, called with the keys of
            `InferenceSettings.choices`. The default takes any keys.
        READS: columns of instances that it needs besides those that all back ends read. Only for
            back ends that look answers up; a family may lack them.
        device: `cpu`, `server` or the name of a GPU.
        audit: a check of its answers; None without one.
        keeps_answers: whether it stores each answer itself, as soon as it has it.
        inputs: what it has read for the answers that `answer` has yielded so far; None if it cannot
            know.
        answered_as: the names under which an endpoint has given these answers; empty for others.
    """

    Choices: ClassVar[type[Any]] = SimpleNamespace
    READS: ClassVar[Sequence[str]] = ()
    device: str = "cpu"
    audit: Audit | None = None
    keeps_answers: ClassVar[bool] = False
    inputs: InputCounts | None = None
    answered_as: AbstractSet[str] = frozenset()

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers, besides the record and the task.

        The answer store is named by them, so that a back end with other facts never finds these
        answers. The provenance contains them.

        Args:
            record: see `open`.
            settings: see `open`.
        """
        return dict(vars(cls.Choices(**settings.choices)))

    @classmethod
    @abstractmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Returns a back end that is ready to answer.

        Args:
            record: the model's record, which rule fetch made; see `checkpoints.fetch.make_record`
                and, for a model without a checkpoint, `make_keys_record`.
            settings: how to answer.
            prompts: all prompts that will be answered, as in `PromptPart`.

        Raises:
            ModelError: the model cannot be used for these prompts.
        """

    @abstractmethod
    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts in their order; it may read some parts ahead.

        Args:
            parts: parts of the prompts that it was opened with.

        Yields:
            Answers in any order: `instance`, `key`, and columns of the answer kind; a missing
            column counts as null. Each prompt without an answer is answered once.

        Raises:
            KeyboardInterrupt: the job was told to end. All finished answers are yielded before.
        """

    def close(self) -> None:  # noqa: B027
        """Releases its resources; called once, also after an error."""

    @property
    def gpu_peak_mb(self) -> int | None:
        """The most GPU memory that it used, in MB; None without a GPU."""
        return None


def with_instance_and_key(prompts: pl.DataFrame, columns: pl.DataFrame) -> pl.DataFrame:
    """Returns columns of answers behind `instance` and `key` of their prompts.

    Args:
        prompts: the prompts.
        columns: one row for each prompt, in the same order.
    """
    return prompts.select("instance", "key").hstack(columns)


def tables_at_intervals(
    steps: Iterable[object], take_answers: Callable[[], pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Works through steps, and yields their answers about every `SECONDS_BETWEEN_TABLES`.

    Args:
        steps: the work, a batch or a text at a time.
        take_answers: returns the answers since its last call. An empty table, with any columns,
            is not yielded.

    Raises:
        KeyboardInterrupt: the job was told to end; the answers so far are yielded first.
    """
    for _ in pauses(steps):
        answers = take_answers()
        if len(answers):
            yield answers


def pauses(steps: Iterable[object]) -> Iterator[None]:
    """Works through steps; yields every `SECONDS_BETWEEN_TABLES`, and at the end.

    An interruption counts as an end: it yields once more, then raises KeyboardInterrupt.
    """
    previous = time.monotonic()
    try:
        for _ in steps:
            if time.monotonic() - previous >= SECONDS_BETWEEN_TABLES:
                yield
                previous = time.monotonic()
    except KeyboardInterrupt:
        yield
        raise
    yield


def columns_with_prefix(instances: pl.DataFrame, prefix: str) -> list[str]:
    """Returns the columns `{prefix}1`, `{prefix}2` and so on, in the order of the table."""
    return [name for name in instances.columns if name.removeprefix(prefix).isdigit()]


def to_list_column(
    name: str,
    values: npt.NDArray[Any],
    has_value: npt.NDArray[np.bool_],
    dtype: type[pl.DataType],
) -> pl.Series:
    """Returns a column of lists, one element for each candidate.

    Args:
        name: the column's name.
        values: shape (instances, candidates).
        has_value: shape (instances, candidates); where it is False, the element is null.
        dtype: the type of the elements.
    """
    if not values.shape[1]:
        return pl.Series(name, [[]] * len(values), pl.List(dtype))
    flat = pl.DataFrame(
        {name: values.ravel(), "has_value": has_value.ravel()}, schema_overrides={name: dtype}
    )
    elements = flat.select(pl.when("has_value").then(name)).to_series()
    return elements.reshape(values.shape).arr.to_list()
