"""What the report says of groups, beside the underspecified family and without it."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from parsed_page import Page
from report_tables import report_of, summary_of
from small_groups import THRESHOLD, case_examples, measured_groups, synthetic_slants
from small_measures import ASSOCIATIONS, measures_of

from biasgrid.families.evidence import example_payloads
from biasgrid.groups.definitions import about_groups, group_measures
from biasgrid.groups.selection import pairwise_options
from biasgrid.report.content import MeasureTable, dataset_section
from biasgrid.report.published import read_published
from biasgrid.report.run import ReportDataset, ReportFigure, ReportModel, ReportRun
from biasgrid.tables.metric import options_text

SCORE = "probability of the right class"
PUBLISHED = Path(__file__).parents[2] / "reference" / "unqover_published.json"

RUN = ReportRun(
    title="Bias of two classifiers",
    config="config/two.yaml",
    versions={"biasgrid": "0.2.0"},
    models=[
        ReportModel(
            "mild", "Sentiment", "BERT base", "text-classification", "someone/base", "abc123"
        ),
        ReportModel(
            "strong", "Sentiment", "BERT large", "text-classification", "someone/large", "def456"
        ),
    ],
    datasets=[
        ReportDataset(
            "feelings",
            "Feelings",
            (about_groups(),),
            group_measures("classes", THRESHOLD, ()),
            {"cases": 40},
        )
    ],
)
FAITHS = ReportDataset(
    "religion", "Faiths", ("It is asked who did what.",), ASSOCIATIONS, {"lm-bert": 1000}
)
BIAS_TYPES = {"faith": ["jewish", "muslim", "other"], "land": ["danish", "other"]}


@pytest.fixture(scope="module")
def measures() -> pl.DataFrame:
    return measured_groups({"mild": 0.02, "strong": 0.2}, BIAS_TYPES)


@pytest.fixture
def underspecified() -> pl.DataFrame:
    values = {"mu": 0.1234, "eta": 0.4, "delta": 0.05, "epsilon": 0.06}
    return measures_of(
        [{"measure": name, "value": value} for name, value in values.items()],
        model="mild",
        dataset="religion",
    )


def example(
    model: str, bias_type: str, difference: float, case: int = 7
) -> list[dict[str, object]]:
    """A case with two terms of two groups, of which the second scores higher."""
    shared = {
        "model": model,
        "bias_type": bias_type,
        "value": difference,
        "unit_value": difference,
        "unit": case,
    }
    return [
        shared | {"group": group, "term": term, "text": f"{term} slept.", "score": score}
        for group, term, score in (
            ("jewish", "Jewish man", 0.2),
            ("jewish", "Jewish woman", 0.4),
            ("muslim", "Muslim man", 0.7),
            ("muslim", "Muslim woman", 0.8),
        )
    ]


def shown(measures: pl.DataFrame, part: str) -> list[MeasureTable]:
    """The tables of headlines or of further comparisons in the dataset's section."""
    tables = {"summary": summary_of(RUN, measures).summary, "measures": measures}
    return dataset_section("feelings", RUN.datasets[0].measures, tables, RUN.facts)[part]


def values_of(table: MeasureTable, bias_type: str, model: str) -> dict[str, float]:
    """The values of a row by the measure's name and its options, without those that all have in
    common.
    """
    (part,) = [part for part in table.parts if part.bias_type == bias_type]
    (row,) = [row for row in part.rows if row["model"] == model]
    names = [(column.measure, column.measure_options) for column in table.columns]
    return {name: number["value"] for name, number in zip(names, row["numbers"], strict=True)}


def test_headlines_match_the_tables(measures: pl.DataFrame) -> None:
    (table,) = shown(measures, "headlines")
    assert [column.measure for column in table.columns] == ["score", "distance", "failure_rate"]
    assert [(part.bias_type, part.counts) for part in table.parts] == [
        ("faith", "3 groups, 4 templates"),
        ("land", "2 groups, 4 templates"),
    ]
    counts = {
        part.bias_type: [number["n"] for number in part.rows[0]["numbers"]] for part in table.parts
    }
    assert counts == {"faith": [24, 8, 8], "land": [16, 8, 8]}
    values = values_of(table, "faith", "strong")
    wanted = summary_of(RUN, measures).summary.filter(model="strong", bias_type="faith")
    for (measure, options), value in values.items():
        assert value == wanted.filter(measure=measure, options=options)["value"].item()
    assert ("distance", pairwise_options(measures)) in values


def test_further_comparisons_are_about_the_same_score_and_threshold(measures: pl.DataFrame) -> None:
    (table,) = shown(measures, "further")
    assert {column.heading for column in table.columns} == {
        "distance: absolute, pairwise, group",
        "distance: absolute, background, counterfactual",
        "distance: absolute, background, group",
        "distance: normalized divergence, multi group, counterfactual",
        "distance: normalized divergence, multi group, group",
        "failures: largest",
    }
    values = values_of(table, "faith", "strong")
    score = "mean_class_probability"
    pooled = options_text(score=score, distance="absolute", comparison="pairwise", mode="group")
    assert values["distance", pooled] == (
        summary_of(RUN, measures)
        .summary.filter(model="strong", bias_type="faith", options=pooled)["value"]
        .item()
    )
    assert values["failure_rate", f"difference=largest, threshold={THRESHOLD}"] == 1


def test_comparisons_that_nobody_asked_for_are_left_out(measures: pl.DataFrame) -> None:
    only_pairs = measures.filter(
        (pl.col("measure") != "distance") | (pl.col("options") == pairwise_options(measures))
    )
    (table,) = shown(only_pairs, "further")
    assert [column.heading for column in table.columns] == ["failures: largest"]
    (headline,) = shown(only_pairs, "headlines")
    assert all(
        row["numbers"][1]["value"] is not None for part in headline.parts for row in part.rows
    )


def test_positions_have_a_column_where_cases_have_some(measures: pl.DataFrame) -> None:
    pairwise = measures.filter(
        *(pl.col(key).is_null() for key in ("template", "group", "other")),
        measure="distance",
        options=pairwise_options(measures),
    )
    options = options_text(
        score="mean_class_probability", distance="absolute", mode="counterfactual"
    )
    positions = pairwise.with_columns(
        measure=pl.lit("position"), options=pl.lit(options), value=0.0625
    )
    (table,) = shown(pl.concat([measures, positions]), "further")
    assert values_of(table, "land", "strong")["position", options] == 0.0625
    page, without = (
        Page(report_of(RUN, measures=each)) for each in (pl.concat([measures, positions]), measures)
    )
    heading = "Position: absolute, counterfactual"
    assert any(heading in cells for cells in page.rows)
    assert not any(heading in cells for cells in without.rows)


def test_examples_have_their_groups_the_highest_score_first() -> None:
    rows = [
        *example("strong", "faith", 0.5, case=9),
        *(row | {"rank": 1} for row in example("strong", "land", 0.6)),
    ]
    found = example_payloads(case_examples(rows))
    assert [(each["about"], each["value"]) for each in found] == [
        (["faith", "jewish", "muslim"], 5000),
        (["land", "jewish", "muslim"], 6000),
    ]
    (unit,) = found[0]["units"]
    terms = ["Muslim man", "Muslim woman", "Jewish man", "Jewish woman"]
    assert [(row["term"], row["score"]) for row in unit["rows"]] == [
        *zip(terms, (7000, 8000, 2000, 4000), strict=True)
    ]
    assert not example_payloads(case_examples([]))


def test_a_grid_of_counterfactual_datasets_alone_has_a_page(measures: pl.DataFrame) -> None:
    examples = case_examples(example("strong", "faith", 0.5))
    page = Page(
        report_of(
            RUN, published_figures=read_published(PUBLISHED), measures=measures, examples=examples
        )
    )
    assert "Content warning" in page.text
    assert "bias intensity" not in page.text
    assert not {"synthetic", "published"} & set(page.ids)
    assert ["faith (3 groups, 4 templates)"] in page.rows
    strong = next(
        cells
        for cells in page.rows
        if cells[:2] == ["BERT large", "Sentiment"] and "someone/large" not in cells
    )
    assert strong[-2:] == ["1.00n 8", "\N{EN DASH}"]
    (carried,) = page.blocks["evidence/strong/feelings"]["examples"]
    (unit,) = carried["units"]
    assert (unit["value"], unit["template"]) == (5000, 2)
    assert {
        "text": "Muslim man slept.",
        "expected": "positive",
        "said": "negative",
        "score": 7000,
    }.items() <= (unit["rows"][0].items())


def test_both_families_are_in_one_page(
    measures: pl.DataFrame, underspecified: pl.DataFrame
) -> None:
    run = replace(RUN, datasets=[FAITHS, *RUN.datasets])
    page = Page(report_of(run, measures=pl.concat([underspecified, measures])))
    assert {"grid", "dataset-1", "dataset-2"} <= set(page.ids)
    for part in ("Epsilon", "Further comparisons"):
        assert part in page.text
    assert page.text.count("Further comparisons") == 1
    assert ["faith (3 groups, 4 templates)"] in page.rows
    assert not [name for name in page.blocks if name.startswith("evidence/")]


def test_a_grid_without_groups_says_nothing_of_them(underspecified: pl.DataFrame) -> None:
    page = Page(report_of(replace(RUN, datasets=[FAITHS]), measures=underspecified))
    assert "grid" in page.ids
    assert "identity term" not in page.text
    assert "Further comparisons" not in page.text


LEARNED = {"feelings": {"mild": "mild", "strong": "strong"}}
"""Each classifier has learned the strength of its own name."""


def synthetic_section(page: Page) -> list[list[str]]:
    """The rows of the table of synthetic bias, without the last cell, which text may follow."""
    return [
        cells[:-1] for cells in page.rows if len(cells) == 11 and cells[2] in ("mild", "strong")
    ]


def test_synthetic_group_effects_are_next_to_what_was_measured(measures: pl.DataFrame) -> None:
    synthetic = synthetic_slants({"mild": 0, "strong": 0.2}, BIAS_TYPES)
    page = Page(report_of(replace(RUN, strengths=LEARNED), synthetic=synthetic, measures=measures))
    assert "synthetic" in page.ids
    mild, strong = synthetic_section(page)
    assert mild[:5] == ["BERT base", "Sentiment", "mild", "Feelings", SCORE]
    assert (mild[5:7], mild[8]) == (["\N{EN DASH}", "\N{EN DASH}"], "0")
    assert strong[:5] == ["BERT large", "Sentiment", "strong", "Feelings", SCORE]
    assert [float(cell) for cell in strong[5:]] == pytest.approx([1, 1, 0, 0.4, 0.4], abs=0.05)


def test_synthetic_classifiers_and_real_models_are_in_one_page(
    underspecified: pl.DataFrame,
) -> None:
    real = replace(RUN.models[0], name="real", label="RoBERTa")
    run = replace(
        RUN, models=[*RUN.models, real], datasets=[FAITHS, *RUN.datasets], strengths=LEARNED
    )
    measures = measured_groups({"mild": 0.02, "strong": 0.2, "real": 0.1}, BIAS_TYPES)
    synthetic = synthetic_slants({"mild": 0.02, "strong": 0.2}, BIAS_TYPES)
    page = Page(report_of(run, measures=pl.concat([underspecified, measures]), synthetic=synthetic))
    assert {"grid", "synthetic"} <= set(page.ids)
    assert [cells[0] for cells in synthetic_section(page)] == ["BERT base", "BERT large"]


def test_the_page_names_the_files_of_figures_and_what_they_show_once(
    measures: pl.DataFrame,
) -> None:
    told = {name: f"Caption of {name}." for name in ("group_scores", "failure_curve")}
    figures = [
        ReportFigure(name, dataset, Path("results/plots", dataset, f"{name}.svg"), caption)
        for dataset in ("feelings", "letters")
        for name, caption in told.items()
    ]
    text = Page(report_of(RUN, figures, measures=measures)).text
    for name, caption in told.items():
        assert (
            f"results/plots/feelings/{name}.svg, results/plots/letters/{name}.svg: {caption}"
            in text
        )
        assert text.count(caption) == 1


def test_names_of_groups_and_sentences_are_no_markup(measures: pl.DataFrame) -> None:
    bad = "<b>Ann & Co</b></script><script>"
    rows = [
        row | {"group": bad, "term": bad, "text": bad, "said": bad}
        for row in example("mild", bad, 0.5)[:1]
    ]
    page = Page(report_of(RUN, measures=measures, examples=case_examples(rows)))
    assert page.blocks["evidence/mild/feelings"]["examples"][0]["about"] == [bad, bad]
    assert "b" not in page.tags
    assert len(page.scripts) == 2


def test_second_texts_are_next_to_the_first(measures: pl.DataFrame) -> None:
    rows = [row | {"text_pair": "Somebody slept."} for row in example("mild", "faith", 0.5)]
    page = Page(report_of(RUN, measures=measures, examples=case_examples(rows)))
    (unit,) = page.blocks["evidence/mild/feelings"]["examples"][0]["units"]
    assert {row["text_pair"] for row in unit["rows"]} == {"Somebody slept."}
