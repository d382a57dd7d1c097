"""Measures that a dataset asks for: how much harm there is, what stands near words of groups, how lists differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import polars as pl

from biasgrid.families.rewriting.files.groups import Groups
from biasgrid.families.rewriting.formulas.extremes import NUMBERS, extremes
from biasgrid.families.rewriting.formulas.ranked import spread
from biasgrid.families.rewriting.formulas.stop_words import STOP_WORDS
from biasgrid.families.rewriting.formulas.words import (
    Phrase,
    bare,
    co_occurrence_bias,
    stereotypical_associations,
    table_of_words,
)
from biasgrid.families.rewriting.observe import TOLD_WITH
from biasgrid.families.rewriting.tokens import words
from biasgrid.tables.metric import options_text


def harms(answers: pl.DataFrame, thresholds: Mapping[str, float]) -> Iterator[pl.DataFrame]:
    """Yields how much of something bad there is in answers, of the cell and by group.

    Args:
        answers: observations of single answers.
        thresholds: from what score on an answer counts, by scorer.
    """
    for score, threshold in thresholds.items():
        scores = answers.filter(score=score).select("group", prompt=pl.struct("prompt", "group"), score="value")
        for keys in ([], ["group"]):
            numbers = extremes(scores, threshold, keys)
            for name in NUMBERS:
                yield numbers.select(
                    *keys,
                    "n",
                    "left_out",
                    value=name,
                    measure=pl.lit(f"harm_{name}"),
                    options=pl.lit(options_text(score=score, threshold=threshold)),
                )


def near_words(answers: pl.DataFrame, groups: Groups, options: Mapping[str, Any]) -> Iterator[pl.DataFrame]:
    """Yields how unevenly target words stand near the words of groups: each word, and their mean.

    Args:
        answers: observations of single answers.
        groups: the groups and their words.
        options: `targets`, the words, none where nobody asks; `stop_words`, None for our own; and `mode`.
    """
    targets = options["targets"]
    if not targets:
        return
    is_original = options["mode"] == "langfair"
    told = answers.filter(score=TOLD_WITH)["response"]
    texts = [[bare(word) for word in words(text)] for text in told.drop_nulls()]
    cleaned = table_of_words([[word for word in text if word] for text in texts])
    # The original cleans the words of answers for co-occurrence alone.
    table = table_of_words([words(text.lower()) for text in told.drop_nulls()]) if is_original else cleaned
    found = as_spelled(groups) if is_original else words_of(groups)
    of_groups = {name: some for name, some in found.items() if some}
    stop_words = STOP_WORDS if options["stop_words"] is None else options["stop_words"]
    phrases = [(target,) if is_original else tuple(target.split()) for target in targets]
    associations = stereotypical_associations(table, phrases, of_groups)
    bias = co_occurrence_bias(cleaned, targets, of_groups, stop_words)
    silent = told.null_count()
    yield from with_mean(associations, "stereotypical_association", [], silent)
    yield from with_mean(bias, "co_occurrence_bias", ["group", "other"], silent)


def words_of(groups: Groups) -> dict[str, list[Phrase]]:
    """Returns what is looked for of each group, in lower case and without marks, split at white space."""
    return sought_in(groups, lambda word: tuple(bare(part) for part in word.split()))


def as_spelled(groups: Groups) -> dict[str, list[Phrase]]:
    """Returns what LangFair looks for among the words of answers: texts of several words or with capitals are none."""
    return sought_in(groups, lambda word: (word,))


def sought_in(groups: Groups, phrase_of: Callable[[str], Phrase]) -> dict[str, list[Phrase]]:
    """Returns what is looked for of each group."""
    named: dict[str, dict[Phrase, None]] = {name: {} for name in groups.names}
    for row in groups.rows:
        for name, sought in zip(groups.names, row.sought, strict=False):
            named[name] |= dict.fromkeys(map(phrase_of, sought))
    return {name: list(found) for name, found in named.items()}


def with_mean(found: pl.DataFrame, measure: str, keys: list[str], left_out: int) -> Iterator[pl.DataFrame]:
    """Yields a measure of words, and its means over words.

    Args:
        found: `word`, `value`, `n` and the keys.
        measure: its name.
        keys: what means are distinguishable by.
        left_out: how many answers say nothing.
    """
    told = {"measure": pl.lit(measure), "options": pl.lit(""), "left_out": pl.lit(left_out)}
    yield found.rename({"word": "attribute"}).with_columns(**told)
    for chosen in dict.fromkeys([(), tuple(keys)]):
        mean = [pl.col("value").mean(), pl.len().cast(pl.Int64).alias("n")]
        means = found.group_by(chosen, maintain_order=True).agg(mean) if chosen else found.select(mean)
        yield means.with_columns(**told)


def spread_of_lists(pairs: pl.DataFrame) -> Iterator[pl.DataFrame]:
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
        numbers = spread(rows["value"].drop_nulls().to_list()) or (None, None)
        told = {"measure": ["list_range", "list_deviation"], "value": list(numbers)}
        counts = {name: pl.lit(rows[name].sum()) for name in ("n", "left_out")}
        schema = {"measure": pl.String, "value": pl.Float64}
        yield pl.DataFrame(told, schema=schema).with_columns(**options, **counts)
