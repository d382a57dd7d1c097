"""Observations of answers: scores of each, and similarities of answers to one prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.faults import InputError
from biasgrid.base.languages import ENGLISH_WORDS
from biasgrid.families.responses import sentiment_of
from biasgrid.families.rewriting.group_words import GroupWords, RewritingMode, read_group_words
from biasgrid.families.rewriting.keys import KEYS
from biasgrid.families.rewriting.section import NEUTRAL_GROUP, VADER_SCORERS
from biasgrid.families.rewriting.similarity import (
    LIST_SIMILARITIES,
    SIMILARITIES,
    Similarity,
    cosine_similarity,
)
from biasgrid.readers.reading import CUT_STATUS, REFUSAL_STATUSES
from biasgrid.readers.refusals import refusal_column
from biasgrid.tables.schema import NeverNaN, column, table

SCORE_WITH_RESPONSE = "refused"
"""The score whose rows also have the answers."""
READ = ["instance", "prompt", "group", "repetition"]
"""The columns of instances that are observed."""
SAID = ["instance", "status", "response"]
"""The columns of predictions that are observed."""
OUTCOME_SCORES = ("refused", "cut_short", "empty")
"""Scores that say how an answer ended."""
TRUNCATED_BY_SCORER = "cut_by_scorer"
"""The score that says whether a model read no more than the beginning of an answer."""
SHARE_SCORES = (*OUTCOME_SCORES, TRUNCATED_BY_SCORER)
"""Scores that are measures of their own, not those of a scorer."""
PAIR_OF_GROUPS = ("group", "other")
OTHER_ANSWER = {"instance": "other_instance", "group": "other", "text": "other_text"}
OBSERVATIONS = table(
    "observations of rewriting",
    {
        "instance": column(pl.UInt32, description="the instance"),
        "other_instance": column(
            pl.UInt32, description="the instance whose answer it was compared with", nullable=True
        ),
        "score": column(
            pl.Categorical,
            description="what the value is: how the answer ended, a scorer, a similarity",
        ),
        "value": column(
            pl.Float64,
            description="the number; null where an answer says nothing or declines",
            nullable=True,
            checks=NeverNaN,
        ),
        "prompt": KEYS["prompt"],
        "group": KEYS["group"],
        "other": column(
            pl.Categorical,
            description="the other answer's group; the same one for the noise floor",
            nullable=True,
        ),
        "repetition": KEYS["repetition"],
        "response": column(
            pl.String, description="the answer, in rows of the score `refused`", nullable=True
        ),
    },
)


def read_groups_of_cell(options: Mapping[str, Any]) -> GroupWords:
    """Reads the groups of a cell.

    Args:
        options: `groups`, their file.

    Raises:
        InputError: the file cannot be used.
    """
    groups, faults = read_group_words(Path(options["groups"]))
    if groups is None or faults:
        raise InputError(faults)
    return groups


def observe(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    options: Mapping[str, Any],
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Scores each answer, and compares those to the same prompt.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `text`, one for each instance.
        options: see `measures.measure`.
        scorer_predictions: the answers of scorers that are models.

    Returns:
        Rows of `OBSERVATIONS`: of every answer how it ended and its scores; of answers to a prompt
        for two groups, and of two answers for the same group, how like they are.
    """
    groups = read_groups_of_cell(options)
    finds_refusals = RewritingMode.of(options["mode"]).finds_refusals
    answers = with_endings(answers_of_instances(instances, predictions), finds_refusals)
    predicted = scorer_predictions or {}
    neutral = neutralise_answers(answers, groups, options)
    rows = [
        *answer_scores(answers, options["scorers"], predicted),
        *answer_similarities(neutral, groups.names, SIMILARITIES),
    ]
    if options["lists"]:
        rows += answer_similarities(answers, (*groups.names, NEUTRAL_GROUP), LIST_SIMILARITIES)
    if predicted:
        rows.append(truncation_shares(answers, predicted))
    if options["embeddings"]:
        vectors = predicted[options["embeddings"]]
        # Nobody was asked about answers of white space alone.
        is_read = pl.col("text").is_in(vectors["text"].implode())
        read = answers.with_columns(text=pl.when(is_read).then("text"))
        by_vectors = {"cosine": cosine_similarity(vectors)}
        rows += answer_similarities(read, groups.names, by_vectors)
    types = pl.Schema({name: column.dtype.type for name, column in OBSERVATIONS.columns.items()})
    return pl.concat(rows, how="diagonal_relaxed").select(types.names()).cast(types)


def answers_of_instances(instances: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    """Returns `READ` and `SAID` of instances; a missing `response` is empty."""
    texts = predictions.select("instance", pl.col("status", "response").cast(pl.String))
    rows = instances.select(READ).sort("instance").with_columns(pl.col("group").cast(pl.String))
    answers = rows.join(texts, on="instance", maintain_order="left")
    return answers.with_columns(pl.col("response").fill_null(""))


def with_endings(answers: pl.DataFrame, finds_refusals: bool) -> pl.DataFrame:
    """Adds how answers ended, and their `text`, null where they say nothing.

    Args:
        answers: with `status` and `response`.
        finds_refusals: see `RewritingMode`.

    Returns:
        The answers with `refused`, `empty` and `cut_short`, of which at most one holds.
    """
    response, status = pl.col("response"), pl.col("status")
    refused = status.is_in(REFUSAL_STATUSES)
    if finds_refusals:
        refused |= pl.lit(refusal_column(answers["response"], ENGLISH_WORDS))
    is_empty = response.str.strip_chars() == ""
    ended = answers.with_columns(
        refused=refused,
        empty=is_empty & ~refused,
        cut_short=(status == CUT_STATUS) & ~refused & ~is_empty,
    )
    speaks = ~pl.col("refused")
    if finds_refusals:
        speaks &= ~pl.col("empty")
    return ended.with_columns(text=pl.when(speaks).then(response))


def answer_scores(
    answers: pl.DataFrame, scorers: list[str], scorer_predictions: Mapping[str, pl.DataFrame]
) -> Iterator[pl.DataFrame]:
    """Yields the scores of answers.

    Args:
        answers: with `text`, null where an answer says nothing.
        scorers: their names.
        scorer_predictions: the answers of scorers that are models.
    """
    keys = keys_of_answers(answers)
    for name in OUTCOME_SCORES:
        value = answers[name].cast(pl.Float64).alias("value")
        ended = keys.with_columns(value, score=pl.lit(name))
        if name == SCORE_WITH_RESPONSE:
            ended = ended.with_columns(response=answers["text"])
        yield ended
    has_text = answers["text"].is_not_null()
    texts = answers.select("text").drop_nulls()
    scored, silent = keys.filter(has_text), keys.filter(~has_text).with_columns(value=None)
    if any(name in VADER_SCORERS for name in scorers):
        sentiment = sentiment_of(texts["text"])
    for name in scorers:
        if name in VADER_SCORERS:
            scores = sentiment[VADER_SCORERS[name]]
        else:
            predicted = scorer_predictions[name].select("text", "score")
            scores = texts.join(predicted, on="text", how="left", maintain_order="left")["score"]
        values = scored.with_columns(scores.alias("value"))
        yield pl.concat([values, silent], how="diagonal_relaxed").with_columns(score=pl.lit(name))


def keys_of_answers(answers: pl.DataFrame) -> pl.DataFrame:
    """Returns the keys of answers that are compared with no other one."""
    return answers.select(
        "instance", "prompt", "group", "repetition", other=None, other_instance=None
    )


def truncation_shares(
    answers: pl.DataFrame, scorer_predictions: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    """Returns of which answers a model read the beginning alone."""
    tables = [
        answers_of_scorer.filter("truncated").select("text")
        for answers_of_scorer in scorer_predictions.values()
    ]
    truncated = pl.concat(tables)["text"]
    is_cut = answers["text"].is_in(truncated.implode()).fill_null(value=False)
    value = is_cut.cast(pl.Float64).alias("value")
    return keys_of_answers(answers).with_columns(value, score=pl.lit(TRUNCATED_BY_SCORER))


def neutralise_answers(
    answers: pl.DataFrame, groups: GroupWords, options: Mapping[str, Any]
) -> pl.DataFrame:
    """Replaces the words of groups in texts by neutral ones, if the dataset asks for that."""
    if not options["neutralise"]:
        return answers
    rewriter = RewritingMode.of(options["mode"]).rewriter(groups)
    # Neutral words stand behind those of all groups.
    target = len(groups.names)
    texts = answers["text"].drop_nulls().unique()
    neutral = {text: rewriter.rewrite(text, target) for text in texts}
    text = pl.col("text").replace_strict(neutral, default=None, return_dtype=pl.String)
    return answers.with_columns(text)


def answer_similarities(
    answers: pl.DataFrame, groups: tuple[str, ...], similarities: Mapping[str, Similarity]
) -> Iterator[pl.DataFrame]:
    """Yields how like answers are.

    Args:
        answers: with `text`, null where an answer says nothing.
        groups: the compared groups, in the order in which pairs are named.
        similarities: the similarities of texts, by name.
    """
    of_groups = answers.filter(pl.col("group").is_in(groups))
    pairs = pl.concat([pairs_of_groups(answers, groups), pairs_of_repetitions(of_groups)])
    # Many answers may have one text, which is read once.
    texts = answers["text"].drop_nulls().unique(maintain_order=True)
    places = pl.DataFrame({"text": texts}).with_columns(place=pl.int_range(pl.len()))
    other_places = places.rename({"text": "other_text", "place": "other_place"})
    pairs = pairs.join(places, on="text", how="left", maintain_order="left")
    pairs = pairs.join(other_places, on="other_text", how="left", maintain_order="left")
    pairs = pairs.drop("text", "other_text")
    both_speak = pl.col("place").is_not_null() & pl.col("other_place").is_not_null()
    compared = pairs.filter(both_speak)
    silent = pairs.filter(~both_speak).with_columns(value=pl.lit(None, pl.Float64))
    for name, compare in similarities.items():
        values = compare(texts.to_list(), compared.select("place", "other_place").to_numpy())
        of_pairs = compared.with_columns(value=pl.Series(values).fill_nan(None))
        rows = pl.concat([of_pairs, silent], how="diagonal_relaxed")
        yield rows.drop("place", "other_place").with_columns(score=pl.lit(name))


def pairs_of_groups(answers: pl.DataFrame, groups: tuple[str, ...]) -> pl.DataFrame:
    """Returns the pairs of answers to a prompt for two groups, of the same repetition."""
    keyed = answers.select("instance", "prompt", "group", "repetition", "text")
    others = keyed.rename(OTHER_ANSWER)
    pairs = []
    for one, other in combinations(groups, 2):
        of_one, of_other = keyed.filter(group=one), others.filter(other=other)
        pairs.append(of_one.join(of_other, on=["prompt", "repetition"], maintain_order="left"))
    return pl.concat(pairs)


def pairs_of_repetitions(answers: pl.DataFrame) -> pl.DataFrame:
    """Returns pairs of answers to one text: each with the next one, the last with the first."""
    keyed = answers.select("instance", "prompt", "group", "repetition", "text")
    times = int(answers["repetition"].max() or 0) + 1  # type: ignore[arg-type]
    others = keyed.rename(OTHER_ANSWER | {"repetition": "before"})
    previous = (pl.col("before") + times - 1) % times
    others = others.with_columns(repetition=previous, group=pl.col("other"))
    # Of two repetitions there is one pair, not two.
    if times <= 2:
        others = others.filter(pl.col("before") > 0)
    pairs = keyed.join(others, on=["prompt", "group", "repetition"], maintain_order="left")
    return pairs.select(*keyed.columns, *OTHER_ANSWER.values())


def corrected_similarity_by_prompt(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns the similarity of groups, corrected for noise, prompt by prompt.

    Args:
        pairs: observations of pairs of answers.

    Returns:
        Columns `score`, `prompt`, `group`, `other`, `similarity` of answers for two groups,
        `null_mean` (the noise floor: the mean of those for either) and `value` (noise floor less
        similarity); null where there are none.
    """
    keys = ["score", "prompt", *PAIR_OF_GROUPS]
    means = pairs.group_by(keys, maintain_order=True).agg(pl.col("value").mean())
    is_within = pl.col("group") == pl.col("other")
    within = means.filter(is_within).select("score", "prompt", "group", null_mean="value")
    rows = means.filter(~is_within).rename({"value": "similarity"})
    rows = rows.join(within, on=["score", "prompt", "group"], how="left", maintain_order="left")
    of_other = within.rename({"group": "other", "null_mean": "other_null_mean"})
    rows = rows.join(of_other, on=["score", "prompt", "other"], how="left", maintain_order="left")
    null_mean = (pl.col("null_mean") + pl.col("other_null_mean")) / 2
    corrected = null_mean - pl.col("similarity")
    return rows.select(*keys, "similarity", null_mean=null_mean, value=corrected)
