"""Observations of answers: how each ended, its scores, and its similarity to others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.faults import InputError
from biasgrid.base.languages import ENGLISH_WORDS
from biasgrid.families.responses import sentiment_of
from biasgrid.families.rewriting.family import VADER_SCORERS
from biasgrid.families.rewriting.group_words import (
    NEUTRAL_GROUP,
    GroupWords,
    RewritingMode,
    read_group_words,
)
from biasgrid.families.rewriting.similarity import (
    LIST_SIMILARITIES,
    SIMILARITIES,
    Similarity,
    cosine_similarity,
)
from biasgrid.readers.reading import CUT_STATUS, REFUSAL_STATUSES
from biasgrid.readers.refusals import refusal_column

READ = ["instance", "prompt", "group", "repetition"]
"""Columns of instances that `observe` reads."""
SAID = ["instance", "status", "response"]
"""Columns of predictions that `observe` reads."""
SCORE_WITH_RESPONSE = "refused"
"""The score whose rows have the texts of answers, too."""
ENDINGS = ("refused", "cut_short", "empty")
"""Scores that say how an answer ended, 1 or 0."""
CUT_BY_SCORER = "cut_by_scorer"
"""The score that says whether a model read only the beginning of an answer."""
PAIR_OF_GROUPS = ("group", "other")
OTHER_ANSWER = {"instance": "other_instance", "group": "other", "text": "other_text"}
OBSERVATION_TYPES = pl.Schema(
    {
        "instance": pl.UInt32(),
        "other_instance": pl.UInt32(),
        "score": pl.Categorical(),
        "value": pl.Float64(),
        "prompt": pl.UInt32(),
        "group": pl.Categorical(),
        "other": pl.Categorical(),
        "repetition": pl.UInt16(),
        "response": pl.String(),
    }
)
"""Types of the columns of observations; see `observe`."""


def observe(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    measure_options: Mapping[str, Any],
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Scores each answer, and compares those to the same prompt.

    Args:
        instances: the instances.
        predictions: answers of the kind `text`, one for each instance.
        measure_options: see `measure.measure`.
        scorer_predictions: the answers of scorers and encoders that are models, by their names.

    Returns:
        A row for each score of an answer and each similarity of two answers to a prompt: `score`,
        its name; `value`, null if an answer declines or says nothing, never NaN; `instance`,
        `prompt`, `group` and `repetition` of the answer; `other_instance` and `other`, instance and
        group of the answer that it is compared with, null for scores; and in rows of the score
        `refused` the answer itself, `response`. Answers for the same group are the noise floor.
    """
    groups = read_cell_groups(measure_options)
    mode = RewritingMode.of(measure_options["mode"])
    answers = with_endings(instance_answers(instances, predictions), mode.finds_refusals)
    scorers = scorer_predictions or {}
    neutral = answers
    if measure_options["neutralise"]:
        neutral = neutralise_texts(answers, groups, mode)
    rows = [
        *answer_scores(answers, measure_options["scorers"], scorers),
        *answer_similarities(neutral, groups.names, SIMILARITIES),
    ]
    if measure_options["lists"]:
        compared_groups = [*groups.names, NEUTRAL_GROUP]
        rows += answer_similarities(answers, compared_groups, LIST_SIMILARITIES)
    if scorers:
        rows.append(answers_cut_by_scorers(answers, scorers))
    if measure_options["embeddings"]:
        vectors = scorers[measure_options["embeddings"]]
        # No vector was asked for of an answer that is white space alone.
        has_vector = pl.col("text").is_in(vectors["text"].implode())
        answers_with_vectors = answers.with_columns(text=pl.when(has_vector).then("text"))
        rows += answer_similarities(
            answers_with_vectors, groups.names, {"cosine": cosine_similarity(vectors)}
        )
    table = pl.concat(rows, how="diagonal_relaxed")
    return table.select(OBSERVATION_TYPES.names()).cast(OBSERVATION_TYPES)


def read_cell_groups(measure_options: Mapping[str, Any]) -> GroupWords:
    """Reads the groups of a cell.

    Args:
        measure_options: `groups`, their file.

    Raises:
        InputError: the file cannot be used.
    """
    groups, faults = read_group_words(Path(measure_options["groups"]))
    if groups is None or faults:
        raise InputError(faults)
    return groups


def instance_answers(instances: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    """Returns `READ` and `SAID` of instances; a missing `response` is empty."""
    texts = predictions.select("instance", pl.col("status", "response").cast(pl.String))
    rows = instances.select(READ).sort("instance").with_columns(pl.col("group").cast(pl.String))
    answers = rows.join(texts, on="instance", maintain_order="left")
    return answers.with_columns(pl.col("response").fill_null(""))


def with_endings(answers: pl.DataFrame, finds_refusals: bool) -> pl.DataFrame:
    """Adds how answers ended, and their `text`, null if they say nothing.

    Args:
        answers: with `status` and `response`.
        finds_refusals: see `RewritingMode`.

    Returns:
        The answers with the columns `ENDINGS`, of which at most one holds, and `text`.
    """
    response, status = pl.col("response"), pl.col("status")
    is_refused = status.is_in(REFUSAL_STATUSES)
    if finds_refusals:
        is_refused |= pl.lit(refusal_column(answers["response"], ENGLISH_WORDS))
    is_empty = response.str.strip_chars() == ""
    rows = answers.with_columns(
        refused=is_refused,
        empty=is_empty & ~is_refused,
        cut_short=(status == CUT_STATUS) & ~is_refused & ~is_empty,
    )
    has_text = ~pl.col("refused")
    if finds_refusals:
        has_text &= ~pl.col("empty")
    return rows.with_columns(text=pl.when(has_text).then(response))


def neutralise_texts(
    answers: pl.DataFrame, groups: GroupWords, mode: RewritingMode
) -> pl.DataFrame:
    """Replaces the words of groups in the `text` of answers by neutral ones."""
    rewriter = mode.rewriter(groups)
    # Neutral words come after the words of all groups.
    target = len(groups.names)
    texts = answers["text"].drop_nulls().unique()
    neutral = {text: rewriter.rewrite(text, target) for text in texts}
    text = pl.col("text").replace_strict(neutral, default=None, return_dtype=pl.String)
    return answers.with_columns(text)


# Scores of single answers


def answer_scores(
    answers: pl.DataFrame, scorers: Sequence[str], scorer_predictions: Mapping[str, pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Yields how answers ended, and their scores.

    Args:
        answers: with `text`, null if an answer says nothing; it then has no score.
        scorers: their names.
        scorer_predictions: the answers of scorers that are models.
    """
    for name in ENDINGS:
        endings = answers.select(*READ, score=pl.lit(name), value=pl.col(name).cast(pl.Float64))
        if name == SCORE_WITH_RESPONSE:
            endings = endings.with_columns(response=answers["text"])
        yield endings
    texts = answers["text"].drop_nulls().unique()
    sentiment = pl.DataFrame()
    if not VADER_SCORERS.keys().isdisjoint(scorers):
        sentiment = sentiment_of(texts)
    # So that the first answers of a prompt are those with a score, which permutations compare.
    texts_first = answers.sort(pl.col("text").is_null(), maintain_order=True)
    for name in scorers:
        if name in VADER_SCORERS:
            scores = sentiment.select(value=VADER_SCORERS[name], text=texts)
        else:
            scores = scorer_predictions[name].select("text", value="score")
        answers_with_scores = texts_first.join(scores, on="text", how="left", maintain_order="left")
        yield answers_with_scores.select(*READ, "value", score=pl.lit(name))


def answers_cut_by_scorers(
    answers: pl.DataFrame, scorer_predictions: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """Returns whether a scorer or encoder read only the beginning of each answer."""
    cut_texts = pl.concat(
        texts.filter("truncated").select("text") for texts in scorer_predictions.values()
    )
    is_cut = pl.col("text").is_in(cut_texts["text"].implode()).fill_null(value=False)
    return answers.select(*READ, score=pl.lit(CUT_BY_SCORER), value=is_cut.cast(pl.Float64))


# Similarities of two answers to a prompt


def answer_similarities(
    answers: pl.DataFrame, groups: Sequence[str], similarities: Mapping[str, Similarity]
) -> Iterator[pl.DataFrame]:
    """Yields how similar answers to a prompt are.

    Args:
        answers: with `text`, null if an answer says nothing; it is then similar to none.
        groups: the compared groups, in the order in which pairs are named.
        similarities: the similarities of texts, by name.
    """
    group_answers = answers.filter(pl.col("group").is_in(groups))
    pairs = pl.concat([group_answer_pairs(answers, groups), repetition_pairs(group_answers)])
    # Many answers may have the same text, which is read once.
    texts = answers["text"].drop_nulls().unique(maintain_order=True)
    places = pl.DataFrame({"text": texts}).with_columns(place=pl.int_range(pl.len()))
    other_places = places.rename({"text": "other_text", "place": "other_place"})
    pairs = pairs.join(places, on="text", how="left", maintain_order="left")
    pairs = pairs.join(other_places, on="other_text", how="left", maintain_order="left")
    pairs = pairs.drop("text", "other_text")
    have_texts = pl.col("place").is_not_null() & pl.col("other_place").is_not_null()
    text_pairs = pairs.filter(have_texts)
    silent = pairs.filter(~have_texts).with_columns(value=pl.lit(None, pl.Float64))
    for name, compare in similarities.items():
        values = compare(texts.to_list(), text_pairs.select("place", "other_place").to_numpy())
        similarity_rows = text_pairs.with_columns(value=pl.Series(values).fill_nan(None))
        rows = pl.concat([similarity_rows, silent], how="diagonal_relaxed")
        yield rows.drop("place", "other_place").with_columns(score=pl.lit(name))


def group_answer_pairs(answers: pl.DataFrame, groups: Sequence[str]) -> pl.DataFrame:
    """Returns the pairs of answers to a prompt for two groups, of the same repetition."""
    own_answers = answers.select(*READ, "text")
    other_answers = own_answers.rename(OTHER_ANSWER)
    pairs = []
    for group, other in combinations(groups, 2):
        group_answers, answers_to_other = (
            own_answers.filter(group=group),
            other_answers.filter(other=other),
        )
        pairs.append(
            group_answers.join(answers_to_other, on=["prompt", "repetition"], maintain_order="left")
        )
    return pl.concat(pairs)


def repetition_pairs(answers: pl.DataFrame) -> pl.DataFrame:
    """Returns pairs of answers to one text: each with the next one, the last with the first."""
    own_answers = answers.select(*READ, "text")
    repetitions = int(answers["repetition"].max() or 0) + 1  # type: ignore[arg-type]
    other_answers = own_answers.rename(OTHER_ANSWER | {"repetition": "next"})
    previous = (pl.col("next") + repetitions - 1) % repetitions
    other_answers = other_answers.with_columns(repetition=previous, group=pl.col("other"))
    # Two repetitions are one pair, not two.
    if repetitions <= 2:
        other_answers = other_answers.filter(pl.col("next") > 0)
    pairs = own_answers.join(
        other_answers, on=["prompt", "group", "repetition"], maintain_order="left"
    )
    return pairs.select(*own_answers.columns, *OTHER_ANSWER.values())
