"""What the shard loop needs of a back end: `open`, `answer`, `close`. It may be anything that
answers.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.jobs.progress import Progress


class BackEnd(ABC):
    """Answers what is asked; a subclass for each task and source.

    Attributes:
        Choices: what decides its answers beside model and question: called with `Settings.choices`
            by name, it gives an object that has `__dict__`, such as a dataclass.
        READS: columns of instances that it is given beside those that all models read, where a
            family has them: only for answers that are there, to find them by.
    """

    Choices: ClassVar[type[Any]]
    READS: ClassVar[Sequence[str]] = ()

    @classmethod
    def decisive(cls, settings: InferenceSettings) -> dict[str, Any]:
        """Returns what decides the answers; it names the store of answers and stands in their
        provenance.
        """
        return dict(vars(cls.Choices(**settings.choices)))

    @classmethod
    def facts(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns what else the provenance of the answers tells; it follows from record and
        settings.
        """
        return {}

    @classmethod
    def runs_on(cls, settings: InferenceSettings) -> str:
        """Names what it computes on."""
        return "cpu"

    @classmethod
    @abstractmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
    ) -> Self:
        """Makes ready to answer.

        Args:
            record: what the model is: the record that rule fetch made, of a checkpoint or of the
                model's own keys.
            settings: how to answer.
            instances: all that will be asked, as `tables.instances.read_requests` gives it.

        Raises:
            ModelError: the model cannot be used for these instances.
        """

    def reopen(
        self, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame
    ) -> Self:
        """Makes ready to answer other instances of the same model, after `release`.

        Args:
            record: see `open`.
            settings: see `open`; what decides the answers is as before, but for their kind.
            instances: see `open`.

        Returns:
            What answers them: without a method of its own a back end is opened anew.

        Raises:
            ModelError: see `open`.
        """
        return self.open(record, settings, instances)

    @abstractmethod
    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Answers some instances.

        Args:
            instances: some of those that it was opened with.
            progress: to be told of instances as they are answered, with `advance`.

        Returns:
            The columns of the answer kind beside `instance` and `key`, in the order of the
            instances; columns of which nothing is said may be missing.
        """

    def answer_parts(
        self, parts: Iterable[pl.DataFrame], progress: Progress
    ) -> Generator[pl.DataFrame]:
        """Answers parts, one after the other; it may take some more before it has answered the
        first.

        Args:
            parts: instances, each part as `answer` takes them.
            progress: see `answer`.

        Yields:
            What `answer` returns of each part, in their order.
        """
        for instances in parts:
            yield self.answer(instances, progress)

    def release(self) -> None:  # noqa: B027
        """Lets go of what it holds; called at the end, however the work has ended."""

    def close(self, answers: pl.DataFrame) -> dict[str, Any]:
        """Ends the work.

        Args:
            answers: all that it has answered of what it was opened with, in this run and in earlier
                ones, by number.

        Returns:
            The `audit` of the answers, where there is one, and the most memory of the GPU as
            `gpu_peak_mb`.
        """
        return {}


class Opener:
    """Opens the back end of one model for shard after shard, and keeps it: what is loaded is not
    loaded again.
    """

    def __init__(self) -> None:
        """Opens nothing yet."""
        self.last: BackEnd | None = None

    def open(
        self,
        back_end: type[BackEnd],
        record: Mapping[str, Any],
        settings: InferenceSettings,
        instances: pl.DataFrame,
    ) -> BackEnd:
        """Makes ready to answer a shard; see `BackEnd.open` and `BackEnd.reopen`."""
        open_it = self.last.reopen if self.last else back_end.open
        self.last = open_it(record, settings, instances)
        return self.last


def numbered_values(asked: pl.DataFrame, what: str) -> list[str]:
    """Returns the columns of all candidates, or of all positions, from the first on."""
    return [name for name in asked.columns if name.removeprefix(what).isdigit()]


def lists_of(
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
