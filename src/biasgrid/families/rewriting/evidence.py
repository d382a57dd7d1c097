"""Evidence for corrected similarities: prompts with the least, middling and most alike answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, UnitView
from biasgrid.families.rewriting.observe import PAIR_OF_GROUPS, corrected_similarity_by_prompt
from biasgrid.families.rewriting.section import NEUTRAL_GROUP
from biasgrid.groups.main_scores import main_similarity
from biasgrid.tables.metric import options_of

ANSWERS_PER_GROUP = 2
"""So many answers for each group are shown of a prompt at most."""
EVIDENCE_MEASURE = "similarity_corrected"


def answers(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns answers for pairs of groups, sorted by prompt, the least alike prompts first.

    The two answers of a repetition follow one another.

    Args:
        cell: the cell.
        about: `bias_type`, `group` and `other` of a number, None for all.

    Returns:
        Columns of `EVIDENCE`, the pair as its number has it (`first` and `second`), and the
        `partner` of an answer. `unit_value` is how much less alike answers for the two groups are
        than those for one, `score` how like the answer is to that for the other group, null where
        one says nothing, and `other_score` how like it is to others to the same text. Where no
        number is explained, there are none that say nothing.
    """
    options = similarity_options(cell.options)
    pairs = answer_pairs(cell.observations, options)
    prompts = corrected_similarity_by_prompt(pairs)
    prompts = prompts.select(*PAIR_OF_GROUPS, unit="prompt", unit_value="value")
    rows = answers_of_pairs(pairs).join(prompts, on=[*PAIR_OF_GROUPS, "unit"])
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


def similarity_options(options: Mapping[str, Any]) -> str:
    """Returns the options of the similarity that has evidence."""
    return main_similarity(by_vectors=options["embeddings"] is not None)


def answer_pairs(observations: pl.DataFrame, options: str) -> pl.DataFrame:
    """Returns the pairs of answers of one similarity, without those in neutral words."""
    rows = observations.cast({pl.Categorical: pl.String}).drop_nulls("other")
    are_of_groups = (pl.col("group") != NEUTRAL_GROUP) & (pl.col("other") != NEUTRAL_GROUP)
    return rows.filter(are_of_groups, score=options_of(options)["score"])


def answers_of_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Takes pairs of answers apart.

    Returns:
        A row for each answer that was compared with that for another group: `group` and `other`, as
        the pair is called, `unit` (the prompt), `repetition`, `instance`, `partner` (the other
        instance), `is_other` (it is for the second group), `score` and `other_score`, see
        `answers`.
    """
    is_within = pl.col("group") == pl.col("other")
    same = pairs.filter(is_within)
    first = same.select("instance", "value")
    second = same.select(instance="other_instance", value="value")
    grouped = pl.concat([first, second]).group_by("instance", maintain_order=True)
    null_means = grouped.agg(other_score=pl.col("value").mean())
    between = pairs.filter(~is_within)
    keys = [*PAIR_OF_GROUPS, "repetition"]
    of_group = between.select(
        *keys,
        instance="instance",
        partner="other_instance",
        unit="prompt",
        score="value",
        is_other=pl.lit(value=False),
    )
    of_other = between.select(
        *keys,
        instance="other_instance",
        partner="instance",
        unit="prompt",
        score="value",
        is_other=pl.lit(value=True),
    )
    return pl.concat([of_group, of_other]).join(null_means, on="instance", how="left")


SENTENCES = Sentences(
    answers,
    explained=("bias_type", "group", "other"),
    measure=EVIDENCE_MEASURE,
    concerns=lambda about: pl.col("group").is_in([about["group"], about["other"]]),
    options=similarity_options,
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
