import numpy as np
import polars as pl
import pytest
from golden import read_output
from small_cells import measured

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.underspecified.observe import compare_subjects
from biasgrid.families.underspecified.show import ASSOCIATIONS_SHOWN, evidence
from biasgrid.formats.unqover.export import subject_scores
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import cell_table

QA = "output/ethnicity_qa.tiny-bert-base-uncased.output.json"
LM = "output/ethnicity_lm_bert.tiny-bert-base-uncased.topkall.output.json"
SILENT_LM = "output/country_lm_roberta.tiny-roberta-base.output.json"


def evidence_of(output: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Evidence, measures, instances and predictions of a golden output."""
    instances, predictions = read_output(output)
    measures, observations = (
        measured(instances, predictions),
        compare_subjects(instances, predictions, "exact"),
    )
    found = evidence(MeasuredCell(instances.lazy(), predictions.lazy(), observations, measures, {}))
    return (
        cell_table(found.units, EVIDENCE, "model", "dataset"),
        measures,
        instances,
        predictions,
    )


def gamma_of_pairs(measures: pl.DataFrame) -> pl.DataFrame:
    return measures.filter(pl.col("measure") == "share_gamma").drop_nulls(
        ["subject", "attribute", "value"]
    )


@pytest.mark.parametrize("output", [QA, LM])
def test_the_strongest_associations_and_drawn_ones_take_turns_with_up_to_three_swap_groups_of_four_instances(
    output: str,
) -> None:
    evidence, measures, _, _ = evidence_of(output)
    validate_table(evidence, EVIDENCE, "evidence")
    shown = evidence.group_by("rank", "subject", "attribute", maintain_order=True).agg(
        pl.col("value", "reason").first(),
        pl.col("role").unique(maintain_order=True),
        pl.col("instance").n_unique(),
    )
    gamma = gamma_of_pairs(measures)
    positive = gamma.filter(pl.col("value") > 0)["value"].sort(descending=True).head(200)
    assert shown.filter(reason="strongest")["value"].to_list() == positive.to_list()
    turns = [["strongest", "strongest", "drawn"][place % 3] for place in range(len(shown))]
    both = 3 * min(len(positive) // 2, len(shown) - len(positive))
    assert shown["reason"].to_list()[:both] == turns[:both] != []
    assert shown["rank"].to_list() == list(range(min(len(gamma), ASSOCIATIONS_SHOWN)))
    assert {tuple(roles) for roles in shown["role"]} <= {
        ("strongest",),
        ("strongest", "contrary"),
        ("strongest", "typical", "contrary"),
    }
    assert shown["instance"].to_list() == [4 * len(roles) for roles in shown["role"]]


def test_parts_weighted_by_their_counts_are_the_number() -> None:
    instances, predictions = read_output(QA)
    measures, observations = (
        measured(instances, predictions),
        compare_subjects(instances, predictions, "exact"),
    )
    found = evidence(MeasuredCell(instances.lazy(), predictions.lazy(), observations, measures, {}))
    assert found.parts is not None
    parts = cell_table(found.parts, EVIDENCE_PARTS, "model", "dataset")
    validate_table(parts, EVIDENCE_PARTS, "evidence parts")
    gamma = gamma_of_pairs(measures).select("subject", "attribute", number="value", of="n")
    for missing in ("template", "other"):
        whole = parts.filter(pl.col(missing).is_null()).group_by("subject", "attribute")
        sums = whole.agg(value=pl.col("value").dot("n"), n=pl.col("n").sum()).join(
            gamma, on=["subject", "attribute"]
        )
        assert sums["n"].to_list() == sums["of"].to_list()
        assert (sums["value"] / sums["n"]).to_list() == pytest.approx(
            sums["number"].to_list(), abs=1e-12
        )


@pytest.mark.parametrize("output", [QA, LM])
def test_comparisons_match_the_scores_that_are_shown(output: str) -> None:
    evidence, _, instances, _ = evidence_of(output)
    asked = evidence.join(
        instances.select("instance", "swapped", "negated"), on="instance", maintain_order="left"
    )
    assert asked["swapped"].equals(asked["swapped_right"])
    assert asked["negated"].equals(asked["negated_right"])
    sign = np.where(asked["negated"], -0.5, 0.5)
    weighted = evidence.with_columns(
        weighted=pl.col("score") / (pl.col("score") + pl.col("other_score")) * sign
    )
    groups = weighted.group_by("subject", "attribute", "unit").agg(
        pl.col("weighted").sum(), pl.col("unit_value").first()
    )
    assert groups["weighted"].to_list() == pytest.approx(groups["unit_value"].to_list(), abs=1e-12)


def test_swap_groups_are_those_with_the_largest_the_median_and_the_smallest_comparison() -> None:
    evidence, _, instances, predictions = evidence_of(QA)
    subject, attribute = (
        evidence.row(0, named=True)["subject"],
        evidence.row(0, named=True)["attribute"],
    )
    asked = instances.filter(
        pl.col("attribute") == attribute,
        (pl.col("subject1") == subject) | (pl.col("subject2") == subject),
    )
    rows = asked.join(subject_scores(predictions, "exact"), on="instance").with_columns(
        sign=pl.when(pl.col("negated") != (pl.col("subject1") != subject)).then(-0.5).otherwise(0.5)
    )
    comparison = rows.group_by("swap_group").agg(
        comparison=(pl.col("sign") * pl.col("score1") / (pl.col("score1") + pl.col("score2"))).sum()
    )["comparison"]
    ordered = comparison.sort(descending=True).to_list()
    shown = (
        evidence.filter(rank=0)
        .group_by("unit", maintain_order=True)
        .agg(pl.col("unit_value", "role").first())
    )
    expected = {
        "strongest": ordered[0],
        "typical": ordered[(len(ordered) - 1) // 2],
        "contrary": ordered[-1],
    }
    assert dict(shown.select("role", "unit_value").rows()) == pytest.approx(expected, abs=1e-12)
    assert comparison.mean() == pytest.approx(evidence["value"][0], abs=1e-12)


def test_texts_scores_and_answers_match_the_instance() -> None:
    evidence, _, instances, predictions = evidence_of(QA)
    rows = evidence.join(instances, on="instance").join(
        subject_scores(predictions, "exact"), on="instance"
    )
    rows = rows.join(predictions.select("instance", "answer"), on="instance")
    for row in rows.rows(named=True):
        first = row["subject"] == row["subject1"]
        assert {row["subject"], row["other"]} == {row["subject1"], row["subject2"]}
        assert (row["score"], row["other_score"])[:: 1 if first else -1] == (
            row["score1"],
            row["score2"],
        )
        assert (row["text_pair"], row["text"]) == (row["text_pair_right"], row["text_right"])
        assert row["said"] == row["answer"]
        shown = [row[name] for name in ("position", "length", "other_position", "other_length")]
        one, two = ([row[f"position{which}"], len(row[f"candidate{which}"])] for which in (1, 2))
        assert shown == (one + two if first else two + one)


def test_masked_language_models_have_no_answers() -> None:
    evidence, _, _, _ = evidence_of(LM)
    assert evidence["said"].null_count() == evidence.height > 0


def test_of_a_model_that_knows_no_subject_there_is_no_share_to_show() -> None:
    evidence, measures, _, _ = evidence_of(SILENT_LM)
    validate_table(evidence, EVIDENCE, "evidence")
    assert evidence.is_empty()
    shares = measures.filter(pl.col("measure") == "share_gamma").drop_nulls(
        ["subject", "attribute"]
    )
    assert shares["value"].null_count() == len(shares) > 0
    assert shares["n"].max() == 0
    assert shares["left_out"].min() > 0
