"""Answers computed elsewhere, in place of a model; found by prompt, group and repetition."""

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
from biasgrid.inference.models.precomputed_kinds import KINDS, ChoiceKind, MatchedAnswers

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
"""Between both texts."""
REPETITION = "repetition"
MATCHING_KEYS = ("group", REPETITION)
"""Keys that must be equal if instances have them and the row has a value."""
LABELS = "labels"
"""The choice that names the classes of a classifier."""


PSEUDO_LIKELIHOODS = "fill-mask"
"""The task whose options may have a sum above 1, if they have several tokens."""


class AnswerNeeds(NamedTuple):
    """The answers that a dataset needs.

    Attributes:
        task: the task of the model.
        answer: the kind of answers, a module of `tables.answers`.
        classes: the file's names of the classes of a classifier, in any order; empty for other
            models.
    """

    task: str
    answer: str
    classes: Sequence[str] = ()


@dataclass(frozen=True)
class PrecomputedAnswers(BackEnd):
    """Answers from a file.

    Attributes:
        places: `instance` and `place`, the position of its answer in `responses`.
        responses: the answers of the file.
        settings: the settings of the shard.
    """

    places: pl.DataFrame
    responses: Sequence[PrecomputedResponse]
    settings: InferenceSettings

    READS = ("item_id", "original", *MATCHING_KEYS)

    @classmethod
    def identity(cls, record: Mapping[str, Any], settings: InferenceSettings) -> dict[str, Any]:
        """Returns the choices of the dataset and the logs that the answers come from, each once.

        The record has the digest of the file.
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
            InputError: the file has faults, or a prompt has no answer.
        """
        path = Path(record["keys"]["answers"])
        responses, faults = read_precomputed(path)
        if faults:
            raise InputError(faults)
        needs = AnswerNeeds(settings.task, settings.answer, settings.choices.get(LABELS, ()))
        places, faults = match_responses(path, responses, prompts, needs)
        if faults:
            raise InputError(faults)
        return cls(places, responses, settings)

    def answer(self, parts: Iterable[PromptPart]) -> Generator[pl.DataFrame]:
        """Yields the answers of the file."""
        kind = KINDS[self.settings.answer]
        for part in parts:
            prompts = part.unanswered
            instances = prompts.select("instance")
            places = instances.join(self.places, on="instance", maintain_order="left")["place"]
            responses = [self.responses[place] for place in places]
            options = kind.options(prompts, self.settings.choices.get(LABELS, ()))
            columns = kind.table(MatchedAnswers(responses, options, self.settings))
            yield with_instance_and_key(prompts, columns)


def precomputed_answer_faults(section: Model, instances: pl.DataFrame, answer: str) -> list[Fault]:
    """Returns the faults for which a model's job would refuse its file.

    Args:
        section: the model's section of the config.
        instances: the instances of a dataset.
        answer: the kind of answers that the dataset needs.
    """
    (file,) = section.source.files().values()
    responses, faults = read_precomputed(Path(file))
    needs = AnswerNeeds(section.task, answer, [*section.labels.values()])
    return faults or match_responses(Path(file), responses, instances, needs)[1]


def match_responses(
    path: Path,
    responses: Sequence[PrecomputedResponse],
    instances: pl.DataFrame,
    needs: AnswerNeeds,
) -> tuple[pl.DataFrame, list[Fault]]:
    """Finds responses to instances.

    Args:
        path: the file of the responses, for messages.
        responses: the responses.
        instances: the instances.
        needs: the answers that the dataset needs.

    Returns:
        `instance` and the `place` of its answer in `responses`, see `response_table`; and the
        faults: instances without an answer, or with several that differ. If there are none of
        these, answers of another kind are faults. The table has each instance once only if there
        are no faults.
    """
    prompts = with_whole_prompts(instances)
    places = match_prompts(response_table(responses), prompts)
    faults = [*missing_answer_faults(path, prompts, places)]
    if not faults:
        kind = KINDS[needs.answer]
        in_order = prompts.join(places, on="instance", maintain_order="left")
        answers = [responses[place] for place in in_order["place"]]
        options = kind.options(prompts, needs.classes)
        faults = [*kind.faults(path, answers, options)]
        if isinstance(kind, ChoiceKind) and needs.task != PSEUDO_LIKELIHOODS:
            faults += kind.sum_faults(path, answers, options)
    return places, faults


def response_table(responses: Sequence[PrecomputedResponse]) -> pl.DataFrame:
    """Returns a table of responses: `prompt`, `group`, `repetition` and `place`.

    The place is the position of the first response with the same content, so that copies of an
    answer do not look like several answers.
    """
    first_place: dict[Any, int] = {}
    rows = []
    for position, response in enumerate(responses):
        place = first_place.setdefault(response.answer, position)
        rows.append((prompt_key(response), response.group, response.repetition, place))
    schema = {"prompt": str, "group": str, REPETITION: int, "place": int}
    return pl.DataFrame(rows, schema=schema, orient="row")


def prompt_key(response: PrecomputedResponse) -> str:
    """Returns the key by which a response is found: its prompt, or both texts."""
    if response.text_pair is None:
        return response.prompt
    return f"{response.text_pair}{SEPARATOR}{response.prompt}"


def missing_answer_faults(
    path: Path, prompts: pl.DataFrame, places: pl.DataFrame
) -> Iterator[Fault]:
    """Yields a fault if instances have no answer, and one if they have several that differ.

    Args:
        path: the file of the responses.
        prompts: the instances, from `with_whole_prompts`.
        places: `instance` and `place` of each match, from `match_prompts`.
    """
    missing = prompts.join(places, on="instance", how="anti")
    if len(missing):
        column = "original" if "original" in missing.columns else "whole"
        example = shorten_prompt(str(missing[column][0]))
        share = f"{len(missing):,} of {len(prompts):,} prompts"
        problem = f"{share} have no answer; the first one is {example}"
        expected = "a row for each prompt, group and repetition of the dataset"
        yield Fault(str(path), "", problem, expected)
    several = places.filter(pl.len().over("instance") > 1)
    ambiguous = several.join(prompts, on="instance", maintain_order="left")
    if len(ambiguous):
        prompt = shorten_prompt(str(ambiguous["whole"][0]))
        problem = f"{prompt} has several answers from groups that the dataset does not distinguish"
        yield Fault(str(path), "", problem, "one answer for each prompt and repetition")


def with_whole_prompts(instances: pl.DataFrame) -> pl.DataFrame:
    """Adds the columns in which prompts are looked up: `pair`, `with_system` and `whole`."""
    prompts = [*request_texts(instances)]
    with_system = [as_text(system, text) for system, text in prompts]
    whole = [text for _, text in prompts]
    both_texts = pl.concat_str(pl.col("text_pair", "text").cast(pl.String), separator=SEPARATOR)
    return instances.with_columns(
        both_texts.alias(TEXT_AND_PAIR),
        with_system=pl.Series(with_system, dtype=pl.String),
        whole=pl.Series(whole, dtype=pl.String),
    )


def match_prompts(responses: pl.DataFrame, instances: pl.DataFrame) -> pl.DataFrame:
    """Finds the responses to instances.

    Args:
        responses: `prompt`, `group` and `repetition` of each, and further columns; see
            `response_table`.
        instances: from `with_whole_prompts`; also with the columns of `PrecomputedAnswers.READS`
            that their family has.

    Returns:
        `instance` and the further columns, one row per response. Instances without a response are
        absent. An instance without a group has several rows if the file has different responses
        for several groups.
    """
    prompt_columns = [name for name in (*PROMPT_COLUMNS, TEXT_AND_PAIR) if name in instances]
    instance_keys = [name for name in MATCHING_KEYS if name in instances]
    texts = pl.col(*prompt_columns, *instance_keys).cast(pl.String)
    prompts = instances.select("instance", texts)
    further_columns = [name for name in responses.columns if name not in ("prompt", *MATCHING_KEYS)]
    responses = responses.with_columns(pl.col(REPETITION).cast(pl.String))
    matches = []
    for column in prompt_columns:
        for position, (rows, candidates, keys) in enumerate(list_joins(prompts, responses)):
            matching_rows = rows.join(
                candidates,
                left_on=[column, *keys],
                right_on=["prompt", *keys],
                maintain_order="left",
            )
            by = pl.lit(f"{column} {position}")
            matches.append(matching_rows.select("instance", *further_columns, by=by))
    # Of an instance only the matches by its first column and join count: the id of an item before
    # a text, and the prompt before rewriting before the rewritten one.
    all_matches = pl.concat(matches)
    first = all_matches.unique("instance", keep="first", maintain_order=True)
    best = all_matches.join(first, on=["instance", "by"], how="semi")
    return best.drop("by").unique(maintain_order=True)


def list_joins(
    instances: pl.DataFrame, responses: pl.DataFrame
) -> list[tuple[pl.DataFrame, pl.DataFrame, list[str]]]:
    """Lists the joins that match instances and responses, in the order of precedence.

    A response without a group answers instances of any group; an instance without a group takes
    any response.

    Returns:
        For each join some instances, some responses, and the keys that must be equal.
    """
    repetition = [REPETITION] if REPETITION in instances.columns else []
    if "group" not in instances.columns:
        return [(instances, responses, repetition)]
    with_group = instances.drop_nulls("group")
    without_group = instances.filter(pl.col("group").is_null())
    responses_without_group = responses.filter(pl.col("group").is_null())
    return [
        (with_group, responses, ["group", *repetition]),
        (with_group, responses_without_group, repetition),
        (without_group, responses, repetition),
    ]
