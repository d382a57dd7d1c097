"""How far models agree with stereotypes, and how sure that is."""

import numpy as np
import polars as pl
import pytest
from biasgrid.families.underspecified.measure import measure, observe
from biasgrid.families.underspecified.statistics.cell import statistics
from biasgrid.tables.statistics import STATISTICS
from small_cells import choosing, one_list, spans

from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.summary import ModelFacts, summarise

OPTIONS = {"task": "question-answering", "scoring": "exact", "measures": []}
SUBJECT_GROUPS: list[str | None] = ["x", "x", "y", "y"]
NAMED = {"did 0": "x", "did 1": "y"}


def found(
    instances: pl.DataFrame, predictions: pl.DataFrame, stereotypes: dict[str, str] = NAMED
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The measures of a cell and their statistics, each template a cluster."""
    options = OPTIONS | {"stereotypes": stereotypes}
    observations = observe(instances, predictions, options)
    measures = measure(observations, options)
    settings = StatisticsSettings(clusters=range(instances["template"].n_unique()), permutations=9)
    return measures, statistics(observations, measures, options, settings).statistics


def agreement(measures: pl.DataFrame) -> tuple[float | None, int, int]:
    value, n, left_out = measures.filter(measure="stereotype_agreement").select("value", "n", "left_out").row(0)
    return value, n, left_out


def stereotyped(instances: pl.DataFrame) -> pl.DataFrame:
    """A model that is sure of those whom `NAMED` names."""
    is_x = (pl.col("group1") == "x") == (pl.col("attribute") == "did 0")
    return choosing(instances, is_x != pl.col("negated"))


def noisy(instances: pl.DataFrame, seed: int = 3) -> pl.DataFrame:
    return spans(instances, *np.random.default_rng(seed).random((2, len(instances))))


def test_a_model_that_prefers_whom_stereotypes_name_agrees_and_one_that_does_the_opposite_disagrees() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=3, templates=2)
    measures, _ = found(instances, stereotyped(instances))
    # 2 x 2 pairs across groups, 2 attributes, 2 templates; pairs of one group and the third attribute say nothing.
    assert agreement(measures) == (1, 16, 0)
    other_way = {attribute: "xy"[group == "x"] for attribute, group in NAMED.items()}
    assert agreement(found(instances, stereotyped(instances), other_way)[0]) == (-1, 16, 0)


def test_agreement_is_the_mean_of_the_associations_of_the_clusters_that_are_named() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=2, templates=3)
    measures, rows = found(instances, noisy(instances))
    gamma = measures.filter(measure="gamma").drop_nulls(["subject_group", "attribute"])
    named = [gamma.filter(attribute=name, subject_group=group)["value"].item() for name, group in NAMED.items()]
    value, n, _ = agreement(measures)
    assert value == pytest.approx(np.mean(named), abs=1e-12)
    of_it = rows.filter(measure="stereotype_agreement")
    assert of_it["generalises_to"].to_list() == ["templates", "subjects", "all"]
    assert of_it["value"].to_list() == pytest.approx([value] * 3)
    assert (of_it["n"] == n).all()
    assert (of_it["clusters"] == 3).all()
    assert (of_it["low"] < of_it["value"]).all()
    assert (of_it["value"] < of_it["high"]).all()
    by_over = dict(zip(of_it["generalises_to"], of_it["high"] - of_it["low"], strict=True))
    assert by_over["all"] > max(by_over["templates"], by_over["subjects"])


@pytest.mark.parametrize(("subject_groups", "generalises_to"), [(SUBJECT_GROUPS, "all"), (None, "templates")])
def test_of_clusters_of_names_the_summary_shows_the_interval_over_names_too(
    subject_groups: list[str | None] | None, generalises_to: str
) -> None:
    instances = one_list(4, subject_groups, attributes=2, templates=3)
    named = NAMED if subject_groups else {"did 0": "Ann"}
    measures, rows = found(instances, noisy(instances), named)
    cell = {"model": pl.lit("one"), "dataset": pl.lit("faith")}
    known = pl.concat([empty_table(STATISTICS), rows.with_columns(**cell)], how="diagonal_relaxed")
    told = pl.concat([empty_table(MEASURES), measures.with_columns(**cell)], how="diagonal_relaxed")
    summary = summarise(
        told, {"one": ModelFacts("QA", "one", {})}, {"faith": {"stereotype_agreement": ""}}, statistics=known
    )
    shown = summary.filter(measure="stereotype_agreement").row(0, named=True)
    wanted = rows.filter(measure="stereotype_agreement", generalises_to=generalises_to).row(0, named=True)
    assert shown["generalises_to"] == generalises_to
    assert (shown["low"], shown["high"]) == (wanted["low"], wanted["high"])
    assert None not in (shown["low"], shown["high"])


def test_the_interval_over_templates_is_that_of_students_t_over_the_means_of_clusters() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=2, templates=3)
    _, rows = found(instances, noisy(instances))
    means = []
    for template in range(3):
        some = instances.filter(template=template)
        alone = noisy(instances).join(some.select("instance"), on="instance", how="semi")
        means.append(agreement(found(some, alone)[0])[0])
    row = rows.filter(measure="stereotype_agreement", generalises_to="templates").row(0, named=True)
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
    assert rows.filter(measure="stereotype_agreement").is_empty()


def test_other_numbers_are_the_same_with_and_without_stereotypes() -> None:
    instances = one_list(4, SUBJECT_GROUPS, attributes=2, templates=3)
    observations = observe(instances, noisy(instances), OPTIONS)
    measures, rows = found(instances, noisy(instances))
    without = measure(observations, OPTIONS)
    assert measures.filter(pl.col("measure") != "stereotype_agreement").select(without.columns).equals(without)
    settings = StatisticsSettings(clusters=range(3), permutations=9)
    bare = statistics(observations, without, OPTIONS, settings).statistics
    assert rows.filter(pl.col("measure") != "stereotype_agreement").select(bare.columns).equals(bare)
