"""Evidence for corrected similarities, and tables on the page of a cell.

The evidence is the prompts whose answers for two groups are least similar, of middling similarity,
and most similar.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.page import OPINIONS, PageColumns, Table
from biasgrid.families.rewriting.family import DEFINITIONS
from biasgrid.families.rewriting.group_words import NEUTRAL_GROUP
from biasgrid.families.rewriting.measure import corrected_similarity_by_prompt
from biasgrid.families.rewriting.observe import PAIR_OF_GROUPS
from biasgrid.groups.main_scores import main_similarity
from biasgrid.tables.metric import parse_options

# Evidence: answers for two groups side by side

ANSWERS_PER_GROUP = 2
"""The largest number of answers for each group that are shown for a prompt."""
EVIDENCE_MEASURE = "similarity_corrected"


def ranked_answers(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns answers for pairs of groups, sorted by prompt: the least similar prompts come first.

    The two answers of a repetition follow one another.

    Args:
        cell: the cell.
        about: `bias_type`, `group` and `other` of a number, None for all numbers; answers that say
            nothing are then left out.

    Returns:
        Columns of `EVIDENCE`; `first` and `second`, the pair of groups as its number has it; and
        `partner`, the instance of the other answer. `unit_value` is the similarity of answers for
        one group less that between the groups; `score` is the similarity of an answer to that for
        the other group, null if one of them says nothing, and `other_score` that to other answers
        to the same text.
    """
    options = similarity_options(cell.measure_options)
    pairs = answer_pairs(cell.observations, options)
    prompts = corrected_similarity_by_prompt(pairs)
    prompts = prompts.select(*PAIR_OF_GROUPS, unit="prompt", unit_value="value")
    rows = pair_answer_rows(pairs).join(prompts, on=[*PAIR_OF_GROUPS, "unit"])
    if not about:
        rows = rows.drop_nulls("score")
    order = ["unit_value", "unit", "repetition", "is_other"]
    descending = [True, False, False, False]
    rows = rows.sort(order, descending=descending, nulls_last=True, maintain_order=True)
    is_other = pl.col("is_other")
    return rows.select(
        "unit",
        "unit_value",
        "instance",
        "partner",
        "score",
        "other_score",
        measure=pl.lit(EVIDENCE_MEASURE),
        options=pl.lit(options),
        first="group",
        second="other",
        group=pl.when(is_other).then("other").otherwise("group"),
        other=pl.when(is_other).then("group").otherwise("other"),
    )


def similarity_options(measure_options: Mapping[str, Any]) -> str:
    """Returns the options of the similarity that has evidence."""
    return main_similarity(by_vectors=measure_options["embeddings"] is not None)


def answer_pairs(observations: pl.DataFrame, measure_options: str) -> pl.DataFrame:
    """Returns the pairs of answers of one similarity, without those in neutral words."""
    rows = observations.cast({pl.Categorical: pl.String}).drop_nulls("other")
    are_of_groups = (pl.col("group") != NEUTRAL_GROUP) & (pl.col("other") != NEUTRAL_GROUP)
    return rows.filter(are_of_groups, score=parse_options(measure_options)["score"])


def pair_answer_rows(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for each answer of pairs of answers for two groups.

    Returns:
        `group` and `other`, in the order of the pair; `unit`, the prompt; `repetition`; `instance`
        and that of the other answer, `partner`; `is_other`, whether the answer is for the second
        group; `score` and `other_score`, see `ranked_answers`.
    """
    is_within = pl.col("group") == pl.col("other")
    pairs_within, pairs_between = pairs.filter(is_within), pairs.filter(~is_within)
    instances = ("instance", "other_instance")
    sides = [pairs_within.select("value", instance=instance) for instance in instances]
    by_instance = pl.concat(sides).group_by("instance", maintain_order=True)
    similarities_within = by_instance.agg(other_score=pl.col("value").mean())
    answers = []
    for instance, partner in (instances, instances[::-1]):
        answers.append(
            pairs_between.select(
                *PAIR_OF_GROUPS,
                "repetition",
                instance=instance,
                partner=partner,
                unit="prompt",
                score="value",
                is_other=pl.lit(instance != "instance"),
            )
        )
    return pl.concat(answers).join(similarities_within, on="instance", how="left")


SENTENCES = Sentences(
    ranked_answers,
    explained=("bias_type", "group", "other"),
    measure=EVIDENCE_MEASURE,
    concerns=lambda about: pl.col("group").is_in([about["group"], about["other"]]),
    measure_options=similarity_options,
    about={"group": "first", "other": "second"},
    rows_kept=2 * ANSWERS_PER_GROUP,
    asked={"text": "text", "text_pair": "system"},
    said="response",
    view=UnitView(
        "beyond the noise",
        scores=("Like the other group's", "Like others to the text"),
        compared=("text", "text_pair", "said"),
    ),
)

# The page

FIRST_SCREEN = replace(OPINIONS, columns=({"similarity_corrected": "differs by group"},))
SIMILARITY_MEASURES = ("similarity", "similarity_corrected")
ANSWER_ENDINGS = ("refused", "empty", "cut_short", "cut_by_scorer")
SHOWN_MEASURES = DEFINITIONS.select("measures", "harms", "targets", "lists")
MEASURE_TITLES = {name: measure.title.capitalize() for name, measure in SHOWN_MEASURES.items()}
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
