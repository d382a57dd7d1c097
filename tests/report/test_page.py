"""The report: its numbers, its sentences, and that it needs nothing beside it."""

import base64
from dataclasses import replace
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from parsed_page import Page
from report_tables import report_of
from small_groups import THRESHOLD, measured_groups, planted_slants

from biasgrid.plots.captions import CAPTIONS
from biasgrid.reference import PUBLISHED
from biasgrid.report.content import association_examples, published_rows
from biasgrid.report.page import ReportDataset, ReportFigure, ReportModel, ReportRun, number
from biasgrid.tables.measures import EXAMPLES, MEASURES, SUMMARY
from biasgrid.tables.planted import PLANTED

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
PNG = b"\x89PNG"
SUBJECTS = ["Ann", "Bob", "Cleo", "Dan"]

RUN = ReportRun(
    title="Bias of two models",
    config="config/two.yaml",
    scoring="exact",
    versions={"biasgrid": "0.1.0", "polars": "2.1.0"},
    models=[
        ReportModel("base-squad", "SQuAD", "BERT base", "question-answering", "someone/base-squad", "abc123"),
        ReportModel("base-lm", "LM", "BERT base", "fill-mask", "someone/base", "def456"),
    ],
    datasets=[ReportDataset("religion", "Faiths", {"qa": 1200, "lm-bert": 1000}, {"lm-bert": ["Zoroastrian"]})],
)


@pytest.fixture
def summary() -> pl.DataFrame:
    rows = [
        ("base-squad", "religion", "SQuAD", "BERT base", "exact", 0.1234, 0.4, 0.05, 0.06, 0.45, 0.25, 1200, 4, 3),
        ("base-lm", "religion", "LM", "BERT base", "exact", 0.0617, 0.3, 0.07, 0.08, 0.02, 0.5, 1000, 4, 3),
    ]
    return SUMMARY.validate(pl.DataFrame(rows, schema=list(SUMMARY.columns), orient="row"))


@pytest.fixture
def measures() -> pl.DataFrame:
    shared = {"dataset": "religion", "measure": "gamma", "subject_cluster": None, "attribute_cluster": None, "n": 4}
    rows = [
        shared | {"model": model, "subject": subject, "attribute": attribute, "value": (i - 1.5) / 10}
        for model, (i, subject), attribute in product(
            ("base-squad", "base-lm"), enumerate(SUBJECTS), ("stole", "slept", None)
        )
    ]
    types = {name: column.dtype.type for name, column in MEASURES.columns.items()}
    return MEASURES.validate(pl.DataFrame(rows, schema=types))


def example_rows(model: str, subject: str, attribute: str, gamma: float, other: str = "Bob") -> list[dict[str, object]]:
    """Two swap groups of an association, the second with the larger comparison."""
    return [
        {
            "model": model,
            "dataset": "religion",
            "subject": subject,
            "attribute": attribute,
            "gamma": gamma,
            "other": other,
            "comparison": gamma + group / 100,
            "swap_group": group,
            "instance": 4 * group + place,
            "context": f"{subject} met {other}, case {group}.",
            "question": f"Who {attribute}? ({place})",
            "score": 0.5 + place / 10,
            "other_score": 0.25,
            "answer": subject if model == "base-squad" else None,
        }
        for group, place in product(range(2), range(4))
    ]


def examples_of(*rows: list[dict[str, object]]) -> pl.DataFrame:
    types = {name: column.dtype.type for name, column in EXAMPLES.columns.items()}
    return EXAMPLES.validate(pl.DataFrame([row for some in rows for row in some], schema=types))


@pytest.fixture
def examples() -> pl.DataFrame:
    return examples_of(
        example_rows("base-lm", "Ann", "stole", 0.3),
        example_rows("base-squad", "Ann", "stole", 0.4),
        example_rows("base-squad", "Cleo", "slept", 0.2),
    )


@pytest.fixture
def figures(tmp_path: Path) -> list[ReportFigure]:
    svg, png = tmp_path / "figure.svg", tmp_path / "figure.png"
    svg.write_bytes(SVG)
    png.write_bytes(PNG)
    return [ReportFigure("intensity_mu", svg, png), ReportFigure("ranks", svg, png, "religion")]


@pytest.fixture
def published() -> pl.DataFrame:
    cell = ("religion", "SQuAD", "BERT base")
    rows = [(*cell, "mu", None, 0.0849, 0.002), ("ethnicity", "SQuAD", "BERT base", "mu", None, 0.063, 0.002)]
    rows += [(*cell, "gamma", name.lower(), (i - 1.5) / 30, None) for i, name in enumerate([*SUBJECTS, "Eve"])]
    return pl.DataFrame(rows, schema=PUBLISHED, orient="row")


@pytest.fixture
def planted() -> pl.DataFrame:
    rows = [
        ("strong", "religion", subject, attribute, (i - 1.5) / 5)
        for (i, subject), attribute in product(enumerate(SUBJECTS), ("stole", "slept"))
    ]
    return PLANTED.validate(pl.DataFrame(rows, schema=list(PLANTED.columns), orient="row"))


def test_the_page_tells_what_was_run_and_measured(
    summary: pl.DataFrame, measures: pl.DataFrame, examples: pl.DataFrame, figures: list[ReportFigure]
) -> None:
    text = Page(report_of(RUN, figures, summary=summary, measures=measures, examples=examples)).text
    for fact in ("Content warning", "config/two.yaml", "exact", "polars 2.1.0", "someone/base-squad", "abc123"):
        assert fact in text
    for value in ("0.123", "0.062", "0.050", "0.060", "0.450", "0.250", "1,200", "Zoroastrian"):
        assert value in text
    assert "Published" not in text
    assert "Planted" not in text


def test_the_page_refers_to_nothing_outside_of_it(
    summary: pl.DataFrame, measures: pl.DataFrame, examples: pl.DataFrame, figures: list[ReportFigure]
) -> None:
    html = report_of(RUN, figures, summary=summary, measures=measures, examples=examples)
    page = Page(html)
    targets = {reference.removeprefix("#") for reference in page.references if reference.startswith("#")}
    assert targets
    assert targets <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert all(reference.startswith(("#", "data:image/")) for reference in page.references)
    assert "url(" not in html
    assert "@import" not in html
    assert not {"script", "link", "iframe", "object"} & page.tags


def test_figures_stand_in_the_page_with_their_captions(
    summary: pl.DataFrame, measures: pl.DataFrame, examples: pl.DataFrame, figures: list[ReportFigure]
) -> None:
    page = Page(report_of(RUN, figures, summary=summary, measures=measures, examples=examples))
    uri = "data:image/svg+xml;base64," + base64.b64encode(SVG).decode()
    assert page.references.count(uri) == len(figures)
    assert all(CAPTIONS[figure.name] in page.text for figure in figures)


def test_large_figures_are_taken_as_png(figures: list[ReportFigure]) -> None:
    figures[0].svg.write_bytes(b" " * 400_000)
    assert figures[0].uri == "data:image/png;base64," + base64.b64encode(PNG).decode()


def test_the_same_run_gives_the_same_page(
    summary: pl.DataFrame, measures: pl.DataFrame, examples: pl.DataFrame, figures: list[ReportFigure]
) -> None:
    pages = {report_of(RUN, figures, summary=summary, measures=measures, examples=examples) for _ in range(2)}
    assert len(pages) == 1


def test_names_are_escaped(summary: pl.DataFrame, measures: pl.DataFrame) -> None:
    bad = "<b>Ann & Co</b><script>"
    model = replace(RUN.models[0], source=bad)
    run = replace(RUN, title=bad, models=[model, RUN.models[1]])
    page = Page(
        report_of(run, summary=summary, measures=measures, examples=examples_of(example_rows("base-lm", bad, bad, 0.3)))
    )
    assert page.text.count(bad) >= 5
    assert not {"b", "script"} & page.tags


def test_examples_are_the_strongest_of_any_model(examples: pl.DataFrame) -> None:
    found = association_examples(examples, "religion")
    assert [(row["model"], row["subject"], row["attribute"]) for row in found] == [
        ("base-squad", "Ann", "stole"),
        ("base-squad", "Cleo", "slept"),
    ]
    groups = found[0]["swap_groups"]
    assert [group["instances"][0]["swap_group"] for group in groups] == [1, 0]
    assert [instance["instance"] for instance in groups[0]["instances"]] == [4, 5, 6, 7]
    assert len(association_examples(examples, "religion", count=1)) == 1


def test_sentences_and_scores_of_examples_stand_in_the_page(
    summary: pl.DataFrame, measures: pl.DataFrame, examples: pl.DataFrame
) -> None:
    text = Page(report_of(RUN, summary=summary, measures=measures, examples=examples)).text
    assert text.count("Ann met Bob, case 1.") == 4
    for part in ("Who stole? (3)", "0.800", "Compared with Bob: C = 0.410"):
        assert part in text


def test_planted_bias_stands_beside_what_was_measured(
    summary: pl.DataFrame, measures: pl.DataFrame, examples: pl.DataFrame, planted: pl.DataFrame
) -> None:
    run = replace(RUN, models=[replace(RUN.models[0], strength="strong"), RUN.models[1]])
    page = Page(report_of(run, summary=summary, measures=measures, examples=examples, planted=planted))
    assert "Planted and measured" in page.text
    assert ["BERT base", "SQuAD", "strong", "Faiths", "1.000", "0.500", "0.200", "0.123"] in [
        cells[:-1] for cells in page.rows
    ]


def test_models_of_both_families_with_a_planted_bias_stand_in_one_page(
    summary: pl.DataFrame,
    measures: pl.DataFrame,
    examples: pl.DataFrame,
    planted: pl.DataFrame,
) -> None:
    groups = {"faith": ["jewish", "muslim", "other"]}
    group_measures, failures = measured_groups({"classifier": 0.2}, groups)
    classifier = ReportModel(
        "classifier", "Sentiment", "Tiny", "text-classification", "trained", "abc", "strong", planted_in="feelings"
    )
    cases = ReportDataset("feelings", "Feelings", {"cases": 24}, threshold=THRESHOLD)
    run = replace(
        RUN,
        models=[replace(RUN.models[0], strength="strong"), RUN.models[1], classifier],
        datasets=[*RUN.datasets, cases],
    )
    effects = planted_slants({"strong": 0.2}, groups)
    tables = {"planted": planted, "planted_groups": effects, "group_measures": group_measures, "failures": failures}
    page = Page(report_of(run, summary=summary, measures=measures, examples=examples, **tables))
    assert page.ids.count("planted") == 1
    assert [cells[:4] for cells in page.rows if "strong" in cells] == [
        ["BERT base", "SQuAD", "strong", "Faiths"],
        ["Tiny", "Sentiment", "strong", "Feelings"],
    ]


def test_only_published_cells_that_were_measured_are_compared(
    summary: pl.DataFrame, measures: pl.DataFrame, published: pl.DataFrame
) -> None:
    (row,) = published_rows(summary, measures, published)
    assert (row["model"], row["mu"], row["published_mu"], row["published_eta"]) == ("base-squad", 0.1234, 0.0849, None)
    assert (row["gamma_correlation"], row["subjects"]) == (pytest.approx(1), len(SUBJECTS))


def test_published_figures_stand_in_the_page(
    summary: pl.DataFrame, measures: pl.DataFrame, examples: pl.DataFrame, published: pl.DataFrame
) -> None:
    page = Page(report_of(RUN, summary=summary, measures=measures, examples=examples, published=published))
    row = ["BERT base", "SQuAD", "Faiths", "0.123", "0.085", "0.400", "\N{EN DASH}", "1.00"]
    assert row in [cells[:-1] for cells in page.rows]
    elsewhere = published.with_columns(dataset=pl.lit("age"))
    assert "Beside published" not in report_of(
        RUN, summary=summary, measures=measures, examples=examples, published=elsewhere
    )


@pytest.mark.parametrize(
    ("value", "text"), [(0.12345, "0.123"), (-0.5, "\N{MINUS SIGN}0.500"), (-0.0001, "0.000"), (None, "\N{EN DASH}")]
)
def test_numbers_are_written_for_reading(value: float | None, text: str) -> None:
    assert number(value) == text
