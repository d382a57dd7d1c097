"""The evidence for the associations of a cell: swap groups, and what an association is by template
and by partner.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

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
from biasgrid.families.underspecified.payload import SHOWN_MEASURE
from biasgrid.families.underspecified.swap_groups import ASSOCIATION
from biasgrid.families.underspecified.tallies.axes import AnsweredGroups
from biasgrid.tables.evidence import Evidence
from biasgrid.tables.files import means_by

ASSOCIATIONS_SHOWN = 300
"""So many associations of a cell have evidence; a report that may not be so large carries fewer of
them.
"""
STRONGEST_ASSOCIATIONS = 200
"""So many of these are the strongest ones; the rest are drawn."""
DRAW_SEED = 1


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds the swap groups that show associations of a cell, and what these are by template and by
    partner.

    Returns:
        Of each association that `choose_associations` returns the four instances of its swap groups
        with the largest C of shares, the median one and the smallest, and the means of C by
        template and by other subject. `other` and `template` of the units are those of the swap
        group, `value` is the association.
    """
    associations = choose_associations(cell.measures)
    if associations.is_empty():
        return Evidence(pl.DataFrame())
    known = AnsweredGroups(cell.observed)
    sides = sides_of_associations(associations, known, least_of_cell(known, cell))
    groups = with_roles(sides.rename({"comparison": "unit_value", "swap_group": "unit"}), ["rank"])
    return Evidence(
        SENTENCES.with_texts(instances_of_groups(groups, cell), cell),
        pl.concat(
            [association_means(sides, "template"), association_means(sides, "other")],
            how="diagonal",
        ),
    )


def choose_associations(measures: pl.DataFrame) -> pl.DataFrame:
    """Chooses the associations that have evidence.

    The strongest are positive ones: each C(x1, x2) counts for x1 and reversed for x2, so that a
    negative gamma says again what the positive gammas of the subject's partners say.

    Returns:
        `rank`, `subject`, `attribute`, `value` and `reason`: in turns the two strongest
        associations that are left and one that was drawn from all others, so that a report that
        carries few has both.
    """
    gamma = (
        measures.filter(measure=SHOWN_MEASURE)
        .drop_nulls([*ASSOCIATION, "value"])
        .select(*ASSOCIATION, "value")
    )
    ordered = gamma.sort("value", *ASSOCIATION, descending=[True, False, False])
    strongest = ordered.filter(pl.col("value") > 0).head(STRONGEST_ASSOCIATIONS)
    others = ordered.slice(len(strongest))
    places = Random(DRAW_SEED).sample(
        range(len(others)), min(ASSOCIATIONS_SHOWN - len(strongest), len(others))
    )
    reasons = pl.Series(
        "reason", ["strongest"] * len(strongest) + ["drawn"] * len(places), dtype=pl.String
    )
    turns = pl.Series(
        "turn",
        [*(place // 2 for place in range(len(strongest))), *range(len(places))],
        dtype=pl.Int64,
    )
    rows = pl.concat([strongest, others[places]]).with_columns(reasons, turns)
    rows = rows.sort("turn", maintain_order=True).drop("turn")
    return rows.cast(dict.fromkeys(ASSOCIATION, pl.Categorical)).with_row_index("rank")


def sides_of_associations(
    associations: pl.DataFrame, known: AnsweredGroups, least: float
) -> pl.DataFrame:
    """Returns the swap groups of associations that have a share, as `both_sides` does, with C of
    shares.

    Args:
        associations: from `choose_associations`, whose columns are added.
        known: the swap groups of the cell.
        least: the least S(x) + S(y) that a share is made of.
    """
    axes = known.axes
    is_chosen = np.zeros(axes.shape[:2], dtype=np.bool_)
    subject, attribute = associations["subject"], associations["attribute"]
    is_chosen[axes.subject_places(subject), axes.attribute_places(attribute)] = True
    found = []
    for part in known:
        groups = axes.swap_groups(part)
        concerned = (
            is_chosen[groups.one, groups.attribute] | is_chosen[groups.other, groups.attribute]
        )
        sides = both_sides(with_shares(part.filter(pl.Series(concerned)), least))
        found.append(sides.join(associations, on=ASSOCIATION))
    return pl.concat(found).sort("rank", "swap_group")


def with_shares(chosen: pl.DataFrame, least: float) -> pl.DataFrame:
    """Returns the swap groups that have a share, with C of shares as `comparison`, of some of
    them.
    """
    share = preferences_of(scores_in_groups(chosen), least).share
    return chosen.with_columns(comparison=pl.Series(share)).filter(
        pl.col("comparison").is_not_nan()
    )


def least_of_cell(known: AnsweredGroups, cell: MeasuredCell) -> float:
    """Returns the least S(x) + S(y) that a share is made of in a cell."""
    return least_mass(map(scores_in_groups, known), cell.options.get("precision"))


def association_means(sides: pl.DataFrame, key: str) -> pl.DataFrame:
    """Returns what associations are by template or by other subject: columns of
    `EVIDENCE_PARTS`.
    """
    keys = ["rank", *ASSOCIATION, key]
    counts = sides.group_by(keys).agg(n=pl.len())
    rows = means_by(sides, keys, "comparison").join(counts, on=keys, maintain_order="left")
    return rows.sort("rank", pl.col(key).cast(pl.String) if key == "other" else key).select(
        *ASSOCIATION,
        key,
        "n",
        value="comparison",
        measure=pl.lit(SHOWN_MEASURE),
        options=pl.lit(""),
    )


def instances_of_groups(groups: pl.DataFrame, cell: MeasuredCell) -> pl.DataFrame:
    """Returns the instances of swap groups with their scores: columns of `EVIDENCE` but those of
    `SENTENCES.asked`.

    Args:
        groups: `unit`, `unit_value`, `subject`, `other`, `attribute`, `template`, `value`, `rank`,
            `reason`, `role`.
        cell: the cell.
    """
    # Letters of options stand in no place of the context.
    lengths = {
        f"length{which}": pl.when(pl.col(f"position{which}").is_not_null()).then(
            pl.col(f"candidate{which}").cast(pl.String).str.len_chars()
        )
        for which in (1, 2)
    }
    # Behind the order and the question; x1 stands first where the order is not swapped.
    place = 4 * pl.col("swapped").cast(pl.Int64) + 2 * pl.col("negated").cast(pl.Int64)
    first = pl.col("swapped").cast(pl.Int64)
    asked = cell.instances.filter(is_among("swap_group", groups["unit"])).drop(
        "template", "attribute"
    )
    of_groups = is_among("swap_group", groups["unit"])
    scores = pl.concat(
        part.select("swap_group", "scores").filter(of_groups) for part in cell.parts
    ).lazy()
    rows = groups.lazy().join(asked, left_on="unit", right_on="swap_group")
    rows = rows.join(scores, left_on="unit", right_on="swap_group").with_columns(
        score1=pl.col("scores").arr.get(place + first),
        score2=pl.col("scores").arr.get(place + 1 - first),
        **lengths,
    )
    found = rows.select(
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
        *(
            subject_columns(name, prefix)
            for name in ("score", "position", "length")
            for prefix in ("", "other_")
        ),
        measure=pl.lit(SHOWN_MEASURE),
        options=pl.lit(""),
    )
    return found.sort("rank", -pl.col("unit_value"), "unit", "instance").collect()


def is_among(column: str, values: pl.Series) -> pl.Expr:
    """Says of each row whether its value is one of `values`."""
    return pl.col(column).is_in(values.implode())


def subject_columns(name: str, prefix: str) -> pl.Expr:
    """Returns what is told of both subjects of an instance, of the one an example is about or of
    the other.
    """
    is_first = (pl.col("subject") == pl.col("subject1")) != (prefix == "other_")
    return pl.when(is_first).then(f"{name}1").otherwise(f"{name}2").alias(f"{prefix}{name}")


def number(about: Mapping[str, str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Returns measure and options of the number that is explained."""
    return SHOWN_MEASURE, ""


def relevant_instances(instances: pl.LazyFrame, about: Mapping[str, str]) -> pl.LazyFrame:
    """Returns the instances of all swap groups of an association."""
    subject = pl.lit(about["subject"])
    return instances.filter(
        pl.col("attribute") == about["attribute"],
        (pl.col("subject1") == subject) | (pl.col("subject2") == subject),
    )


def swap_groups(cell: MeasuredCell, about: Mapping[str, str] | None) -> pl.DataFrame:
    """Returns the instances of all swap groups of an association, largest C first: columns of
    `EVIDENCE`.
    """
    assert about is not None
    named = pl.any_horizontal(
        pl.col(name).cast(pl.String) == about["subject"] for name in ("subject1", "subject2")
    )
    known = AnsweredGroups(cell.observed)
    least = least_of_cell(known, cell)
    shares = pl.concat(with_shares(part.filter(named), least) for part in known)
    sides = both_sides(shares.sort("swap_group")).filter(
        pl.col("subject").cast(pl.String) == about["subject"]
    )
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


SENTENCES = Sentences(
    swap_groups,
    explained=("subject", "attribute"),
    number=number,
    relevant_instances=relevant_instances,
    asked={"text": "text", "text_pair": "text_pair"},
    said="answer",
)
