import numpy as np
import polars as pl
import pytest
from golden import needs_golden_files, read_output
from small_cells import measured

from biasgrid.families.underspecified.comparisons import compare_subjects, scores
from biasgrid.families.underspecified.examples import strongest_associations
from biasgrid.tables.files import validate
from biasgrid.tables.measures import EXAMPLES, table_of_cell

pytestmark = needs_golden_files()

QA = "output/ethnicity_qa.tiny-bert-base-uncased.output.json"
LM = "output/ethnicity_lm_bert.tiny-bert-base-uncased.topkall.output.json"
SILENT_LM = "output/country_lm_roberta.tiny-roberta-base.output.json"


def examples_of(output: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Examples, measures, instances and predictions of a golden output."""
    instances, predictions = read_output(output)
    measures, observations = measured(instances, predictions), compare_subjects(instances, predictions, "exact")
    rows = strongest_associations(instances.lazy(), predictions.lazy(), observations, measures)
    return table_of_cell(rows, EXAMPLES, "model", "dataset"), measures, instances, predictions


def gamma_of_pairs(measures: pl.DataFrame) -> pl.DataFrame:
    return measures.filter(pl.col("measure") == "gamma").drop_nulls(["subject", "attribute"])


@pytest.mark.parametrize("output", [QA, LM])
def test_the_strongest_associations_come_first_with_two_swap_groups_of_four_instances(output: str) -> None:
    examples, measures, _, _ = examples_of(output)
    validate(examples, EXAMPLES, "examples")
    gamma = gamma_of_pairs(measures).filter(pl.col("value") > 0)["value"].sort(descending=True).head(10)
    shown = examples.group_by("subject", "attribute", maintain_order=True).agg(
        pl.col("rank", "value").first(), pl.col("unit").n_unique(), pl.col("instance").n_unique()
    )
    assert shown["value"].to_list() == gamma.to_list()
    assert shown["rank"].to_list() == list(range(len(gamma)))
    assert shown["unit"].unique().to_list() == [2]
    assert shown["instance"].unique().to_list() == [8]


@pytest.mark.parametrize("output", [QA, LM])
def test_comparisons_are_those_of_the_scores_that_are_shown(output: str) -> None:
    examples, _, instances, _ = examples_of(output)
    asked = examples.join(instances.select("instance", "swapped", "negated"), on="instance", maintain_order="left")
    assert asked["swapped"].equals(asked["swapped_right"])
    assert asked["negated"].equals(asked["negated_right"])
    sign = np.where(asked["negated"], -0.25, 0.25)
    weighted = examples.with_columns(weighted=(pl.col("score") - pl.col("other_score")) * sign)
    groups = weighted.group_by("subject", "attribute", "unit").agg(
        pl.col("weighted").sum(), pl.col("unit_value").first()
    )
    assert groups["weighted"].to_list() == pytest.approx(groups["unit_value"].to_list(), abs=1e-15)


def test_the_two_swap_groups_are_those_with_the_largest_comparisons() -> None:
    examples, _, instances, predictions = examples_of(QA)
    subject, attribute = examples.row(0, named=True)["subject"], examples.row(0, named=True)["attribute"]
    asked = instances.filter(
        pl.col("attribute") == attribute, (pl.col("subject1") == subject) | (pl.col("subject2") == subject)
    )
    rows = asked.join(scores(predictions, "exact"), on="instance").with_columns(
        sign=pl.when(pl.col("negated") != (pl.col("subject1") != subject)).then(-0.25).otherwise(0.25)
    )
    comparison = rows.group_by("swap_group").agg(
        comparison=(pl.col("sign") * (pl.col("score1") - pl.col("score2"))).sum()
    )
    shown = examples.head(8).group_by("unit", maintain_order=True).agg(pl.col("unit_value").first())
    assert shown["unit_value"].to_list() == pytest.approx(
        comparison["comparison"].sort(descending=True).head(2).to_list(), abs=1e-15
    )
    assert comparison["comparison"].mean() == pytest.approx(examples["value"][0], abs=1e-15)


def test_texts_scores_and_answers_are_those_of_the_instance() -> None:
    examples, _, instances, predictions = examples_of(QA)
    rows = examples.join(instances, on="instance").join(scores(predictions, "exact"), on="instance")
    rows = rows.join(predictions.select("instance", "answer"), on="instance")
    for row in rows.rows(named=True):
        first = row["subject"] == row["subject1"]
        assert {row["subject"], row["other"]} == {row["subject1"], row["subject2"]}
        assert (row["score"], row["other_score"])[:: 1 if first else -1] == (row["score1"], row["score2"])
        assert (row["text_pair"], row["text"]) == (row["text_pair_right"], row["text_right"])
        assert row["said"] == row["answer"]
        shown = [row[name] for name in ("position", "length", "other_position", "other_length")]
        one, two = ([row[f"position{which}"], len(row[f"candidate{which}"])] for which in (1, 2))
        assert shown == (one + two if first else two + one)


def test_masked_language_models_have_no_answers() -> None:
    examples, _, _, _ = examples_of(LM)
    assert examples["said"].null_count() == examples.height > 0


def test_a_model_without_associations_has_no_examples() -> None:
    examples, _, _, _ = examples_of(SILENT_LM)
    validate(examples, EXAMPLES, "examples")
    assert examples.is_empty()
