"""Answers that were made elsewhere, in place of a model: found by what was asked, about which group, for which time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from biasgrid.checkpoints.checkpoint import ModelError
from biasgrid.engine.back_end import BackEnd
from biasgrid.engine.settings import Settings
from biasgrid.faults import InputError
from biasgrid.given_answers import cut, read_given
from biasgrid.jobs.progress import Progress

PROMPTS = ("original", "text")
"""Where a prompt of the file stands in instances: as it was before it was rewritten, or as it is asked."""
ALIKE = ("group", "repetition")
"""What must be the same, where instances have it."""


@dataclass(frozen=True)
class GivenChoices:
    """What decides the answers beside the file: nothing."""


@dataclass(frozen=True)
class GivenAnswers(BackEnd):
    """Answers from a file.

    Attributes:
        responses: `instance` and `response` of what is asked.
    """

    responses: pl.DataFrame

    Choices = GivenChoices
    READS = ("original", *ALIKE)

    @classmethod
    def open(cls, record: Mapping[str, Any], settings: Settings, instances: pl.DataFrame) -> Self:
        """Reads the file and finds the answers.

        Raises:
            InputError: the file has faults.
            ModelError: something that is asked has no answer.
        """
        path = Path(record["keys"]["answers"])
        given, faults = read_given(path)
        if faults:
            raise InputError(faults)
        table = pl.DataFrame(given, schema=["prompt", "group", "repetition", "response", "where"], orient="row")
        found = answers_of(table, instances)
        missing = instances.join(found, on="instance", how="anti")
        if len(missing):
            example = cut(str(missing[next(name for name in PROMPTS if name in missing.columns)][0]))
            raise ModelError(
                f"{path}: {len(missing):,} of {len(instances):,} prompts have no answer, the first of them {example}; "
                "expected a row for each prompt, group and repetition of the dataset"
            )
        return cls(found)

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Returns the answers to some instances."""
        progress.advance(len(instances))
        said = instances.select("instance").join(self.responses, on="instance", maintain_order="left")
        is_empty = pl.col("response").str.strip_chars() == ""
        status = pl.when(is_empty).then(pl.lit("empty")).otherwise(pl.lit("ok")).cast(pl.Categorical)
        return said.select("response", status=status)


def answers_of(given: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Finds the answers to instances.

    Args:
        given: `prompt`, `group`, `repetition` and `response`.
        instances: with `text` and those of `READS` that their family has.

    Returns:
        `instance` and `response` of those that have an answer.
    """
    alike = [name for name in ALIKE if name in instances.columns]
    texts = [name for name in PROMPTS if name in instances.columns]
    asked = instances.select(
        "instance", *(pl.col(name).cast(pl.String) for name in texts), *(pl.col(name).cast(pl.String) for name in alike)
    )
    told = given.with_columns(pl.col("repetition").cast(pl.String)).unique(["prompt", *alike], maintain_order=True)
    found = [
        asked.join(told, left_on=[text, *alike], right_on=["prompt", *alike]).select("instance", "response")
        for text in texts
    ]
    return pl.concat(found).unique("instance", keep="first", maintain_order=True)
