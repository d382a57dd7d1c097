"""Answers that were made elsewhere, in place of a model: found by what was asked, about which group, for which time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.precomputed_file import read_precomputed, shorten_prompt
from biasgrid.base.sections import Model
from biasgrid.inference.engine.back_end import BackEnd
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.prompts import as_text, request_texts
from biasgrid.jobs.progress import Progress

PROMPT_COLUMNS = ("item_id", "original", "with_system", "whole")
"""What a prompt of the file may be: the id of an item of a benchmark; as it was before it was rewritten; or all that is
asked, with or without the system text, which is often the same for all."""
MATCHING_KEYS = ("group", "repetition")
"""What must be the same, where instances have it."""


@dataclass(frozen=True)
class PrecomputedChoices:
    """What decides the answers beside the file: nothing."""


@dataclass(frozen=True)
class PrecomputedAnswers(BackEnd):
    """Answers from a file.

    Attributes:
        responses: `instance` and `response` of what is asked.
    """

    responses: pl.DataFrame

    Choices = PrecomputedChoices
    READS = ("item_id", "original", *MATCHING_KEYS)

    @classmethod
    def open(cls, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame) -> Self:
        """Reads the file and finds the answers.

        Raises:
            InputError: the file has faults, or something that is asked has no answer.
        """
        found, faults = match_answers(Path(record["keys"]["answers"]), instances)
        if faults:
            raise InputError(faults)
        return cls(found)

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Returns the answers to some instances."""
        progress.advance(len(instances))
        said = instances.select("instance").join(self.responses, on="instance", maintain_order="left")
        is_empty = pl.col("response").str.strip_chars() == ""
        status = pl.when(is_empty).then(pl.lit("empty")).otherwise(pl.lit("ok")).cast(pl.Categorical)
        return said.select("response", status=status)


def precomputed_answer_faults(section: Model, instances: pl.DataFrame) -> list[Fault]:
    """Returns what keeps the file of a model from answering some instances: what its job would refuse."""
    (file,) = section.source.files().values()
    return match_answers(Path(file), instances)[1]


def match_answers(path: Path, instances: pl.DataFrame) -> tuple[pl.DataFrame, list[Fault]]:
    """Finds the answers of a file to instances.

    Returns:
        `instance` and `response`, and what is wrong with the file or lacks an answer.
    """
    given, faults = read_precomputed(path)
    if faults:
        return pl.DataFrame(), faults
    table = pl.DataFrame(given, schema=["prompt", "group", "repetition", "response", "where"], orient="row")
    asked = with_whole_prompts(instances)
    found = answers_to_instances(table, asked)
    missing = asked.join(found, on="instance", how="anti")
    if len(missing):
        shown = "original" if "original" in missing.columns else "whole"
        example = shorten_prompt(str(missing[shown][0]))
        problem = f"{len(missing):,} of {len(instances):,} prompts have no answer, the first of them {example}"
        faults.append(Fault(str(path), "", problem, "a row for each prompt, group and repetition of the dataset"))
    several = found.filter(pl.len().over("instance") > 1).join(asked, on="instance", maintain_order="left")
    if len(several):
        prompt = shorten_prompt(str(several["whole"][0]))
        problem = f"{prompt} has several answers, of groups that the dataset does not tell apart"
        faults.append(Fault(str(path), "", problem, "one answer for each prompt and repetition"))
    return found, faults


def with_whole_prompts(instances: pl.DataFrame) -> pl.DataFrame:
    """Adds all that is asked of each instance, with the system text and without it."""
    texts = [*request_texts(instances)]
    return instances.with_columns(
        with_system=pl.Series([as_text(*each) for each in texts], dtype=pl.String),
        whole=pl.Series([text for _, text in texts], dtype=pl.String),
    )


def answers_to_instances(given: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Finds the answers to instances.

    Args:
        given: `prompt`, `group`, `repetition` and `response`.
        instances: from `with_whole_prompts`, with those of `READS` that their family has.

    Returns:
        `instance` and `response` of those that have an answer; several of instances without a group, where the file has
        different answers for several groups.
    """
    named = [name for name in (*PROMPT_COLUMNS, *MATCHING_KEYS) if name in instances.columns]
    asked = instances.select("instance", *(pl.col(name).cast(pl.String) for name in named))
    told = given.with_columns(pl.col("repetition").cast(pl.String))
    known = [name for name in MATCHING_KEYS if name in named]
    # Of a family with groups some instances may have none.
    ways = [(asked, known)]
    if "group" in known:
        ways = [(asked.drop_nulls("group"), known), (asked.filter(pl.col("group").is_null()), ["repetition"])]
    found = [
        rows.join(told, left_on=[text, *alike], right_on=["prompt", *alike], maintain_order="left").select(
            "instance", "response", by=pl.lit(text)
        )
        for text in PROMPT_COLUMNS
        if text in named
        for rows, alike in ways
    ]
    # An answer to the prompt as it was before it was rewritten comes first.
    every = pl.concat(found)
    first = every.unique("instance", keep="first", maintain_order=True)
    return every.join(first, on=["instance", "by"], how="semi").drop("by").unique(maintain_order=True)
