"""The evidence for corrected similarities: prompts whose answers for two groups are least, middling and most alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import with_roles
from biasgrid.families.payload import differing_words
from biasgrid.families.rewriting.prompt_sums import PAIR_OF_GROUPS, corrected_similarity_by_prompt
from biasgrid.families.rewriting.section import NEUTRAL_GROUP
from biasgrid.groups.main_scores import main_similarity
from biasgrid.tables.metric import options_of

PROMPTS_SHOWN = 3
"""So many prompts of a pair of groups whose answers differ most, corrected for noise, are shown."""
ANSWERS_PER_GROUP = 2
"""So many answers for each group are shown of a prompt at most."""
SIMILARITY_DECIMALS = 12
EXPLAINED = ("bias_type", "group", "other")
"""What names a number."""
EVIDENCE_MEASURE = "similarity_corrected"


def prompts_of_pairs(cell: MeasuredCell) -> pl.DataFrame:
    """Finds prompts of every pair of groups, by how much less alike answers for the two are than those for one.

    Returns:
        Of each pair of groups the prompts that `with_roles` picks, with a row for each of up to `ANSWERS_PER_GROUP`
        answers for either group, both of a repetition one after the other: columns of `EVIDENCE`. `unit_value` is the
        corrected similarity of the prompt, `score` how like the answer is to that for the other group, `other_score`
        how like it is to others to the same text; `value` is that of the pair.
    """
    options = similarity_options(cell.options)
    pairs = answer_pairs(cell.observations, options)
    prompts = corrected_similarity(pairs).drop_nulls("unit_value")
    chosen = with_roles(prompts, PAIR_OF_GROUPS, PROMPTS_SHOWN).with_row_index("shown")
    numbers = cell.measures.filter(pl.col("other").is_not_null(), measure=EVIDENCE_MEASURE, options=options)
    ranks = numbers.sort(-pl.col("value"), *PAIR_OF_GROUPS, nulls_last=True, maintain_order=True).with_row_index("rank")
    both = answers_of_pairs(pairs).join(chosen, on=[*PAIR_OF_GROUPS, "unit"]).drop_nulls("score")
    both = (
        both.sort("shown", "repetition", "is_other").group_by("shown", maintain_order=True).head(2 * ANSWERS_PER_GROUP)
    )
    return (
        with_answer_texts(both, cell)
        .join(ranks.select("rank", "bias_type", *PAIR_OF_GROUPS, "value"), on=PAIR_OF_GROUPS, maintain_order="left")
        .sort("rank", "shown", "repetition", "is_other", maintain_order=True)
        .select(
            "bias_type", "value", "rank", "role", "unit", "unit_value", "instance", "text", "text_pair", "said",
            "score", "other_score",
            *group_columns(),
            measure=pl.lit(EVIDENCE_MEASURE),
            options=pl.lit(options),
            reason=pl.lit("all"),
        )
    )  # fmt: skip


def similarity_options(options: Mapping[str, Any]) -> str:
    """Returns the options of the similarity that has evidence."""
    return main_similarity(by_vectors=options["embeddings"] is not None)


def answer_pairs(observations: pl.DataFrame, options: str) -> pl.DataFrame:
    """Returns the pairs of answers of one similarity, without those in neutral words."""
    rows = observations.cast({pl.Categorical: pl.String}).drop_nulls("other")
    named = (pl.col("group") != NEUTRAL_GROUP) & (pl.col("other") != NEUTRAL_GROUP)
    return rows.filter(named, score=options_of(options)["score"])


def corrected_similarity(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns of each pair of groups and prompt, the `unit`, the corrected similarity, the `unit_value`."""
    return corrected_similarity_by_prompt(pairs).select(
        *PAIR_OF_GROUPS, unit="prompt", unit_value=pl.col("value").round(SIMILARITY_DECIMALS)
    )


def answers_of_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Takes pairs of answers apart.

    Returns:
        A row for each answer that was compared with that for another group: `group` and `other`, as the pair is called,
        `unit` (the prompt), `repetition`, `instance`, `partner` (the other instance), `is_other` (it is for the second
        group), `score` and `other_score`, see `prompts_of_pairs`.
    """
    is_within = pl.col("group") == pl.col("other")
    same = pairs.filter(is_within)
    either = pl.concat(
        [same.select("instance", "value"), same.select(pl.col("other_instance").alias("instance"), "value")]
    )
    null_means = either.group_by("instance", maintain_order=True).agg(other_score=pl.col("value").mean())
    between = pairs.filter(~is_within).select(
        *PAIR_OF_GROUPS, "repetition", "instance", "other_instance", unit="prompt", score="value"
    )
    first = between.rename({"other_instance": "partner"}).with_columns(is_other=pl.lit(value=False))
    second = between.rename({"instance": "partner", "other_instance": "instance"}).with_columns(
        is_other=pl.lit(value=True)
    )
    return pl.concat([first, second.select(first.columns)]).join(null_means, on="instance", how="left")


def group_columns() -> list[pl.Expr]:
    """Returns the group that an answer is for, and the other one."""
    group, other, is_other = pl.col("group"), pl.col("other"), pl.col("is_other")
    own = pl.when(is_other).then(other).otherwise(group)
    return [own.alias("group"), pl.when(is_other).then(group).otherwise(other).alias("other")]


def with_answer_texts(rows: pl.DataFrame, cell: MeasuredCell) -> pl.DataFrame:
    """Adds to answers what was asked and said: `text`, `text_pair` (the system text) and `said`."""
    wanted = rows.select(pl.col("instance").unique()).lazy()
    asked = cell.instances.select("instance", pl.col("text", "system").cast(pl.String)).rename({"system": "text_pair"})
    said = cell.predictions.select("instance", said=pl.col("response").cast(pl.String))
    texts = wanted.join(asked, on="instance").join(said, on="instance", how="left").collect()
    return rows.join(texts, on="instance", maintain_order="left")


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained: the corrected similarity of a pair of groups."""
    return EVIDENCE_MEASURE, similarity_options(options)


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns the instances of both groups."""
    return instances.filter(pl.col("group").cast(pl.String).is_in([about["group"], about["other"]]))


def units(cell: MeasuredCell, about: Mapping[str, str]) -> pl.DataFrame:
    """Returns all answers for two groups, those of a repetition one after the other, the least alike prompts first.

    Returns:
        Columns of `EVIDENCE` as in `prompts_of_pairs`, with null where an answer says nothing; and `asked_apart`,
        `system_apart` and `said_apart`, the words of prompt, system text and answer that the other group's lack.
    """
    pairs = answer_pairs(cell.observations, similarity_options(cell.options))
    both = answers_of_pairs(pairs).join(corrected_similarity(pairs), on=[*PAIR_OF_GROUPS, "unit"])
    rows = with_answer_texts(both, cell)
    texts = rows.select(
        *PAIR_OF_GROUPS,
        "repetition",
        "unit",
        partner="instance",
        asked_there="text",
        said_there="said",
        system_there="text_pair",
    )
    return (
        rows.join(texts, on=[*PAIR_OF_GROUPS, "repetition", "unit", "partner"], how="left")
        .sort("unit_value", "unit", "repetition", "is_other", descending=[True, *[False] * 3], nulls_last=True)
        .select(
            "unit", "unit_value", "instance", "text", "text_pair", "said", "score", "other_score",
            *group_columns(),
            bias_type=pl.lit(about["bias_type"]),
            asked_apart=different_words("text", "asked_there"),
            system_apart=different_words("text_pair", "system_there"),
            said_apart=different_words("said", "said_there"),
        )
    )  # fmt: skip


def different_words(text: str, other: str) -> pl.Expr:
    """Returns the words of a column of texts that those of another column have not."""
    return pl.struct(text, other).map_elements(
        lambda row: differing_words(row[text], row[other]), return_dtype=pl.String
    )
