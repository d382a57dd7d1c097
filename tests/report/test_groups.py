"""What the report says of groups, beside the underspecified family and without it."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from parsed_page import Page
from report_tables import report_of
from small_groups import THRESHOLD, case_examples, measured_groups, planted_slants

from biasgrid.plots.captions import CAPTIONS
from biasgrid.reference import read_published
from biasgrid.report.group_content import comparison_rows, difference_examples
from biasgrid.report.page import ReportDataset, ReportFigure, ReportModel, ReportRun
from biasgrid.table_files import empty_table
from biasgrid.tables.measures import SUMMARY

PUBLISHED = Path(__file__).parents[2] / "reference" / "unqover_published.json"

RUN = ReportRun(
    title="Bias of two classifiers",
    config="config/two.yaml",
    scoring="exact",
    versions={"biasgrid": "0.1.0"},
    models=[
        ReportModel("mild", "Sentiment", "BERT base", "text-classification", "someone/base", "abc123"),
        ReportModel("strong", "Sentiment", "BERT large", "text-classification", "someone/large", "def456"),
    ],
    datasets=[ReportDataset("feelings", "Feelings", {"cases": 40}, threshold=THRESHOLD)],
)
BIAS_TYPES = {"faith": ["jewish", "muslim", "other"], "land": ["danish", "other"]}


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    measures, failures = measured_groups({"mild": 0.02, "strong": 0.2}, BIAS_TYPES)
    return {"group_measures": measures, "failures": failures}


@pytest.fixture
def underspecified() -> dict[str, pl.DataFrame]:
    row = ("mild", "religion", "LM", "BERT base", "exact", 0.1234, 0.4, 0.05, 0.06, 0.45, 0.25, 1200, 4, 3)
    return {"summary": pl.DataFrame([row], schema=empty_table(SUMMARY).schema, orient="row")}


def example(model: str, bias_type: str, difference: float, case: int = 7) -> list[dict[str, object]]:
    """A case with two terms of two groups, of which the second scores higher."""
    shared = {"model": model, "bias_type": bias_type, "difference": difference, "case": case}
    return [
        shared | {"group": group, "term": term, "text": f"{term} slept.", "score": score}
        for group, term, score in (
            ("jewish", "Jewish man", 0.2),
            ("jewish", "Jewish woman", 0.4),
            ("muslim", "Muslim man", 0.7),
            ("muslim", "Muslim woman", 0.8),
        )
    ]


def value_of(measures: pl.DataFrame, **wanted: str) -> float:
    """The one value of a bias type as a whole over all templates."""
    rows = measures.filter(*(pl.col(key).is_null() for key in ("template", "group", "other")), **wanted)
    return float(rows["value"].item())


def test_comparisons_are_those_of_the_tables(tables: dict[str, pl.DataFrame]) -> None:
    measures, failures = tables.values()
    rows = comparison_rows(measures, failures, "feelings", THRESHOLD)
    assert rows.select("bias_type", "model", "groups", "n").rows() == [
        ("faith", "mild", 3, 24),
        ("land", "mild", 2, 16),
        ("faith", "strong", 3, 24),
        ("land", "strong", 2, 16),
    ]
    (row,) = rows.filter(bias_type="faith", model="strong").to_dicts()
    cell = {"model": "strong", "bias_type": "faith"}
    assert row["pairwise"] == value_of(measures, **cell, comparison="pairwise", mode="counterfactual")
    assert row["pooled"] == value_of(measures, **cell, comparison="pairwise", mode="group")
    assert row["background"] == value_of(measures, **cell, comparison="background", mode="counterfactual")
    assert row["multi_group"] == value_of(measures, **cell, comparison="multi_group", mode="counterfactual")
    assert row["position"] is None
    rates = failures.filter(pl.col("template").is_null(), **cell, threshold=THRESHOLD)
    assert {"mean": row["fails_mean"], "largest": row["fails_largest"]} == dict(rates["difference", "value"].rows())
    assert rows["pairwise_share"].max() == 100


def test_comparisons_that_nobody_asked_for_are_left_open(tables: dict[str, pl.DataFrame]) -> None:
    only_pairs = tables["group_measures"].filter(
        pl.col("comparison").is_null() | (pl.col("comparison") == "pairwise"), pl.col("mode") != "group"
    )
    rows = comparison_rows(only_pairs, tables["failures"], "feelings", THRESHOLD)
    assert rows.select("pooled", "background", "multi_group").null_count().row(0) == (4, 4, 4)
    assert rows["pairwise"].null_count() == 0


def test_positions_have_a_column_where_cases_have_some(tables: dict[str, pl.DataFrame]) -> None:
    of_bias_types = [pl.col(key).is_null() for key in ("template", "group", "other")]
    measures = tables["group_measures"]
    pairwise = measures.filter(*of_bias_types, comparison="pairwise", mode="counterfactual")
    positions = pairwise.with_columns(comparison=pl.lit("position"), value=0.0625)
    with_positions = tables | {"group_measures": pl.concat([measures, positions])}
    page, without = (Page(report_of(RUN, **each)) for each in (with_positions, tables))
    assert [cells[7] for cells in page.rows if cells[:2] == ["BERT large", "Sentiment"] and len(cells) == 11] == [
        "0.062",
        "0.062",
    ]
    assert any("Position" in cells for cells in page.rows)
    assert not any("Position" in cells for cells in without.rows)


def test_each_bias_type_has_the_case_with_the_largest_difference_of_any_model() -> None:
    rows = [*example("mild", "faith", 0.3), *example("strong", "faith", 0.5, case=9), *example("mild", "land", 0.6)]
    found = difference_examples(case_examples(rows), "feelings")
    assert [(each["bias_type"], each["model"], each["case"]) for each in found] == [
        ("land", "mild", 7),
        ("faith", "strong", 9),
    ]
    sides = found[0]["groups"]
    assert [(side["group"], side["score"]) for side in sides] == [
        ("muslim", pytest.approx(0.75)),
        ("jewish", pytest.approx(0.3)),
    ]
    assert [instance["term"] for instance in sides[0]["instances"]] == ["Muslim man", "Muslim woman"]
    assert difference_examples(case_examples(rows), "other") == []


def test_a_grid_of_counterfactual_datasets_alone_has_a_page(tables: dict[str, pl.DataFrame]) -> None:
    examples = case_examples(example("strong", "faith", 0.5))
    page = Page(report_of(RUN, published=read_published(PUBLISHED), **tables, case_examples=examples))
    assert "Content warning" in page.text
    assert "bias intensity" not in page.text
    assert not {"grid", "planted", "published"} & set(page.ids)
    assert ["faith (3 groups)"] in page.rows
    strong = next(cells for cells in page.rows if cells[:2] == ["BERT large", "Sentiment"] and len(cells) == 10)
    assert strong[-3:] == ["1.000", "1.000", "24"]
    assert ["Muslim man", "Muslim man slept.", "negative", "0.700"] in page.rows
    for part in ("faith: muslim, jewish", "difference 0.500, template 2", "Expected: positive", "muslim: 0.750"):
        assert part in page.text


def test_both_families_stand_in_one_page(
    tables: dict[str, pl.DataFrame], underspecified: dict[str, pl.DataFrame]
) -> None:
    run = replace(RUN, datasets=[ReportDataset("religion", "Faiths", {"lm-bert": 1000}), *RUN.datasets])
    page = Page(report_of(run, **underspecified, **tables))
    assert {"grid", "dataset-1", "dataset-2"} <= set(page.ids)
    for part in ("μ, bias intensity", "Comparisons of groups", "0.123"):
        assert part in page.text
    assert page.text.count("Comparisons of groups") == 1
    assert "Sentences behind the largest differences" not in page.text


def test_a_grid_without_groups_says_nothing_of_them(underspecified: dict[str, pl.DataFrame]) -> None:
    run = replace(RUN, datasets=[ReportDataset("religion", "Faiths", {"lm-bert": 1000})])
    page = Page(report_of(run, **underspecified))
    assert "grid" in page.ids
    assert "identity term" not in page.text
    assert "Comparisons of groups" not in page.text


def trained(run: ReportRun) -> ReportRun:
    """The same run with classifiers that learned a strength of their own name in the cases of the dataset."""
    models = [replace(model, strength=model.name, planted_in="feelings") for model in run.models]
    return replace(run, models=models)


def planted_section(page: Page) -> list[list[str]]:
    """The rows of the table of planted group effects, without the last cell, which text may follow."""
    return [cells[:-1] for cells in page.rows if len(cells) == 9 and cells[2] in ("mild", "strong")]


def test_planted_group_effects_stand_beside_what_was_measured(tmp_path: Path, tables: dict[str, pl.DataFrame]) -> None:
    svg, png = tmp_path / "planted_groups.svg", tmp_path / "planted_groups.png"
    svg.write_bytes(b'<svg xmlns="http://www.w3.org/2000/svg"/>')
    png.write_bytes(b"\x89PNG")
    planted = planted_slants({"mild": 0, "strong": 0.2}, BIAS_TYPES)
    figures = [ReportFigure("planted_groups", svg, png)]
    page = Page(report_of(trained(RUN), figures, planted_groups=planted, **tables))
    assert "planted" in page.ids
    assert page.text.count(CAPTIONS["planted_groups"]) == 1
    assert "Planted μ" not in page.text
    mild, strong = planted_section(page)
    assert mild[:7] == ["BERT base", "Sentiment", "mild", "Feelings", "\N{EN DASH}", "\N{EN DASH}", "0.000"]
    assert strong[:4] == ["BERT large", "Sentiment", "strong", "Feelings"]
    assert [float(cell) for cell in strong[4:]] == pytest.approx([1, 1, 0.4, 0.4], abs=0.05)


def test_planted_classifiers_and_real_models_stand_in_one_page(
    tables: dict[str, pl.DataFrame], underspecified: dict[str, pl.DataFrame]
) -> None:
    run = trained(RUN)
    real = replace(RUN.models[0], name="real", label="RoBERTa")
    run = replace(run, models=[*run.models, real], datasets=[ReportDataset("religion", "Faiths", {}), *run.datasets])
    measures, failures = measured_groups({"mild": 0.02, "strong": 0.2, "real": 0.1}, BIAS_TYPES)
    both = underspecified | {"group_measures": measures, "failures": failures}
    planted = planted_slants({"mild": 0.02, "strong": 0.2}, BIAS_TYPES)
    page = Page(report_of(run, **both, planted_groups=planted))
    assert {"grid", "planted"} <= set(page.ids)
    assert [cells[0] for cells in planted_section(page)] == ["BERT base", "BERT large"]


def test_the_page_with_groups_refers_to_nothing_outside_of_it(tmp_path: Path, tables: dict[str, pl.DataFrame]) -> None:
    svg, png = tmp_path / "figure.svg", tmp_path / "figure.png"
    svg.write_bytes(b'<svg xmlns="http://www.w3.org/2000/svg"/>')
    png.write_bytes(b"\x89PNG")
    figures = [ReportFigure(name, svg, png, "feelings") for name in ("group_scores", "failure_curve")]
    page = Page(report_of(RUN, figures, **tables))
    assert all(CAPTIONS[figure.name] in page.text for figure in figures)
    targets = {reference.removeprefix("#") for reference in page.references if reference.startswith("#")}
    assert targets <= set(page.ids)
    assert all(reference.startswith(("#", "data:image/")) for reference in page.references)


def test_names_of_groups_and_sentences_are_escaped(tables: dict[str, pl.DataFrame]) -> None:
    bad = "<b>Ann & Co</b><script>"
    rows = [row | {"group": bad, "term": bad, "text": bad, "said": bad} for row in example("mild", bad, 0.5)[:1]]
    page = Page(report_of(RUN, **tables, case_examples=case_examples(rows)))
    assert page.text.count(bad) >= 5
    assert not {"b", "script"} & page.tags


def test_second_texts_stand_below_the_first(tables: dict[str, pl.DataFrame]) -> None:
    rows = [row | {"text_pair": "Somebody slept."} for row in example("mild", "faith", 0.5)]
    page = Page(report_of(RUN, **tables, case_examples=case_examples(rows)))
    assert ["Jewish man", "Jewish man slept.Somebody slept.", "negative", "0.200"] in page.rows
