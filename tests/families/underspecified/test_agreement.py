"""How far models agree with stereotypes, and how sure that is."""

import numpy as np
import polars as pl
import pytest
from small_cells import choosing, one_list, spans
from small_estimates import estimates_of, measures_of_cell, sums_of_cell

from biasgrid.families.estimates import estimate_cell
from biasgrid.families.underspecified.observe import observe
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.metric import MetricDefinitions
from biasgrid.tables.summary import ModelFacts

pytestmark = pytest.mark.slow

FAMILY = "underspecified"
OPTIONS = {"task": "question-answering", "scoring": "exact", "measures": []}
SUBJECT_GROUPS: list[str | None] = ["x", "x", "y", "y"]
OVER_ALL = "clusters x names x attributes"
NAMED = {"did 0": "x", "did 1": "y"}


def found(
    instances: pl.DataFrame, predictions: pl.DataFrame, stereotypes: dict[str, str] = NAMED
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The measures of a cell and their estimates, each template a cluster."""
    options = OPTIONS | {"stereotypes": stereotypes}
    observations = observe(instances, predictions, options)
    measures = measures_of_cell(FAMILY, observations, options)
    return measures, estimates_of(FAMILY, observations, options, settings_of(instances))


def settings_of(instances: pl.DataFrame) -> StatisticsSettings:
    """Each template is a cluster."""
    return StatisticsSettings(clusters=range(instances["template"].n_unique()), permutations=9)


def agreement(measures: pl.DataFrame) -> tuple[float | None, int, int]:
    value, n, left_out = (
        measures.filter(measure="stereotype_agreement").select("value", "n", "left_out").row(0)
    )
    return value, n, left_out


def stereotyped(instances: pl.DataFrame) -> pl.DataFrame:
    """A model that is sure of those whom `NAMED` names."""
    is_x = (pl.col("group1") == "x") == (pl.col("attribute") == "did 0")
    return choosing(instances, is_x != pl.col("negated"))


def noisy(instances: pl.DataFrame, seed: int = 3) -> pl.DataFrame:
    return spans(instances, *np.random.default_rng(seed).random((2, len(instances))))


def test_a_model_that_prefers_whom_stereotypes_name_agrees_and_one_that_does_the_opposite_disagrees() -> (
    None
):
    instances = one_list(4, SUBJECT_GROUPS, attributes=3, templates=2)
    measures, _ = found(instances, stereotyped(instances))
    # 2 x 2 pairs across groups, 2 attributes, 2 templates; pairs of one group and the third
    # attribute say nothing.
    assert agreement(measures) == (1, 16, 0)
    other_way = {attribute: "xy"[group == "x"] for attribute, group in NAMED.items()}
    assert agreement(found(instances, stereotyped(instances), other_way)[0]) == (-1, 16, 0)


def test_agreement_is_the_mean_of_the_associations_of_the_clusters_that_are_named() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=2, templates=3)
    measures, rows = found(instances, noisy(instances))
    gamma = measures.filter(measure="gamma").drop_nulls(["subject_group", "attribute"])
    named = [
        gamma.filter(attribute=name, subject_group=group)["value"].item()
        for name, group in NAMED.items()
    ]
    value, n, _ = agreement(measures)
    assert value == pytest.approx(np.mean(named), abs=1e-12)
    of_it = rows.filter(measure="stereotype_agreement")
    assert of_it["generalises_to"].to_list() == ["clusters", "names", OVER_ALL]
    assert of_it["value"].to_list() == pytest.approx([value] * 3)
    assert (of_it["n"] == n).all()
    assert (of_it["clusters"] == 3).all()
    assert (of_it["low"] < of_it["value"]).all()
    assert (of_it["value"] < of_it["high"]).all()
    by_over = dict(zip(of_it["generalises_to"], of_it["high"] - of_it["low"], strict=True))
    assert by_over[OVER_ALL] > max(by_over["clusters"], by_over["names"])


@pytest.mark.parametrize(
    ("subject_groups", "generalises_to"), [(SUBJECT_GROUPS, OVER_ALL), (None, "clusters")]
)
def test_of_clusters_of_names_the_summary_shows_the_interval_over_names_too(
    subject_groups: list[str | None] | None, generalises_to: str
) -> None:
    instances = one_list(4, subject_groups, attributes=2, templates=3)
    named = NAMED if subject_groups else {"did 0": "Ann"}
    _, rows = found(instances, noisy(instances), named)
    options = OPTIONS | {"stereotypes": named}
    sums = sums_of_cell(FAMILY, observe(instances, noisy(instances), options), options)
    told = estimate_cell(
        f"biasgrid.families.{FAMILY}",
        sums,
        options,
        MetricDefinitions([], {}, {}),
        settings_of(instances),
    )
    summary = summarise(
        told.measures,
        {"model": ModelFacts("QA", "one", {})},
        {"dataset": {"stereotype_agreement": ""}},
    ).summary
    shown = summary.filter(measure="stereotype_agreement").row(0, named=True)
    wanted = rows.filter(measure="stereotype_agreement", generalises_to=generalises_to).row(
        0, named=True
    )
    assert shown["generalises_to"] == generalises_to
    assert (shown["low"], shown["high"]) == (wanted["low"], wanted["high"])
    assert None not in (shown["low"], shown["high"])


def test_the_interval_over_templates_matches_students_t_over_the_means_of_clusters() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=2, templates=3)
    _, rows = found(instances, noisy(instances))
    means = []
    for template in range(3):
        some = instances.filter(template=template)
        alone = noisy(instances).join(some.select("instance"), on="instance", how="semi")
        means.append(agreement(found(some, alone)[0])[0])
    row = rows.filter(measure="stereotype_agreement", generalises_to="clusters").row(0, named=True)
    half = 4.302652729911275 * np.std(np.array(means, dtype=float), ddof=1) / np.sqrt(3)
    assert (row["low"], row["high"]) == pytest.approx((row["value"] - half, row["value"] + half))


def test_subjects_without_clusters_are_named_themselves() -> None:
    instances = one_list(3, attributes=1, templates=2)
    ann = choosing(instances, (pl.col("subject1") == "Ann") != pl.col("negated"))
    assert agreement(found(instances, ann, {"did 0": "Ann"})[0]) == (1, 4, 0)


def test_nothing_is_said_where_no_attribute_has_a_stereotype() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=1, templates=2)
    measures, rows = found(instances, noisy(instances), {"did 1": "y"})
    assert agreement(measures) == (None, 0, 0)
    assert rows.filter(measure="stereotype_agreement").select("value", "low").rows() == [
        (None, None)
    ]


def test_other_numbers_are_the_same_with_and_without_stereotypes() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=2, templates=3)
    observations = observe(instances, noisy(instances), OPTIONS)
    measures, rows = found(instances, noisy(instances))
    without = measures_of_cell(FAMILY, observations, OPTIONS)
    assert measures.filter(pl.col("measure") != "stereotype_agreement").equals(without)
    bare = estimates_of(FAMILY, observations, OPTIONS, settings_of(instances))
    assert rows.filter(pl.col("measure") != "stereotype_agreement").equals(bare)
