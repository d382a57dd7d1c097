import numpy as np
import polars as pl
import pytest
from golden import needs_golden_files, read_output

from biasgrid.families.underspecified.comparisons import scores
from biasgrid.families.underspecified.examples import strongest_examples
from biasgrid.families.underspecified.measures import measure
from biasgrid.table_files import validate
from biasgrid.tables.measures import EXAMPLES

pytestmark = needs_golden_files()

QA = "output/ethnicity_qa.tiny-bert-base-uncased.output.json"
LM = "output/ethnicity_lm_bert.tiny-bert-base-uncased.topkall.output.json"
SILENT_LM = "output/country_lm_roberta.tiny-roberta-base.output.json"


def examples_of(output: str) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Examples, measures, instances and predictions of a golden output."""
    instances, predictions = read_output(output)
    measures = measure(instances, predictions, "exact", "model", "dataset")
    return strongest_examples(instances, predictions, "exact", measures), measures, instances, predictions


def gamma_of_pairs(measures: pl.DataFrame) -> pl.DataFrame:
    return measures.filter(pl.col("measure") == "gamma").drop_nulls(["subject", "attribute"])


@pytest.mark.parametrize("output", [QA, LM])
def test_the_strongest_associations_come_first_with_two_swap_groups_of_four_instances(output: str) -> None:
    examples, measures, _, _ = examples_of(output)
    validate(examples, EXAMPLES, "examples")
    gamma = gamma_of_pairs(measures).filter(pl.col("value") > 0)["value"].sort(descending=True).head(10)
    shown = examples.group_by("subject", "attribute", maintain_order=True).agg(
        pl.col("gamma").first(), pl.col("swap_group").n_unique(), pl.col("instance").n_unique()
    )
    assert shown["gamma"].equals(gamma)
    assert shown["swap_group"].unique().to_list() == [2]
    assert shown["instance"].unique().to_list() == [8]


@pytest.mark.parametrize("output", [QA, LM])
def test_comparisons_are_those_of_the_scores_that_are_shown(output: str) -> None:
    examples, _, instances, _ = examples_of(output)
    signs = examples.join(instances.select("instance", "negated"), on="instance", maintain_order="left")
    sign = np.where(signs["negated"], -0.25, 0.25)
    weighted = examples.with_columns(weighted=(pl.col("score") - pl.col("other_score")) * sign)
    groups = weighted.group_by("subject", "attribute", "swap_group").agg(
        pl.col("weighted").sum(), pl.col("comparison").first()
    )
    assert groups["weighted"].to_list() == pytest.approx(groups["comparison"].to_list(), abs=1e-15)


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
    shown = examples.head(8).group_by("swap_group", maintain_order=True).agg(pl.col("comparison").first())
    assert shown["comparison"].to_list() == pytest.approx(
        comparison["comparison"].sort(descending=True).head(2).to_list(), abs=1e-15
    )
    assert comparison["comparison"].mean() == pytest.approx(examples["gamma"][0], abs=1e-15)


def test_texts_scores_and_answers_are_those_of_the_instance() -> None:
    examples, _, instances, predictions = examples_of(QA)
    rows = examples.join(instances, on="instance").join(scores(predictions, "exact"), on="instance")
    rows = rows.join(predictions.select("instance", "answer"), on="instance", suffix="_given")
    for row in rows.rows(named=True):
        first = row["subject"] == row["subject1"]
        assert {row["subject"], row["other"]} == {row["subject1"], row["subject2"]}
        assert (row["score"], row["other_score"])[:: 1 if first else -1] == (row["score1"], row["score2"])
        assert (row["context"], row["question"]) == (row["context_right"], row["question_right"])
        assert row["answer"] == row["answer_given"]


def test_masked_language_models_have_no_answers() -> None:
    examples, _, _, _ = examples_of(LM)
    assert examples["answer"].null_count() == examples.height > 0


def test_a_model_without_associations_has_no_examples() -> None:
    examples, _, _, _ = examples_of(SILENT_LM)
    validate(examples, EXAMPLES, "examples")
    assert examples.is_empty()
