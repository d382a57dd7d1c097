"""What the page of a cell of rewritten prompts shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from biasgrid.families.payload import (
    OPINIONS,
    CellTables,
    PageColumns,
    measures_side_by_side,
    page_table,
    rows_with_keys,
)
from biasgrid.tables.metric import read_definitions

FIRST_SCREEN = replace(OPINIONS, columns=({"similarity_corrected": "differs by group"},))
SIMILARITY_MEASURES = ("similarity", "similarity_corrected")
ANSWER_ENDINGS = ("refused", "empty", "cut_short", "cut_by_scorer")
DEFINED = read_definitions("families/rewriting").of("measures", "harms", "targets", "lists")
MEASURE_TITLES = {name: measure.title.capitalize() for name, measure in DEFINED.items()}
GROUP: PageColumns = {"Group": ("name", "group")}
PAIR: PageColumns = {**GROUP, "Compared with": ("name", "other")}
MEASURED: PageColumns = {"Measure": ("name", "title"), "By": ("name", "by")}
INTERVAL: PageColumns = {"Interval": ("interval", ""), "n": ("count", "n")}
NUMBERS: PageColumns = {"Value": ("number", "value"), **INTERVAL}
WORD: PageColumns = {"Word": ("text", "attribute")}
NOISE_COLUMNS: PageColumns = {
    "Floor": ("number", "null_mean"),
    "p": ("number", "p"),
    "q": ("number", "q"),
}
SIMILARITY_COLUMNS: PageColumns = {
    "By": ("name", "by"),
    **PAIR,
    "Similarity": ("number", "similarity"),
    "Noise floor": ("number", "null_mean"),
    "Corrected for noise": ("number", "corrected"),
    "Interval": ("interval", "excess "),
    "q": ("number", "excess q"),
    "Prompts": ("count", "excess n"),
}
ENDING_COLUMNS: PageColumns = {
    **GROUP,
    "Refused": ("number", "refused"),
    "Interval": ("interval", "refused "),
    "Empty": ("number", "empty"),
    "Cut short": ("number", "cut_short"),
    "Cut by the scorer": ("number", "cut_by_scorer"),
    "Answers": ("count", "refused n"),
}


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of pairs of groups, of how answers end, of scores and of words."""
    title = pl.col("measure").replace_strict(MEASURE_TITLES, default=None)
    by = pl.col("options").str.replace("score=", "", literal=True)
    rows = cell.measures.with_columns(title=title, by=by)
    is_of_word = pl.col("attribute").is_not_null()
    words, numbers = rows.filter(is_of_word), rows.filter(~is_of_word)
    of_pairs, of_groups = (
        rows_with_keys(numbers, "group", "other"),
        rows_with_keys(numbers, "group"),
    )
    return {
        "tables": [
            *page_table(
                "Pairs of groups",
                "How similar the answers to a prompt are for two groups, how similar two answers "
                "to the same text are (the noise floor), and the difference between the two, "
                "averaged over prompts. The largest differences come first.",
                with_similarity_null(of_pairs),
                SIMILARITY_COLUMNS,
            ),
            *page_table(
                "How answers end",
                "The share of answers for each group that refuse, are empty or are cut short. "
                "Answers that refuse or are empty have no similarity and no score.",
                measures_side_by_side(of_groups, ["group"], ANSWER_ENDINGS),
                ENDING_COLUMNS,
            ),
            *page_table(
                "Scores of groups",
                "What scorers report about the answers for each group, and how similar two "
                "answers to one text are.",
                of_groups.filter(~pl.col("measure").is_in(ANSWER_ENDINGS)),
                {**MEASURED, **GROUP, **NUMBERS},
            ),
            *page_table(
                "Scores of pairs",
                "How far apart the scores of the answers are for two groups. Noise alone makes "
                "distances positive; the noise floor shows by how much.",
                of_pairs.filter(~pl.col("measure").is_in(SIMILARITY_MEASURES)),
                {**MEASURED, **PAIR, **NUMBERS, **NOISE_COLUMNS},
            ),
            *page_table(
                "Words",
                "How far from equal the shares of groups are in the answers that hold a word, the "
                "largest first; those of rare words are far from it by chance.",
                largest_words_first(words, "stereotypical_association"),
                {**WORD, "Stereotypical association": ("number", "value"), **INTERVAL},
            ),
            *page_table(
                "Words near those of groups",
                "By how many powers of ten a word is likelier near the words of one of two groups "
                "than near those of the other, the largest first; rare words differ by chance.",
                largest_words_first(words, "co_occurrence_bias"),
                {**WORD, **PAIR, "Co-occurrence bias": ("number", "value"), **INTERVAL},
            ),
        ]
    }


def largest_words_first(words: pl.DataFrame, measure: str) -> pl.DataFrame:
    """Returns the rows of a measure of words, those with the largest value first."""
    rows = words.filter(measure=measure)
    return rows.sort(-pl.col("value"), nulls_last=True, maintain_order=True)


def with_similarity_null(of_pairs: pl.DataFrame) -> pl.DataFrame:
    """Puts similarities of pairs beside their noise floors.

    Args:
        of_pairs: the numbers of pairs of groups.

    Returns:
        `by`, `group`, `other`, `similarity`, `null_mean` (that of the prompts that are compared),
        `excess`, and of that `low`, `high`, `q` and `n`, as `excess low` and so on; the largest
        first.
    """
    keys = ["by", "group", "other"]
    own = of_pairs.filter(measure="similarity").select(*keys, similarity="value")
    corrected = of_pairs.filter(measure="similarity_corrected")
    details = pl.col("low", "high", "q", "n").name.prefix("excess ")
    corrected = corrected.select(*keys, details, corrected="value")
    rows = own.join(corrected, on=keys, how="left", maintain_order="left")
    rows = rows.with_columns(null_mean=pl.col("similarity") + pl.col("corrected"))
    return rows.sort(-pl.col("corrected"), nulls_last=True, maintain_order=True)
