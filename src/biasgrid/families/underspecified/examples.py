"""The sentences behind the strongest associations of a cell."""

from __future__ import annotations

import polars as pl

from biasgrid.families.underspecified.comparisons import answered, directed

ASSOCIATIONS = 10
SWAP_GROUPS = 2


def strongest_associations(
    instances: pl.LazyFrame, predictions: pl.LazyFrame, observations: pl.DataFrame, measures: pl.DataFrame
) -> pl.DataFrame:
    """Finds the swap groups that show the strongest associations of a cell most clearly.

    Args:
        instances: the family's instances, of which only some rows are read.
        predictions: answers of the kind `span` or `choice`, one for each instance; only some rows are read.
        observations: from `compare_subjects`.
        measures: the cell's measures.

    Returns:
        The four instances of each of these swap groups, strongest association first: columns of `EXAMPLES`. `other`
        and `template` are those of the swap group, `value` is the gamma of the association.
    """
    associations = largest_gammas(measures)
    about = answered(observations).filter(
        is_among("attribute", associations["attribute"]),
        is_among("subject1", associations["subject"]) | is_among("subject2", associations["subject"]),
    )
    groups = clearest_groups(associations, directed(about))
    groups = groups.join(about.select("swap_group", "scores"), on="swap_group", maintain_order="left")
    asked = instances.filter(is_among("swap_group", groups["swap_group"])).collect()
    answer = pl.col("answer") if "answer" in predictions.collect_schema() else pl.lit(None, pl.String)
    said = predictions.select("instance", said=answer).filter(is_among("instance", asked["instance"]))
    return with_sentences(groups, asked, said.collect())


def largest_gammas(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns `rank`, `subject`, `attribute` and `value` of the strongest associations.

    Only positive ones: each C(x1, x2) counts for x1 and reversed for x2, so that a negative gamma says again
    what the positive gammas of the subject's partners say.
    """
    gamma = measures.filter(pl.col("measure") == "gamma", pl.col("value") > 0).drop_nulls(["subject", "attribute"])
    strongest = gamma.sort("value", "subject", "attribute", descending=[True, False, False]).head(ASSOCIATIONS)
    return strongest.select(pl.col("subject", "attribute").cast(pl.Categorical), "value").with_row_index("rank")


def is_among(column: str, values: pl.Series) -> pl.Expr:
    """Says of each row whether its value is one of `values`."""
    return pl.col(column).is_in(values.implode())


def clearest_groups(associations: pl.DataFrame, comparisons: pl.DataFrame) -> pl.DataFrame:
    """Returns, for each association, the swap groups with the largest C for it.

    Args:
        associations: from `largest_gammas`.
        comparisons: from `directed`.
    """
    groups = associations.join(comparisons, on=["subject", "attribute"])
    ordered = groups.sort("rank", "comparison", "swap_group", descending=[False, True, False])
    return ordered.group_by("rank", maintain_order=True).head(SWAP_GROUPS)


def with_sentences(groups: pl.DataFrame, instances: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Returns the instances of swap groups with their texts, scores and answers."""
    # Letters of options stand in no place of the context.
    lengths = {
        f"length{which}": pl.when(pl.col(f"position{which}").is_not_null()).then(
            pl.col(f"candidate{which}").cast(pl.String).str.len_chars()
        )
        for which in (1, 2)
    }
    sentences = instances.drop("template").with_columns(**lengths).join(said, on="instance")
    # Behind the order and the question; x1 stands first where the order is not swapped.
    place = 4 * pl.col("swapped").cast(pl.Int64) + 2 * pl.col("negated").cast(pl.Int64)
    first = pl.col("swapped").cast(pl.Int64)
    rows = groups.join(sentences, on="swap_group").with_columns(
        score1=pl.col("scores").arr.get(place + first), score2=pl.col("scores").arr.get(place + 1 - first)
    )
    ordered = rows.sort("rank", "comparison", "swap_group", "instance", descending=[False, True, False, False])
    return ordered.select(
        "subject", "attribute", "other", "template", "value", "rank", "instance", "swapped", "negated", "text",
        "text_pair", "said",
        *(of_subject(name, prefix) for name in ("score", "position", "length") for prefix in ("", "other_")),
        measure=pl.lit("gamma"),
        options=pl.lit(""),
        reason=pl.lit("strongest"),
        role=pl.lit("strongest"),
        unit="swap_group",
        unit_value="comparison",
    )  # fmt: skip


def of_subject(name: str, prefix: str) -> pl.Expr:
    """Returns what is told of both subjects of an instance, of the one an example is about or of the other."""
    is_first = (pl.col("subject") == pl.col("subject1")) != (prefix == "other_")
    return pl.when(is_first).then(f"{name}1").otherwise(f"{name}2").alias(f"{prefix}{name}")
