"""A back end: anything that answers prompts.

The loop that calls it (`models.predict`) keeps the answers, counts them and compares the audit.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.inference.engine.settings import InferenceSettings

SECONDS_BETWEEN_TABLES = 1.0
"""Answers are handed over so often: a table for each batch would take longer than a small model."""


class PromptPart(NamedTuple):
    """Prompts that are asked together.

    Batches are made of all of them, also where some were answered before an interruption: other
    batches would give other last digits.

    Attributes:
        prompts: instances as `tables.instances.read_requests` gives them, with `key`.
        is_answered: whether an earlier run has answered each; such a prompt only fills its batch.
    """

    prompts: pl.DataFrame
    is_answered: pl.Series

    @classmethod
    def of(cls, prompts: pl.DataFrame) -> PromptPart:
        """Returns prompts of which none is answered."""
        return cls(prompts, pl.repeat(False, len(prompts), eager=True))

    @property
    def unanswered(self) -> pl.DataFrame:
        """The prompts without an answer, for back ends that ask each prompt by itself."""
        return self.prompts.filter(~self.is_answered)


class Audit(Protocol):
    """Answers to a sample, exact and without shortcuts, or a count of them."""

    def compare(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Returns how far answers are from the audit, as it stands in provenance.

        Args:
            answers: the answers to everything that the back end was opened with, by instance.

        Raises:
            ModelError: they are further away than rounding explains.
        """


class BackEnd(ABC):
    """Answers prompts; a subclass for each task and source.

    Attributes:
        Choices: the options of the question that decide its answers: a dataclass that is called
            with `InferenceSettings.choices` by name. The default takes any.
        READS: columns of instances that it is given beside the ones that all models read, if a
            family has them: only for answers that are there, to find them by.
        device: what it computes on: `cpu`, `server` or the name of a GPU.
        audit: a check of its answers; None without one.
        keeps_answers: whether it stores each answer itself, as soon as it has it.
    """

    Choices: ClassVar[type[Any]] = SimpleNamespace
    READS: ClassVar[Sequence[str]] = ()
    device: str = "cpu"
    audit: Audit | None = None
    keeps_answers: ClassVar[bool] = False

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the facts that decide the answers, beside the record and the task.

        They name the store of answers, so that another identity never finds these answers, and
        stand in their provenance.

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
        """Makes ready to answer.

        Args:
            record: the record of the model that rule fetch made, of a checkpoint or of the keys
                that the model's section has in place of one.
            settings: how to answer.
            prompts: all that will be asked, as in `PromptPart`.

        Raises:
            ModelError: the model cannot be used for these prompts.
        """

    @abstractmethod
    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Answers parts, one after the other; it may take some more before it answers the first.

        Args:
            parts: prompts from those that it was opened with.

        Yields:
            Answers as they come, in any order: `instance`, `key`, and columns of the answer kind;
            missing columns are null. Each prompt without an answer is answered once.

        Raises:
            KeyboardInterrupt: the job was told to end. All that was answered is yielded before.
        """

    def close(self) -> None:  # noqa: B027
        """Releases what it holds; called once, however the work has ended."""

    @property
    def gpu_peak_mb(self) -> int | None:
        """The most memory of a GPU that it used, in MB; None without one."""
        return None


def with_instance_and_key(prompts: pl.DataFrame, columns: pl.DataFrame) -> pl.DataFrame:
    """Returns columns of answers with the `instance` and `key` of the prompts, row by row."""
    return prompts.select("instance", "key").hstack(columns)


def tables_at_intervals(
    steps: Iterable[object], take: Callable[[], pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Yields the answers that steps have given, about every `SECONDS_BETWEEN_TABLES`.

    Args:
        steps: the work, a batch or a text at a time.
        take: returns the answers since it was called last, which may be none.

    Raises:
        KeyboardInterrupt: the job was told to end; the answers so far are yielded first.
    """
    for _ in pauses(steps):
        table = take()
        if len(table):
            yield table


def pauses(steps: Iterable[object]) -> Iterator[None]:
    """Yields between steps that are `SECONDS_BETWEEN_TABLES` apart, at their end and, before it is
    raised, at an interruption.
    """
    last = time.monotonic()
    try:
        for _ in steps:
            if time.monotonic() - last >= SECONDS_BETWEEN_TABLES:
                yield
                last = time.monotonic()
    except KeyboardInterrupt:
        yield
        raise
    yield


def columns_with_prefix(asked: pl.DataFrame, what: str) -> list[str]:
    """Returns the columns of all candidates, or of all positions, from the first on."""
    return [name for name in asked.columns if name.removeprefix(what).isdigit()]


def to_list_column(
    name: str, values: npt.NDArray[Any], known: npt.NDArray[np.bool_], kind: type[pl.DataType]
) -> pl.Series:
    """Puts what is known of candidates into a list for each instance.

    Args:
        name: the column's name.
        values: shape (instances, candidates).
        known: shape (instances, candidates), False where there is none; null stands there.
        kind: the type of the values.
    """
    if not values.shape[1]:
        return pl.Series(name, [[]] * len(values), pl.List(kind))
    flat = pl.DataFrame(
        {name: values.ravel(), "known": known.ravel()}, schema_overrides={name: kind}
    )
    return flat.select(pl.when("known").then(name)).to_series().reshape(values.shape).arr.to_list()
