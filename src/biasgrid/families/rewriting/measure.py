"""The measures of rewritten prompts: how groups' answers differ, how much of it is noise, and what datasets ask for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.rewriting.evidence import prompts_of_pairs
from biasgrid.families.rewriting.files.groups import GroupWords
from biasgrid.families.rewriting.formulas.extremes import HARM_NUMBERS, harm_extremes
from biasgrid.families.rewriting.formulas.null import PAIR_OF_GROUPS, corrected_similarity_by_prompt
from biasgrid.families.rewriting.formulas.similarity import spread_of_similarities
from biasgrid.families.rewriting.formulas.tokens import tokenize_words
from biasgrid.families.rewriting.formulas.words import (
    STOP_WORDS,
    Phrase,
    clean_word,
    co_occurrence_bias,
    stereotypical_associations,
    table_of_words,
)
from biasgrid.families.rewriting.observe import (
    OBSERVATIONS,
    READ,
    SAID,
    SCORE_WITH_RESPONSE,
    SHARE_SCORES,
    observe,
    read_groups_of_cell,
)
from biasgrid.families.rewriting.section import NEUTRAL_GROUP
from biasgrid.families.validity import same_text, text_checks
from biasgrid.groups.distances import WassersteinDistances
from biasgrid.groups.records import Units
from biasgrid.tables.completeness import Check
from biasgrid.tables.evidence import Evidence
from biasgrid.tables.metric import options_text

__all__ = ["OBSERVATIONS", "READ", "SAID", "evidence", "measure", "observe", "validity"]
MEAN_COLUMNS = {"value": pl.col("value").mean(), "n": pl.col("value").count(), "left_out": pl.col("value").null_count()}


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures a cell.

    Args:
        observations: from `observe`.
        options: `groups`, the file of groups, `threshold`, `harms`, `targets`, `stop_words` and `mode`.

    Returns:
        Columns of `MEASURES`: of pairs of groups and of the cell similarities, noise floors and corrected similarities;
        distances and differences of scores; of groups mean scores and how answers ended.
    """
    groups = read_groups_of_cell(options)
    rows = observations.cast({pl.Categorical: pl.String})
    every_answer = rows.filter(pl.col("other").is_null())
    answers = every_answer.filter(pl.col("group") != NEUTRAL_GROUP)
    pairs = rows.drop_nulls("other")
    tables = [
        *similarity_rows(pairs.filter(pl.col("group") != NEUTRAL_GROUP, pl.col("other") != NEUTRAL_GROUP)),
        *group_rows(answers),
    ]
    tables += score_distances(answers, groups.names)
    tables += share_differences(answers, groups.names, options["threshold"])
    tables += harm_measures(every_answer, options["harms"])
    tables += word_measures(every_answer, groups, options)
    tables += list_measures(pairs.filter(pl.col("group") != NEUTRAL_GROUP, other=NEUTRAL_GROUP))
    return pl.concat(tables, how="diagonal_relaxed").with_columns(
        bias_type=pl.when(pl.col("group").is_not_null()).then(pl.lit(groups.bias_type))
    )


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds prompts whose answers differ most, least and middling between groups; see `evidence.prompts_of_pairs`."""
    return Evidence(prompts_of_pairs(cell))


def similarity_rows(pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields how like answers for two groups are, how like those for one are, and the difference."""
    between = pairs.filter(pl.col("group") != pl.col("other"))
    within = pairs.filter(pl.col("group") == pl.col("other"))
    corrected = corrected_similarity_by_prompt(pairs)
    for keys in ([], [*PAIR_OF_GROUPS]):
        yield mean_rows(between, "similarity", keys)
        yield mean_rows(corrected, "similarity_corrected", keys)
    yield mean_rows(within, "similarity_null", [])
    yield mean_rows(within.drop("other"), "similarity_null", ["group"])


def mean_rows(rows: pl.DataFrame, name: str, keys: list[str]) -> pl.DataFrame:
    """Returns the means of values by score and keys."""
    means = rows.group_by("score", *keys, maintain_order=True).agg(**MEAN_COLUMNS)
    return means.with_columns(options_by_score(), measure=pl.lit(name)).drop("score")


def options_by_score() -> pl.Expr:
    """Returns the options of rows by their score."""
    return (
        pl.col("score").map_elements(lambda score: options_text(score=score), return_dtype=pl.String).alias("options")
    )


def group_rows(answers: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields how answers ended and their mean scores, of the cell and by group."""
    is_outcome = pl.col("score").is_in(SHARE_SCORES)
    for keys in ([], ["group"]):
        ended = answers.filter(is_outcome).group_by("score", *keys, maintain_order=True).agg(**MEAN_COLUMNS)
        yield ended.rename({"score": "measure"}).with_columns(options=pl.lit(""))
        yield mean_rows(answers.filter(~is_outcome), "mean_score", keys)


def score_distances(answers: pl.DataFrame, groups: tuple[str, ...]) -> Iterator[pl.DataFrame]:
    """Yields Wasserstein-1 distances between the scores of groups, and their mean over pairs."""
    for (score,), rows in answers.filter(~pl.col("score").is_in(SHARE_SCORES)).group_by("score", maintain_order=True):
        known = rows.drop_nulls("value")
        counts = dict(known.group_by("group").len().iter_rows())
        found = dict(zip(combinations(groups, 2), pair_distances(known, groups), strict=True))
        rows_of_score = [
            {"group": one, "other": other, "value": value, "n": counts.get(one, 0) + counts.get(other, 0)}
            for (one, other), value in found.items()
        ]
        values = [value for value in found.values() if value is not None]
        rows_of_score.append({"value": float(np.mean(values)) if values else None, "n": len(known)})
        options, left_out = options_text(score=score), rows["value"].null_count()
        schema = {"group": pl.String, "other": pl.String, "value": pl.Float64, "n": pl.Int64}
        yield pl.DataFrame(rows_of_score, schema=schema).with_columns(
            measure=pl.lit("score_distance"), options=pl.lit(options), left_out=pl.lit(left_out)
        )


def pair_distances(known: pl.DataFrame, groups: tuple[str, ...]) -> Iterator[float | None]:
    """Yields the distance of each pair of groups, None where one has no score."""
    places = {name: place for place, name in enumerate(groups)}
    place = known["group"].replace_strict(places, return_dtype=pl.Int64).to_numpy()
    zeros = np.zeros(len(known), dtype=np.int64)
    units = Units(zeros, place, np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), [groups])
    of_units = WassersteinDistances(known["value"].to_numpy(), units)
    for one in range(len(groups) - 1):
        found = of_units.to_later(one)[:, 0]
        yield from (None if np.isnan(value) else float(value) for value in found)


def share_differences(answers: pl.DataFrame, groups: tuple[str, ...], threshold: float) -> Iterator[pl.DataFrame]:
    """Yields by how much more often answers for one group than for another are above the threshold."""
    shares = (
        answers.with_columns(pl.col("value") > threshold)
        .group_by("score", "group", maintain_order=True)
        .agg(pl.col("value").mean(), n=pl.col("value").count(), left_out=pl.col("value").null_count())
    )
    for one, other in combinations(groups, 2):
        theirs = shares.filter(group=other).rename({"group": "other"})
        both = shares.filter(group=one).join(theirs, on="score", maintain_order="left", suffix=" other")
        yield both.select(
            pl.col("score").map_elements(
                lambda score: options_text(score=score, threshold=threshold), return_dtype=pl.String
            ).alias("options"),
            *PAIR_OF_GROUPS,
            measure=pl.lit("score_difference"),
            value=pl.col("value") - pl.col("value other"),
            n=pl.col("n") + pl.col("n other"),
            left_out=pl.col("left_out") + pl.col("left_out other"),
        )  # fmt: skip


def harm_measures(answers: pl.DataFrame, thresholds: Mapping[str, float]) -> Iterator[pl.DataFrame]:
    """Yields how much of something bad there is in answers, of the cell and by group.

    Args:
        answers: observations of single answers.
        thresholds: from what score on an answer counts, by scorer.
    """
    for score, threshold in thresholds.items():
        scores = answers.filter(score=score).select("group", prompt=pl.struct("prompt", "group"), score="value")
        for keys in ([], ["group"]):
            numbers = harm_extremes(scores, threshold, keys)
            for name in HARM_NUMBERS:
                yield numbers.select(
                    *keys,
                    "n",
                    "left_out",
                    value=name,
                    measure=pl.lit(f"harm_{name}"),
                    options=pl.lit(options_text(score=score, threshold=threshold)),
                )


def word_measures(answers: pl.DataFrame, groups: GroupWords, options: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yields how unevenly target words are spread near the words of groups: each word, and their mean.

    Args:
        answers: observations of single answers.
        groups: the groups and their words.
        options: `targets`, the words, none where nobody asks; `stop_words`, None for our own; and `mode`.
    """
    targets = options["targets"]
    if not targets:
        return
    is_original = options["mode"] == "langfair"
    responses = answers.filter(score=SCORE_WITH_RESPONSE)["response"]
    texts = [[clean_word(word) for word in tokenize_words(text)] for text in responses.drop_nulls()]
    cleaned = table_of_words([[word for word in text if word] for text in texts])
    # The original cleans the words of answers for co-occurrence alone.
    table = (
        table_of_words([tokenize_words(text.lower()) for text in responses.drop_nulls()]) if is_original else cleaned
    )
    if is_original:
        # Among the words of answers, LangFair finds no texts of several words, nor such with capitals.
        found = phrases_of_groups(groups, lambda word: (word,))
    else:
        found = phrases_of_groups(groups, lambda word: tuple(clean_word(part) for part in word.split()))
    of_groups = {name: some for name, some in found.items() if some}
    stop_words = STOP_WORDS if options["stop_words"] is None else options["stop_words"]
    phrases = [(target,) if is_original else tuple(target.split()) for target in targets]
    associations = stereotypical_associations(table, phrases, of_groups)
    bias = co_occurrence_bias(cleaned, targets, of_groups, stop_words)
    silent = responses.null_count()
    yield from with_word_means(associations, "stereotypical_association", [], silent)
    yield from with_word_means(bias, "co_occurrence_bias", ["group", "other"], silent)


def phrases_of_groups(groups: GroupWords, phrase_of: Callable[[str], Phrase]) -> dict[str, list[Phrase]]:
    """Returns what is looked for of each group."""
    named: dict[str, dict[Phrase, None]] = {name: {} for name in groups.names}
    for row in groups.rows:
        for name, sought in zip(groups.names, row.sought, strict=False):
            named[name] |= dict.fromkeys(map(phrase_of, sought))
    return {name: list(found) for name, found in named.items()}


def with_word_means(found: pl.DataFrame, measure: str, keys: list[str], left_out: int) -> Iterator[pl.DataFrame]:
    """Yields a measure of words, and its means over words.

    Args:
        found: `word`, `value`, `n` and the keys.
        measure: its name.
        keys: what means are distinguishable by.
        left_out: how many answers say nothing.
    """
    columns = {"measure": pl.lit(measure), "options": pl.lit(""), "left_out": pl.lit(left_out)}
    yield found.rename({"word": "attribute"}).with_columns(**columns)
    for chosen in dict.fromkeys([(), tuple(keys)]):
        mean = [pl.col("value").mean(), pl.len().cast(pl.Int64).alias("n")]
        means = found.group_by(chosen, maintain_order=True).agg(mean) if chosen else found.select(mean)
        yield means.with_columns(**columns)


def list_measures(pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yields how like the lists for each group are to those for neutral words, and how far groups are apart in that.

    Args:
        pairs: observations of answers for a group with those for neutral words.
    """
    value = pl.col("value")
    means = pairs.group_by("score", "group", maintain_order=True).agg(
        value.mean(), n=value.count().cast(pl.Int64), left_out=value.null_count().cast(pl.Int64)
    )
    for (score,), rows in means.group_by("score", maintain_order=True):
        options = {"options": pl.lit(options_text(score=score))}
        yield rows.drop("score").with_columns(measure=pl.lit("list_similarity"), **options)
        numbers = spread_of_similarities(rows["value"].drop_nulls().to_list()) or (None, None)
        rows_of_spread = {"measure": ["list_range", "list_deviation"], "value": list(numbers)}
        counts = {name: pl.lit(rows[name].sum()) for name in ("n", "left_out")}
        schema = {"measure": pl.String, "value": pl.Float64}
        yield pl.DataFrame(rows_of_spread, schema=schema).with_columns(**options, **counts)


def validity(cell: MeasuredCell) -> Iterator[Check]:
    """Yields what tells whether a cell was measured at all; see `declared`."""
    answers = cell.observations.filter(pl.col("other").is_null(), pl.col("group").cast(pl.String) != NEUTRAL_GROUP)
    answers = answers.cast({"score": pl.String})
    ended = answers.filter(pl.col("score").is_in(["refused", "empty"]))
    silent = ended.group_by("instance").agg(pl.col("value").max())["value"]
    yield Check("silent", float(silent.mean()), len(silent))  # type: ignore[arg-type]
    yield from text_checks(cell.predictions)
    if answers["prompt"].n_unique() > 1:
        yield from same_text(cell.predictions)
    prompts = answers["prompt"].n_unique()
    yield Check("few_prompts", prompts, prompts)
