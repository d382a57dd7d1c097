"""Answers computed elsewhere, in place of a model: found by what was asked, about which group, for
which time.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

import polars as pl

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.precomputed_file import PrecomputedResponse, read_precomputed, shorten_prompt
from biasgrid.base.sections import Model
from biasgrid.inference.engine.back_end import BackEnd, PromptPart, with_instance_and_key
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.generation.prompts import as_text, request_texts
from biasgrid.inference.models.precomputed_kinds import KINDS, Answered, ChoiceKind

ITEM_COLUMN = "item_id"
"""The column of instances with the id of an item of a benchmark."""
PROMPT_TEXTS = ("original", "with_system", "whole")
"""Columns with prompts: before rewriting, and the whole request with and without the system text,
which is often the same for all.
"""
PROMPT_COLUMNS = (ITEM_COLUMN, *PROMPT_TEXTS)
"""Columns of instances in which a prompt of the file is looked up, in this order."""
TEXT_AND_PAIR = "pair"
"""Text and second text apart, as rows with a `text_pair` have them."""
SEPARATOR = "\0"
"""Stands between both."""
REPETITION = "repetition"
MATCHING_KEYS = ("group", REPETITION)
"""What must be the same, where instances have it and the row says it."""
LABELS = "labels"
"""The choice that names the classes of a classifier."""


PSEUDO_LIKELIHOODS = "fill-mask"
"""The task of models whose options of several tokens may have more than 1 together."""


class AnswerNeeds(NamedTuple):
    """What a dataset needs of answers.

    Attributes:
        task: the task of the model.
        answer: the kind of the answers, a module of `tables.answers`.
        classes: what the file calls the classes of a classifier, in any order.
    """

    task: str
    answer: str
    classes: Sequence[str] = ()


@dataclass(frozen=True)
class PrecomputedAnswers(BackEnd):
    """Answers from a file.

    Attributes:
        places: `instance` and `place`, the place of its answer in `responses`.
        responses: the answers of the file.
        settings: how to answer.
    """

    places: pl.DataFrame
    responses: Sequence[PrecomputedResponse]
    settings: InferenceSettings

    READS = ("item_id", "original", *MATCHING_KEYS)

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns how the dataset asks, and the logs that the answers are from, each once; the
        record has the file.
        """
        responses, _ = read_precomputed(Path(record["keys"]["answers"]))
        logs: list[dict[str, Any]] = []
        for response in responses:
            if response.source and dict(response.source) not in logs:
                logs.append(dict(response.source))
        return {**settings.choices, **({"logs": logs} if logs else {})}

    @classmethod
    def open(
        cls, record: Mapping[str, Any], settings: InferenceSettings, prompts: pl.DataFrame
    ) -> Self:
        """Reads the file and finds the answers.

        Raises:
            InputError: the file has faults, or something that is asked has no answer.
        """
        path = Path(record["keys"]["answers"])
        responses, faults = read_precomputed(path)
        if faults:
            raise InputError(faults)
        asks = AnswerNeeds(settings.task, settings.answer, settings.choices.get(LABELS, ()))
        places, faults = match_responses(path, responses, prompts, asks)
        if faults:
            raise InputError(faults)
        return cls(places, responses, settings)

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Yields the answers of the file."""
        kind = KINDS[self.settings.answer]
        for part in parts:
            prompts = part.unanswered
            named = prompts.select("instance")
            places = named.join(self.places, on="instance", maintain_order="left")["place"]
            responses = [self.responses[place] for place in places]
            options = kind.options(prompts, self.settings.choices.get(LABELS, ()))
            columns = kind.table(Answered(responses, options, self.settings))
            yield with_instance_and_key(prompts, columns)


def precomputed_answer_faults(section: Model, instances: pl.DataFrame, answer: str) -> list[Fault]:
    """Returns what keeps the file of a model from answering some instances: what its job would
    refuse.
    """
    (file,) = section.source.files().values()
    responses, faults = read_precomputed(Path(file))
    asks = AnswerNeeds(section.task, answer, [*section.labels.values()])
    return faults or match_responses(Path(file), responses, instances, asks)[1]


def match_responses(
    path: Path, given: Sequence[PrecomputedResponse], instances: pl.DataFrame, asks: AnswerNeeds
) -> tuple[pl.DataFrame, list[Fault]]:
    """Finds responses to instances.

    Args:
        path: the file of the responses, for messages.
        given: the responses.
        instances: what is asked.
        asks: what kind of answers the dataset needs.

    Returns:
        `instance` and the `place` of its answer in `given`, the first of those with the same
        content; and the faults: instances without an answer or with several that differ or, if
        there are none of these, answers of another kind. The table has each instance once only if
        there are no faults.
    """
    asked = with_whole_prompts(instances)
    found = answers_to_instances(table_of_responses(given), asked)
    faults = [*missing_answer_faults(path, asked, found)]
    if not faults:
        kind = KINDS[asks.answer]
        ordered = asked.join(found, on="instance", maintain_order="left")
        answers = [given[place] for place in ordered["place"]]
        options = kind.options(asked, asks.classes)
        faults = [*kind.faults(path, answers, options)]
        if isinstance(kind, ChoiceKind) and asks.task != PSEUDO_LIKELIHOODS:
            faults += kind.sum_faults(path, answers, options)
    return found, faults


def table_of_responses(given: Sequence[PrecomputedResponse]) -> pl.DataFrame:
    """Returns a table of responses: `prompt`, `group`, `repetition` and `place`.

    The place is that of the first response with the same content.
    """
    first_place: dict[Any, int] = {}
    rows = []
    for place, response in enumerate(given):
        # If rows have the same content, it does not matter which of them is meant.
        first = first_place.setdefault(response.answer, place)
        rows.append((prompt_key(response), response.group, response.repetition, first))
    schema = {"prompt": str, "group": str, REPETITION: int, "place": int}
    return pl.DataFrame(rows, schema=schema, orient="row")


def prompt_key(response: PrecomputedResponse) -> str:
    """Returns the key by which a response is found: its prompt, or both texts."""
    if response.text_pair is None:
        return response.prompt
    return f"{response.text_pair}{SEPARATOR}{response.prompt}"


def missing_answer_faults(path: Path, asked: pl.DataFrame, found: pl.DataFrame) -> Iterator[Fault]:
    """Yields a fault if instances have no answer, and one if they have several that differ.

    Args:
        path: the file of the responses.
        asked: the instances, from `with_whole_prompts`.
        found: `instance` of each response that was found.
    """
    missing = asked.join(found, on="instance", how="anti")
    if len(missing):
        column = "original" if "original" in missing.columns else "whole"
        example = shorten_prompt(str(missing[column][0]))
        problem = (
            f"{len(missing):,} of {len(asked):,} prompts have no answer; the first one is {example}"
        )
        expected = "a row for each prompt, group and repetition of the dataset"
        yield Fault(str(path), "", problem, expected)
    ambiguous = found.filter(pl.len().over("instance") > 1)
    several = ambiguous.join(asked, on="instance", maintain_order="left")
    if len(several):
        prompt = shorten_prompt(str(several["whole"][0]))
        problem = f"{prompt} has several answers from groups that the dataset does not distinguish"
        yield Fault(str(path), "", problem, "one answer for each prompt and repetition")


def with_whole_prompts(instances: pl.DataFrame) -> pl.DataFrame:
    """Adds the whole prompts of instances: both texts, `with_system` and `whole` without it."""
    prompts = [*request_texts(instances)]
    with_system = [as_text(system, text) for system, text in prompts]
    whole = [text for _, text in prompts]
    both_texts = pl.concat_str(pl.col("text_pair", "text").cast(pl.String), separator=SEPARATOR)
    return instances.with_columns(
        both_texts.alias(TEXT_AND_PAIR),
        with_system=pl.Series(with_system, dtype=pl.String),
        whole=pl.Series(whole, dtype=pl.String),
    )


def answers_to_instances(given: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Finds the answers to instances.

    Args:
        given: from `table_of_responses`: `prompt`, `group`, `repetition` and what is known of each
            response.
        instances: from `with_whole_prompts`, with those of `READS` that their family has.

    Returns:
        `instance` and what is known of the responses of those that have one; several of instances
        without a group, where the file has different answers for several groups.
    """
    prompt_columns = [name for name in (*PROMPT_COLUMNS, TEXT_AND_PAIR) if name in instances]
    keys_of_instances = [name for name in MATCHING_KEYS if name in instances]
    texts = pl.col(*prompt_columns, *keys_of_instances).cast(pl.String)
    asked = instances.select("instance", texts)
    responses = given.with_columns(pl.col(REPETITION).cast(pl.String))
    values = [name for name in given.columns if name not in ("prompt", *MATCHING_KEYS)]
    matches = []
    for column in prompt_columns:
        for place, (rows, candidates, keys) in enumerate(ways_to_match(asked, responses)):
            joined = rows.join(
                candidates,
                left_on=[column, *keys],
                right_on=["prompt", *keys],
                maintain_order="left",
            )
            matches.append(joined.select("instance", *values, by=pl.lit(f"{column} {place}")))
    # An answer to the prompt as it was before it was rewritten comes first.
    all_matches = pl.concat(matches)
    first = all_matches.unique("instance", keep="first", maintain_order=True)
    best = all_matches.join(first, on=["instance", "by"], how="semi")
    return best.drop("by").unique(maintain_order=True)


def ways_to_match(
    asked: pl.DataFrame, given: pl.DataFrame
) -> list[tuple[pl.DataFrame, pl.DataFrame, list[str]]]:
    """Returns the instances, responses and keys of each join; the first match counts.

    A response without a group answers instances of any group; an instance without a group takes
    any response.
    """
    repetition = [REPETITION] if REPETITION in asked.columns else []
    if "group" not in asked.columns:
        return [(asked, given, repetition)]
    with_group = asked.drop_nulls("group")
    without_group = asked.filter(pl.col("group").is_null())
    responses_without_group = given.filter(pl.col("group").is_null())
    return [
        (with_group, given, ["group", *repetition]),
        (with_group, responses_without_group, repetition),
        (without_group, given, repetition),
    ]
