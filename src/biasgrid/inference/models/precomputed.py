"""Answers that were made elsewhere, in place of a model: found by what was asked, about which group, for which time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.base.faults import Fault, InputError, first_few
from biasgrid.base.precomputed_file import PrecomputedResponse, read_precomputed, shorten_prompt
from biasgrid.base.sections import Model
from biasgrid.inference.engine.back_end import BackEnd, lists_of, numbered_values
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.prompts import as_text, request_texts
from biasgrid.jobs.progress import Progress

PROMPT_COLUMNS = ("item_id", "original", "with_system", "whole")
"""What a prompt of the file may be: the id of an item of a benchmark; as it was before it was rewritten; or all that is
asked, with or without the system text, which is often the same for all."""
MATCHING_KEYS = ("group", "repetition")
"""What must be the same, where instances have it."""
CHOICE = "choice"
IMPORTED = "imported"
"""How options were scored: by another project, whose log has their log-likelihoods."""
SMALLEST_PROBABILITY = float(np.finfo(np.float32).tiny)


@dataclass(frozen=True)
class PrecomputedChoices:
    """What decides the answers beside the file: nothing."""


@dataclass(frozen=True)
class PrecomputedAnswers(BackEnd):
    """Answers from a file.

    Attributes:
        responses: `instance`, `response` and `scores` of what is asked.
        answer_kind: `choice` or `text`.
    """

    responses: pl.DataFrame
    answer_kind: str

    Choices = PrecomputedChoices
    READS = ("item_id", "original", *MATCHING_KEYS)

    @classmethod
    def open(cls, record: Mapping[str, Any], settings: InferenceSettings, instances: pl.DataFrame) -> Self:
        """Reads the file and finds the answers.

        Raises:
            InputError: the file has faults, or something that is asked has no answer.
        """
        found, faults = match_answers(Path(record["keys"]["answers"]), instances, settings.answer)
        if faults:
            raise InputError(faults)
        return cls(found, settings.answer)

    @classmethod
    def facts(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Says which logs the answers are from, each once."""
        given, _ = read_precomputed(Path(record["keys"]["answers"]))
        sources = [dict(answer.source) for answer in given if answer.source]
        return {"logs": [one for place, one in enumerate(sources) if one not in sources[:place]]} if sources else {}

    def answer(self, instances: pl.DataFrame, progress: Progress) -> pl.DataFrame:
        """Returns the answers to some instances."""
        progress.advance(len(instances))
        said = instances.select("instance").join(self.responses, on="instance", maintain_order="left")
        if self.answer_kind == CHOICE:
            return choices_of(instances, said["scores"].to_list())
        is_empty = pl.col("response").str.strip_chars() == ""
        status = pl.when(is_empty).then(pl.lit("empty")).otherwise(pl.lit("ok")).cast(pl.Categorical)
        return said.select("response", status=status)


def choices_of(instances: pl.DataFrame, scores: Sequence[Mapping[str, float]]) -> pl.DataFrame:
    """Returns the probabilities of candidates whose log-likelihoods another project has written down.

    Long options have smaller likelihoods than a column of probabilities can hold. Where the largest is smaller, all are
    divided by it: what is made of answers are the shares of their candidates.
    """
    names = numbered_values(instances, "candidate")
    options = instances.select(pl.col(names).cast(pl.String)).rows()
    rows = [[one.get(text, -np.inf) for text in texts] for one, texts in zip(scores, options, strict=True)]
    logs: FloatArray = np.array(rows, dtype=np.float64).reshape(len(rows), len(names))
    known = instances.select(pl.col(names).is_not_null()).to_numpy()
    largest = logs.max(axis=1, keepdims=True, initial=-np.inf)
    shift = np.where(np.isfinite(largest) & (largest < np.log(SMALLEST_PROBABILITY)), largest, 0)
    mass = np.exp(logs).sum(axis=1).clip(max=1)
    return pl.DataFrame(
        [
            lists_of("probabilities", np.exp(logs - shift), known, pl.Float32),
            pl.Series("mass", mass, dtype=pl.Float32),
            pl.repeat(IMPORTED, len(instances), eager=True).cast(pl.Categorical).alias("scored_by"),
        ]
    )


def precomputed_answer_faults(section: Model, instances: pl.DataFrame, answer: str) -> list[Fault]:
    """Returns what keeps the file of a model from answering some instances: what its job would refuse."""
    (file,) = section.source.files().values()
    return match_answers(Path(file), instances, answer)[1]


def match_answers(path: Path, instances: pl.DataFrame, answer: str) -> tuple[pl.DataFrame, list[Fault]]:
    """Finds the answers of a file to instances.

    Args:
        path: the file.
        instances: what is asked.
        answer: the kind of the answers, `choice` or `text`.

    Returns:
        `instance`, `response` and `scores`, and what is wrong with the file or lacks an answer.
    """
    given, faults = read_precomputed(path)
    return (pl.DataFrame(), faults) if faults else match_responses(path, given, instances, answer)


def match_responses(
    path: Path, given: Sequence[PrecomputedResponse], instances: pl.DataFrame, answer: str
) -> tuple[pl.DataFrame, list[Fault]]:
    """Finds responses to instances; see `match_answers`."""
    faults: list[Fault] = []
    # Where rows say the same, it does not matter which of them is meant.
    first = {response_content(response): place for place, response in reversed([*enumerate(given)])}
    named = [(*response[:4], first[response_content(response)]) for response in given]
    table = pl.DataFrame(named, schema=["prompt", "group", "repetition", "response", "place"], orient="row")
    asked = with_whole_prompts(instances)
    found = answers_to_instances(table, asked)
    missing = asked.join(found, on="instance", how="anti")
    if len(missing):
        shown = "original" if "original" in missing.columns else "whole"
        example = shorten_prompt(str(missing[shown][0]))
        problem = f"{len(missing):,} of {len(instances):,} prompts have no answer; the first one is {example}"
        faults.append(Fault(str(path), "", problem, "a row for each prompt, group and repetition of the dataset"))
    several = found.filter(pl.len().over("instance") > 1).join(asked, on="instance", maintain_order="left")
    if len(several):
        prompt = shorten_prompt(str(several["whole"][0]))
        problem = f"{prompt} has several answers from groups that the dataset does not distinguish"
        faults.append(Fault(str(path), "", problem, "one answer for each prompt and repetition"))
    scores = pl.Series("scores", [given[place].scores for place in found["place"]], dtype=pl.Object)
    if not faults:
        answers = [given[place] for place in found["place"]]
        faults += (
            choice_faults(path, asked, found["instance"].to_list(), answers)
            if answer == CHOICE
            else written_faults(path, answers)
        )
    return found.drop("place").with_columns(scores), faults


def response_content(response: PrecomputedResponse) -> tuple[str, frozenset[tuple[str, float]]]:
    """Returns what a response says."""
    return response.response, frozenset((response.scores or {}).items())


def written_faults(path: Path, answers: Sequence[PrecomputedResponse]) -> Iterator[Fault]:
    """Yields the first answer that has log-likelihoods and no text, where texts are read."""
    for one in answers:
        if one.scores and not one.response:
            problem = "log-likelihoods of options, but the dataset needs written answers"
            yield Fault(str(path), f"{one.where}, scores", problem, "a `response`, or `answers: scored` in the dataset")
            return


def choice_faults(
    path: Path, instances: pl.DataFrame, numbers: Sequence[int], answers: Sequence[PrecomputedResponse]
) -> Iterator[Fault]:
    """Yields the first answer that lacks the log-likelihood of an option.

    Args:
        path: the file of the answers.
        instances: what is asked.
        numbers: the instance that each answer is to.
        answers: those that were found.
    """
    names = numbered_values(instances, "candidate")
    rows = instances.select("instance", pl.col(names).cast(pl.String)).rows()
    options = {number: list(filter(None, texts)) for number, *texts in rows}
    for number, one in zip(numbers, answers, strict=True):
        if not one.scores:
            problem = "no log-likelihoods of options, which the dataset needs"
            expected = "a log-likelihood for each option, or `answers: written` in the dataset"
            yield Fault(str(path), f"{one.where}, scores", problem, expected)
            return
        if lacking := [text for text in options[number] if text not in one.scores]:
            problem = f"no log-likelihood of the option {lacking[0]!r}"
            yield Fault(
                str(path),
                f"{one.where}, scores",
                problem,
                f"the options of the dataset; it has {first_few([*map(repr, one.scores)])}",
            )
            return


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
        given: `prompt`, `group`, `repetition` and what is known of each response.
        instances: from `with_whole_prompts`, with those of `READS` that their family has.

    Returns:
        `instance` and what is known of the responses of those that have one; several of instances without a group,
        where the file has different answers for several groups.
    """
    named = [name for name in (*PROMPT_COLUMNS, *MATCHING_KEYS) if name in instances.columns]
    asked = instances.select("instance", *(pl.col(name).cast(pl.String) for name in named))
    known_of_each = [name for name in given.columns if name not in ("prompt", *MATCHING_KEYS)]
    told = given.with_columns(pl.col("repetition").cast(pl.String))
    known = [name for name in MATCHING_KEYS if name in named]
    # Of a family with groups some instances may have none.
    ways = [(asked, known)]
    if "group" in known:
        ways = [(asked.drop_nulls("group"), known), (asked.filter(pl.col("group").is_null()), ["repetition"])]
    found = [
        rows.join(told, left_on=[text, *alike], right_on=["prompt", *alike], maintain_order="left").select(
            "instance", *known_of_each, by=pl.lit(text)
        )
        for text in PROMPT_COLUMNS
        if text in named
        for rows, alike in ways
    ]
    # An answer to the prompt as it was before it was rewritten comes first.
    every = pl.concat(found)
    first = every.unique("instance", keep="first", maintain_order=True)
    return every.join(first, on=["instance", "by"], how="semi").drop("by").unique(maintain_order=True)
