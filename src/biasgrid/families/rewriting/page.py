"""What the page of a cell of rewritten prompts shows beside its numbers as a whole."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from biasgrid.families.page import OPINIONS, PageColumns, Table
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
ENDING_COLUMNS: PageColumns = {
    **GROUP,
    "Refused": ("number", "refused"),
    "Interval": ("interval", "refused "),
    "Empty": ("number", "empty"),
    "Cut short": ("number", "cut_short"),
    "Cut by the scorer": ("number", "cut_by_scorer"),
    "Answers": ("count", "refused n"),
}


MEASURE = pl.col("measure")
HAS_WORD = pl.col("attribute").is_not_null()
TITLE_AND_SCORE = {
    "title": MEASURE.replace_strict(MEASURE_TITLES, default=None),
    "by": pl.col("options").str.replace("score=", "", literal=True),
}
IS_SIMILARITY = MEASURE.is_in(SIMILARITY_MEASURES)
# The noise floor of the prompts that are compared.
NULL_MEAN = pl.col("similarity") + pl.col("similarity_corrected")
TABLES = (
    Table(
        "Pairs of groups",
        "How similar the answers to a prompt are for two groups, how similar two answers to the "
        "same text are (the noise floor), and the difference between the two, averaged over "
        "prompts. The largest differences come first.",
        {
            "By": ("name", "by"),
            **PAIR,
            "Similarity": ("number", "similarity"),
            "Noise floor": ("number", NULL_MEAN),
            "Corrected for noise": ("number", "similarity_corrected"),
            "Interval": ("interval", "similarity_corrected "),
            "q": ("number", "similarity_corrected q"),
            "Prompts": ("count", "similarity_corrected n"),
        },
        keys=("group", "other"),
        added=TITLE_AND_SCORE,
        side_by_side=SIMILARITY_MEASURES,
        row_keys=("by", "group", "other"),
        order=(-pl.col("similarity_corrected"),),
    ),
    Table(
        "How answers end",
        "The share of answers for each group that refuse, are empty or are cut short. Answers "
        "that refuse or are empty have no similarity and no score.",
        ENDING_COLUMNS,
        keys=("group",),
        side_by_side=ANSWER_ENDINGS,
        row_keys=("group",),
    ),
    Table(
        "Scores of groups",
        "What scorers report about the answers for each group, and how similar two answers to one "
        "text are.",
        {**MEASURED, **GROUP, **NUMBERS},
        keys=("group",),
        where=~MEASURE.is_in(ANSWER_ENDINGS),
        added=TITLE_AND_SCORE,
    ),
    Table(
        "Scores of pairs",
        "How far apart the scores of the answers are for two groups. Noise alone makes distances "
        "positive; the noise floor shows by how much.",
        {**MEASURED, **PAIR, **NUMBERS, **NOISE_COLUMNS},
        keys=("group", "other"),
        where=~IS_SIMILARITY,
        added=TITLE_AND_SCORE,
    ),
    Table(
        "Words",
        "How far from equal the shares of groups are in the answers that hold a word, the largest "
        "first; those of rare words are far from it by chance.",
        {**WORD, "Stereotypical association": ("number", "value"), **INTERVAL},
        where=HAS_WORD & (MEASURE == "stereotypical_association"),
        order=(-pl.col("value"),),
    ),
    Table(
        "Words near those of groups",
        "By how many powers of ten a word is likelier near the words of one of two groups than "
        "near those of the other, the largest first; rare words differ by chance.",
        {**WORD, **PAIR, "Co-occurrence bias": ("number", "value"), **INTERVAL},
        where=HAS_WORD & (MEASURE == "co_occurrence_bias"),
        order=(-pl.col("value"),),
    ),
)
