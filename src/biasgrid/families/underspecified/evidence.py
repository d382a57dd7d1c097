"""The evidence for the associations of a cell: swap groups, and means by template and partner."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import numpy as np
import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import Sentences, with_roles
from biasgrid.families.underspecified.observe import (
    both_sides,
    least_mass,
    preferences_of,
    scores_in_groups,
)
from biasgrid.families.underspecified.page import SHOWN_MEASURE
from biasgrid.families.underspecified.swap_groups import ASSOCIATION
from biasgrid.families.underspecified.tallies.axes import AnsweredGroups
from biasgrid.tables.evidence import Evidence
from biasgrid.tables.files import means_by

ASSOCIATIONS_SHOWN = 300
"""Most associations of a cell that have evidence; a smaller report carries fewer of them."""
STRONGEST_ASSOCIATIONS = 200
"""Most of these that are the strongest ones; the rest are drawn."""
DRAW_SEED = 1


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the swap groups behind associations of a cell, and their means by template and partner.

    Returns:
        Of each association that `choose_associations` returns the four instances of its swap groups
        with the largest C of shares, the median one and the smallest, and the means of C by
        template and by other subject. `other` and `template` of the units are those of the swap
        group, `value` is the association.
    """
    associations = choose_associations(cell.measures)
    if associations.is_empty():
        return Evidence(pl.DataFrame())
    answered = AnsweredGroups(cell.observed)
    sides = sides_of_associations(associations, answered, least_of_cell(answered, cell))
    groups = with_roles(sides.rename({"comparison": "unit_value", "swap_group": "unit"}), ["rank"])
    means = [association_means(sides, "template"), association_means(sides, "other")]
    return Evidence(
        SENTENCES.with_texts(instances_of_groups(groups, cell), cell),
        pl.concat(means, how="diagonal"),
    )


def choose_associations(measures: pl.DataFrame) -> pl.DataFrame:
    """Chooses the associations that have evidence.

    The strongest are positive ones: each C(x1, x2) counts for x1 and reversed for x2, so that a
    negative gamma repeats the positive gammas of the subject's partners.

    Returns:
        `rank`, `subject`, `attribute`, `value` and `reason`: in turns the two strongest
        associations that are left and one that was drawn from all others, so that a report that
        carries few has both.
    """
    gamma = measures.filter(measure=SHOWN_MEASURE).drop_nulls([*ASSOCIATION, "value"])
    gamma = gamma.select(*ASSOCIATION, "value")
    ordered = gamma.sort("value", *ASSOCIATION, descending=[True, False, False])
    strongest = ordered.filter(pl.col("value") > 0).head(STRONGEST_ASSOCIATIONS)
    others = ordered.slice(len(strongest))
    draws = min(ASSOCIATIONS_SHOWN - len(strongest), len(others))
    drawn = others[Random(DRAW_SEED).sample(range(len(others)), draws)]
    strongest_turns = [place // 2 for place in range(len(strongest))]
    drawn_turns = list(range(draws))
    reasons = ["strongest"] * len(strongest) + ["drawn"] * draws
    rows = pl.concat([strongest, drawn]).with_columns(
        pl.Series("reason", reasons, dtype=pl.String),
        pl.Series("turn", strongest_turns + drawn_turns, dtype=pl.Int64),
    )
    rows = rows.sort("turn", maintain_order=True).drop("turn")
    return rows.cast(dict.fromkeys(ASSOCIATION, pl.Categorical)).with_row_index("rank")


def sides_of_associations(
    associations: pl.DataFrame, answered: AnsweredGroups, least: float
) -> pl.DataFrame:
    """Returns the swap groups of associations that have a share, as seen from their subject.

    Args:
        associations: from `choose_associations`, whose columns are added.
        answered: the swap groups of the cell.
        least: the least S(x) + S(y) that a share is made of.

    Returns:
        Columns of `both_sides`, with C of shares as `comparison`.
    """
    axes = answered.axes
    is_chosen = np.zeros(axes.shape[:2], dtype=np.bool_)
    subject, attribute = associations["subject"], associations["attribute"]
    is_chosen[axes.subject_places(subject), axes.attribute_places(attribute)] = True
    tables = []
    for part in answered:
        groups = axes.swap_groups(part)
        x1_is_chosen = is_chosen[groups.one, groups.attribute]
        x2_is_chosen = is_chosen[groups.other, groups.attribute]
        chosen = part.filter(pl.Series(x1_is_chosen | x2_is_chosen))
        sides = both_sides(with_shares(chosen, least))
        tables.append(sides.join(associations, on=ASSOCIATION))
    return pl.concat(tables).sort("rank", "swap_group")


def with_shares(groups: pl.DataFrame, least: float) -> pl.DataFrame:
    """Returns the swap groups that have a share, with C of shares as `comparison`."""
    share = preferences_of(scores_in_groups(groups), least).share
    rows = groups.with_columns(comparison=pl.Series(share))
    return rows.filter(pl.col("comparison").is_not_nan())


def least_of_cell(answered: AnsweredGroups, cell: MeasuredCell) -> float:
    """Returns the least S(x) + S(y) that a share is made of in a cell."""
    return least_mass(map(scores_in_groups, answered), cell.options.get("precision"))


def association_means(sides: pl.DataFrame, key: str) -> pl.DataFrame:
    """Returns the means of associations by template or by other subject.

    Args:
        sides: from `sides_of_associations`.
        key: `template` or `other`.

    Returns:
        Columns of `EVIDENCE_PARTS`.
    """
    keys = ["rank", *ASSOCIATION, key]
    counts = sides.group_by(keys).agg(n=pl.len())
    rows = means_by(sides, keys, "comparison").join(counts, on=keys, maintain_order="left")
    # Names are sorted as text, whatever the order of their categories.
    place = pl.col(key).cast(pl.String) if key == "other" else pl.col(key)
    return rows.sort("rank", place).select(
        *ASSOCIATION,
        key,
        "n",
        value="comparison",
        measure=pl.lit(SHOWN_MEASURE),
        options=pl.lit(""),
    )


def instances_of_groups(groups: pl.DataFrame, cell: MeasuredCell) -> pl.DataFrame:
    """Returns the instances of swap groups with their scores.

    Args:
        groups: `unit`, `unit_value`, `subject`, `other`, `attribute`, `template`, `value`, `rank`,
            `reason`, `role`.
        cell: the cell.

    Returns:
        Columns of `EVIDENCE` but those of `SENTENCES.asked`.
    """
    # Behind the order and the question; x1 stands first where the order is not swapped.
    place = 4 * pl.col("swapped").cast(pl.Int64) + 2 * pl.col("negated").cast(pl.Int64)
    first = pl.col("swapped").cast(pl.Int64)
    is_chosen = is_among("swap_group", groups["unit"])
    instances = cell.instances.filter(is_chosen).drop("template", "attribute")
    scores = pl.concat(
        part.select("swap_group", "scores").filter(is_chosen) for part in cell.parts
    ).lazy()
    rows = groups.lazy().join(instances, left_on="unit", right_on="swap_group")
    rows = rows.join(scores, left_on="unit", right_on="swap_group").with_columns(
        score1=pl.col("scores").arr.get(place + first),
        score2=pl.col("scores").arr.get(place + 1 - first),
        length1=length_in_context(1),
        length2=length_in_context(2),
    )
    columns_of_subjects = []
    for name in ("score", "position", "length"):
        columns_of_subjects += [subject_columns(name, ""), subject_columns(name, "other_")]
    rows = rows.select(
        "subject",
        "attribute",
        "other",
        "template",
        "value",
        "rank",
        "reason",
        "role",
        "unit",
        "unit_value",
        "instance",
        "swapped",
        "negated",
        *columns_of_subjects,
        measure=pl.lit(SHOWN_MEASURE),
        options=pl.lit(""),
    )
    return rows.sort("rank", -pl.col("unit_value"), "unit", "instance").collect()


def length_in_context(which: int) -> pl.Expr:
    """Returns the number of characters of subject 1 or 2 in the context.

    It is null for letters of options, which are at no place in the context.
    """
    length = pl.col(f"candidate{which}").cast(pl.String).str.len_chars()
    return pl.when(pl.col(f"position{which}").is_not_null()).then(length)


def is_among(column: str, values: pl.Series) -> pl.Expr:
    """Returns whether the value of each row is one of `values`."""
    return pl.col(column).is_in(values.implode())


def subject_columns(name: str, prefix: str) -> pl.Expr:
    """Returns a column of the subject that an example is about, or of the other subject.

    Args:
        name: the name of the column, without the 1 or 2 of its subject.
        prefix: empty for the subject of the example, `other_` for the other one.
    """
    is_first = (pl.col("subject") == pl.col("subject1")) != (prefix == "other_")
    return pl.when(is_first).then(f"{name}1").otherwise(f"{name}2").alias(f"{prefix}{name}")


def swap_groups(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns the instances of all swap groups of an association, largest C first.

    Args:
        cell: the cell, with the observations of the attribute.
        about: `subject` and `attribute`.

    Returns:
        Columns of `EVIDENCE`.
    """
    assert about is not None
    subject = about["subject"]
    has_subject = pl.any_horizontal(
        pl.col(name).cast(pl.String) == subject for name in ("subject1", "subject2")
    )
    answered = AnsweredGroups(cell.observed)
    least = least_of_cell(answered, cell)
    shares = pl.concat(with_shares(part.filter(has_subject), least) for part in answered)
    sides = both_sides(shares.sort("swap_group"))
    sides = sides.filter(pl.col("subject").cast(pl.String) == subject)
    groups = sides.select(
        "subject",
        "other",
        "attribute",
        "template",
        unit="swap_group",
        unit_value="comparison",
        value=pl.lit(None, pl.Float64),
        rank=pl.lit(0),
        reason=pl.lit(""),
        role=pl.lit(""),
    )
    return instances_of_groups(groups, cell)


def concerns_association(about: Mapping[str, str]) -> pl.Expr:
    """Whether an instance is of a swap group of an association."""
    subject = about["subject"]
    has_subject = (pl.col("subject1") == subject) | (pl.col("subject2") == subject)
    return (pl.col("attribute") == about["attribute"]) & has_subject


SENTENCES = Sentences(
    swap_groups,
    explained=("subject", "attribute"),
    measure=SHOWN_MEASURE,
    concerns=concerns_association,
    asked={"text": "text", "text_pair": "text_pair"},
    said="answer",
)
