"""The report: its numbers, its sentences, and that it needs nothing beside it."""

import json
import re
from dataclasses import replace
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from parsed_page import Page
from report_tables import report_of, summary_of
from small_groups import THRESHOLD, measured_groups, synthetic_slants
from small_measures import ASSOCIATIONS, measures_of, table_of, with_known

from biasgrid.groups.definitions import group_measures
from biasgrid.report.figures.associations import ranks
from biasgrid.report.figures.cells import intensity_mu
from biasgrid.report.figures.registry import GRID
from biasgrid.report.page import number_format
from biasgrid.report.published import (
    PUBLISHED_SCHEMA,
    published_measures,
    published_rows,
    read_published,
)
from biasgrid.report.run import ReportDataset, ReportFigure, ReportModel, ReportRun
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.tables.metric import CONTROLS

SUBJECTS = ["Ann", "Bob", "Cleo", "Dan"]

RUN = ReportRun(
    title="Bias of two models",
    config="config/two.yaml",
    versions={"biasgrid": "0.2.0", "polars": "2.1.0"},
    models=[
        ReportModel(
            "base-squad", "SQuAD", "BERT base", "question-answering", "someone/base-squad", "abc123"
        ),
        ReportModel("base-lm", "LM", "BERT base", "fill-mask", "someone/base", "def456"),
    ],
    datasets=[
        ReportDataset(
            "religion",
            "Faiths",
            ("It is asked who did what.",),
            ASSOCIATIONS,
            {"qa": 1200, "lm-bert": 1000},
            {"lm-bert": ["Zoroastrian"]},
        )
    ],
)
CELLS = {
    "base-squad": {
        "mu": 0.1234,
        "eta": 0.4,
        "delta": 0.05,
        "epsilon": 0.06,
        "answer_probability": 0.45,
    },
    "base-lm": {
        "mu": 0.0617,
        "eta": 0.3,
        "delta": 0.07,
        "epsilon": 0.08,
        "answer_probability": 0.02,
    },
}


@pytest.fixture
def measures() -> pl.DataFrame:
    rows = [
        {
            "model": model,
            "measure": measure,
            "subject": subject,
            "attribute": attribute,
            "value": (i - 1.5) / 10,
        }
        for measure, model, (i, subject), attribute in product(
            ("gamma", "share_gamma"), CELLS, enumerate(SUBJECTS), ("stole", "slept", None)
        )
    ]
    for model, values in CELLS.items():
        rows += [
            {"model": model, "measure": name, "value": value}
            | ({"n": 4, "null_mean": 0.05} if name in ("mu", "eta") else {"n": 1200})
            for name, value in values.items()
        ]
    return measures_of(rows, dataset="religion")


def example_rows(
    model: str, subject: str, attribute: str, gamma: float, other: str = "Bob"
) -> list[dict[str, object]]:
    """Two swap groups of an association, the second with the larger comparison."""
    return [
        {
            "model": model,
            "subject": subject,
            "attribute": attribute,
            "value": gamma,
            "other": other,
            "unit_value": gamma + group / 100,
            "unit": group,
            "instance": 4 * group + place,
            "text_pair": f"{subject} met {other}, case {group}.",
            "text": f"Who {attribute}? ({place})",
            "score": 0.5 + place / 10,
            "other_score": 0.25,
            "said": subject if model == "base-squad" else None,
        }
        for group, place in product(range(2), range(4))
    ]


def examples_of(*rows: list[dict[str, object]]) -> pl.DataFrame:
    shared = {"dataset": "religion", "measure": "gamma", "options": "", "template": 0, "rank": 0}
    return table_of(
        EVIDENCE,
        [row for some in rows for row in some],
        **shared,
        reason="strongest",
        role="strongest",
    )


@pytest.fixture
def examples() -> pl.DataFrame:
    return examples_of(
        example_rows("base-lm", "Ann", "stole", 0.3),
        example_rows("base-squad", "Ann", "stole", 0.4),
        example_rows("base-squad", "Cleo", "slept", 0.2),
    )


@pytest.fixture
def figures() -> list[ReportFigure]:
    return [
        ReportFigure(
            "intensity_mu", GRID, Path("results/plots/grid/intensity_mu.svg"), intensity_mu.CAPTION
        ),
        ReportFigure("ranks", "religion", Path("results/plots/religion/ranks.svg"), ranks.CAPTION),
    ]


@pytest.fixture
def published() -> pl.DataFrame:
    cell = ("religion", "SQuAD", "BERT base")
    other = ("ethnicity", *cell[1:])
    rows = [
        (*each, "mu", None, value, 0.002, None, None)
        for each, value in ((cell, 0.0849), (other, 0.063))
    ]
    rows += [
        (*cell, "gamma", name.lower(), (i - 1.5) / 30, None, None, None)
        for i, name in enumerate([*SUBJECTS, "Eve"])
    ]
    return pl.DataFrame(rows, schema=PUBLISHED_SCHEMA, orient="row")


@pytest.fixture
def synthetic() -> pl.DataFrame:
    rows = [
        {"subject": subject, "attribute": attribute, "value": (i - 1.5) / 5}
        for (i, subject), attribute in product(enumerate(SUBJECTS), ("stole", "slept"))
    ]
    return table_of(
        SYNTHETIC, rows, strength="strong", dataset="religion", measure="gamma", options=""
    )


def test_the_page_shows_what_was_run_and_measured(
    measures: pl.DataFrame, examples: pl.DataFrame, figures: list[ReportFigure]
) -> None:
    summary = summary_of(RUN, measures, {"religion": "exact"}).summary
    text = Page(report_of(RUN, figures, summary=summary, measures=measures, examples=examples)).text
    for fact in (
        "Content warning",
        "config/two.yaml",
        "exact",
        "polars 2.1.0",
        "someone/base-squad",
        "abc123",
    ):
        assert fact in text
    for value in ("0.123", "0.0617", "0.0500", "0.0600", "0.450", "0.400", "1,200", "Zoroastrian"):
        assert value in text
    assert "Published" not in text
    assert "Synthetic" not in text


def test_numbers_have_intervals_floors_and_clusters_and_few_clusters_are_reported(
    measures: pl.DataFrame,
) -> None:
    known = {"base-squad": {"null_mean": 0.05, "p": 0.002}, "base-lm": {"null_mean": 0.0625}}
    rows = [
        {
            "model": model,
            "measure": measure,
            "value": 0.1,
            "clusters": clusters,
            "generalises_to": "clusters",
            **more,
        }
        for (model, of_mu), clusters in zip(known.items(), (7, 3), strict=True)
        for measure, more in (("mu", of_mu), ("strength", {"low": -0.01, "high": 0.2}))
    ]
    certain = measures_of(rows, dataset="religion", method="t")
    summary = summary_of(replace(RUN, level=0.9), with_known(measures, certain)).summary
    page = Page(report_of(replace(RUN, level=0.9), summary=summary, measures=measures))
    assert "(90 % CI)" in page.text
    assert "Some cells have only 3 clusters." in page.text
    (detailed,) = (
        cells for cells in page.rows if cells[:2] == ["BERT base", "SQuAD"] and "0.123" in cells[2]
    )
    assert detailed[2] == "0.123noise alone gives 0.0500, p = 0.0020, n 4"
    assert detailed[3].startswith("0.1000 to 0.200 over clusters")
    assert detailed[-1] == "7"


def test_an_interval_over_factors_without_a_name_is_shown_alone(measures: pl.DataFrame) -> None:
    """Such as of a size beyond that of the control, which is of two datasets."""
    strength = {
        "model": "base-squad",
        "measure": "strength",
        "value": 0.1,
        "low": -0.01,
        "high": 0.2,
    }
    certain = measures_of([strength], dataset="religion").with_columns(
        generalises_to=pl.lit(None, pl.String)
    )
    summary = summary_of(RUN, with_known(measures, certain)).summary
    page = Page(report_of(RUN, summary=summary, measures=measures))
    (detailed,) = (
        cells for cells in page.rows if cells[:2] == ["BERT base", "SQuAD"] and "0.123" in cells[2]
    )
    assert "to 0.200, n" in detailed[3]
    assert "None" not in page.text


def test_the_page_refers_to_nothing_outside_of_it(
    measures: pl.DataFrame, examples: pl.DataFrame, figures: list[ReportFigure]
) -> None:
    html = report_of(RUN, figures, measures=measures, examples=examples)
    page = Page(html)
    targets = {
        reference.removeprefix("#") for reference in page.references if reference.startswith("#")
    }
    assert targets
    assert targets <= set(page.ids)
    assert len(page.ids) == len(set(page.ids))
    assert all(reference.startswith("#") for reference in page.references)
    assert "url(" not in html
    assert "@import" not in html
    assert not {"link", "iframe", "object", "img"} & page.tags


def test_the_same_run_gives_the_same_page(
    measures: pl.DataFrame, examples: pl.DataFrame, figures: list[ReportFigure]
) -> None:
    pages = {report_of(RUN, figures, measures=measures, examples=examples) for _ in range(2)}
    assert len(pages) == 1


def test_the_page_gives_the_precision_of_models(measures: pl.DataFrame) -> None:
    assert "float32" not in report_of(RUN, measures=measures)
    audit = {"rows": 1200, "largest_drift": 0.031, "mean_drift": 0.002}
    cells = {
        "religion/base-squad": {"predictions": {"precision": "float32", "audit": audit}},
        "religion/base-lm": {"predictions": {"precision": "bfloat16", "audit": audit}},
    }
    dataset = replace(RUN.datasets[0], measures={**ASSOCIATIONS, **CONTROLS})
    facts = GridFacts(cells=cells)
    page = Page(report_of(replace(RUN, datasets=[dataset], facts=facts), measures=measures))
    text = " ".join(page.text.split())
    precisions = {row[2]: row[3] for row in page.rows if row[4:] and "someone/" in row[4]}
    assert precisions == {"question-answering": "float32", "fill-mask": "bfloat16"}
    assert (
        "Where the precision is not float32, the scores of 1,200 audited rows differ by up to "
        "0.031 from those in float32 (0.002 on average); precision: float32 in the config's "
        "section inference asks all models in float32."
    ) in text
    assert (
        "BERT base (LM): in bfloat16, the scores of 1200 audited rows differ by up to 0.031 from "
        "those in float32. What to do: set `precision: float32` in the config's section "
        "`inference` to ask in float32."
    ) in text


MASS = {
    "median": 0.875,
    "lowest_tenth": 0.25,
    "n": 1000,
    "first_tokens": ["A", "</s>"],
    "surface_forms": [["A", 0.5], ["\na", 0.25]],
}


def test_how_generative_models_answered_is_next_to_their_numbers(measures: pl.DataFrame) -> None:
    answered = {
        "base-squad": {
            "answers": 1200,
            "scored_by": {"parsed": 1200},
            "status": {"ok": 900, "length": 300},
            "mass": None,
        },
        "base-lm": {"answers": 1000, "scored_by": {"logits": 1000}, "status": {}, "mass": MASS},
    }
    assert "How the models answered" not in report_of(RUN, measures=measures)
    page = report_of(
        replace(RUN, datasets=[replace(RUN.datasets[0], answer_counts=answered)]), measures=measures
    )
    _, _, section = page.partition("How the models answered")
    cells = re.findall(r"<t[hd][^>]*>([^<]*)</t[hd]>", section.partition("</table>")[0])
    heads = [
        "Model",
        "Kind",
        "Options",
        "Mass",
        "Lowest tenth",
        "Surface forms",
        "First tokens",
        "Length",
        "Ok",
        "Answers",
    ]
    assert cells[:10] == heads
    assert cells[10:20] == [
        "BERT base",
        "SQuAD",
        "parsed",
        *4 * ["\N{EN DASH}"],
        "25.0 %",
        "75.0 %",
        "1,200",
    ]
    assert cells[20:25] == ["BERT base", "LM", "logits", "0.875", "0.250"]
    assert '<td><code>"A"</code> 0.500, <code>"\\na"</code> 0.250</td>' in section
    assert '<td><code>"A"</code>, <code>"&lt;/s&gt;"</code></td>' in section
    assert "Options were scored in different ways (logits, parsed)." in section
    alike = {
        model: told | {"scored_by": {"logits": told["answers"]}} for model, told in answered.items()
    }
    page = report_of(
        replace(RUN, datasets=[replace(RUN.datasets[0], answer_counts=alike)]), measures=measures
    )
    assert "in different ways" not in page


def test_names_are_escaped(measures: pl.DataFrame) -> None:
    bad = "<b>Ann & Co</b><script>"
    model = replace(RUN.models[0], source=bad)
    run = replace(RUN, title=bad, models=[model, RUN.models[1]])
    page = Page(
        report_of(
            run, measures=measures, examples=examples_of(example_rows("base-lm", bad, bad, 0.3))
        )
    )
    assert page.text.count(bad) >= 3
    assert "b" not in page.tags
    assert len(page.scripts) == 2


def test_sentences_are_carried_as_far_as_they_fit(
    measures: pl.DataFrame, examples: pl.DataFrame
) -> None:
    def carried(megabytes: float) -> dict[str, tuple[int, int]]:
        blocks = Page(
            report_of(replace(RUN, megabytes=megabytes), measures=measures, examples=examples)
        ).blocks
        found = {name: each for name, each in blocks.items() if name.startswith("evidence/")}
        return {
            name.split("/")[1]: (len(each["examples"]), each["of"]) for name, each in found.items()
        }

    assert carried(8) == {"base-squad": (2, 2), "base-lm": (1, 1)}
    assert carried(0.001) == {}


def test_synthetic_bias_is_next_to_what_was_measured(
    measures: pl.DataFrame, examples: pl.DataFrame, synthetic: pl.DataFrame
) -> None:
    run = replace(RUN, strengths={"religion": {"base-squad": "strong"}})
    page = Page(report_of(run, measures=measures, examples=examples, synthetic=synthetic))
    assert "Synthetic and measured" in page.text
    off = (5 / 4) ** 0.5 / 10
    numbers = ["1.00", "0.500", number_format(off), "0.600", "0.300"]
    name = "gamma"
    assert ["BERT base", "SQuAD", "strong", "Faiths", name, *numbers] in [
        cells[:-1] for cells in page.rows
    ]


def test_models_of_both_families_with_a_synthetic_bias_are_in_one_page(
    measures: pl.DataFrame,
    examples: pl.DataFrame,
    synthetic: pl.DataFrame,
) -> None:
    groups = {"faith": ["jewish", "muslim", "other"]}
    classifier = ReportModel(
        "classifier", "Sentiment", "Tiny", "text-classification", "trained", "abc"
    )
    cases = ReportDataset(
        "feelings", "Feelings", (), group_measures("classes", THRESHOLD, ()), {"cases": 24}
    )
    run = replace(
        RUN,
        models=[*RUN.models, classifier],
        datasets=[*RUN.datasets, cases],
        strengths={"religion": {"base-squad": "strong"}, "feelings": {"classifier": "strong"}},
    )
    tables = {
        "measures": pl.concat([measures, measured_groups({"classifier": 0.2}, groups)]),
        "synthetic": pl.concat([synthetic, synthetic_slants({"strong": 0.2}, groups)]),
    }
    page = Page(report_of(run, examples=examples, **tables))
    assert page.ids.count("synthetic") == 1
    assert [cells[:4] for cells in page.rows if "strong" in cells] == [
        ["BERT base", "SQuAD", "strong", "Faiths"],
        ["Tiny", "Sentiment", "strong", "Feelings"],
    ]


def test_only_published_cells_that_were_measured_are_compared(
    measures: pl.DataFrame, published: pl.DataFrame
) -> None:
    (row,) = published_rows(summary_of(RUN, measures).summary, measures, published)
    assert (row["model"], row["mu"], row["published_mu"], row["published_eta"]) == (
        "base-squad",
        0.1234,
        0.0849,
        None,
    )
    assert (row["gamma_correlation"], row["subjects"]) == (pytest.approx(1), len(SUBJECTS))


def test_published_figures_are_in_the_page(
    measures: pl.DataFrame, examples: pl.DataFrame, published: pl.DataFrame
) -> None:
    page = Page(report_of(RUN, measures=measures, examples=examples, published_figures=published))
    row = ["BERT base", "SQuAD", "Faiths", "0.123", "0.0849", "0.400", "\N{EN DASH}", "1.00"]
    assert row in [cells[:-1] for cells in page.rows]
    elsewhere = published.with_columns(dataset=pl.lit("age"))
    assert "Published figures" not in report_of(
        RUN, measures=measures, examples=examples, published_figures=elsewhere
    )


def test_marks_of_a_file_are_shown_next_to_the_measured_ones(
    measures: pl.DataFrame, examples: pl.DataFrame, tmp_path: Path
) -> None:
    cell = {"dataset": "religion", "kind": "SQuAD", "label": "BERT base"}
    figures = [
        cell | {"measure": "delta", "mark": "B"},
        cell | {"measure": "epsilon", "value": 0.25},
    ]
    (tmp_path / "theirs.json").write_text(json.dumps({"figures": figures}))
    (tmp_path / "more.json").write_text(
        json.dumps({"figures": [cell | {"measure": "coverage", "mark": "A"}]})
    )
    theirs = read_published(tmp_path / "theirs.json", tmp_path / "more.json")
    summary = summary_of(RUN, measures).summary.with_columns(
        mark=pl.lit("C"), best_mark=pl.lit("B")
    )
    found = published_measures(summary, theirs)
    names = "measure", "value", "mark", "best_mark", "published_value", "published_mark"
    assert [tuple(row[name] for name in names) for row in found] == [
        ("delta", 0.05, "C", "B", None, "B"),
        ("epsilon", 0.06, "C", "B", 0.25, None),
    ]
    page = Page(report_of(RUN, measures=measures, examples=examples, published_figures=theirs))
    dash = "\N{EN DASH}"
    assert ["BERT base", "SQuAD", "Faiths", "delta", "0.0500", dash, dash, dash, "B"] in page.rows


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.12345, "0.123"),
        (-0.5, "\N{MINUS SIGN}0.500"),
        (-0.0001, "\N{MINUS SIGN}0.000100"),
        (1e-12, "0"),
        (0.09996, "0.100"),
        (1234.5, "1,234"),
        (999.6, "1,000"),
        (2.5e-8, "2.50 \N{MULTIPLICATION SIGN} 10⁻⁸"),
        (None, "\N{EN DASH}"),
    ],
)
def test_numbers_are_written_for_reading(value: float | None, text: str) -> None:
    assert number_format(value) == text
