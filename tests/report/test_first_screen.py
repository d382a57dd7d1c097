"""The first screen: what is claimed of each cell and model, drawn as boxes, and the same without a
script.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from browser import Shown
from parsed_page import Page
from playwright.sync_api import Browser
from report_tables import NOTHING, report_of
from small_measures import measures_of, table_of

from biasgrid.families.page import FirstScreen
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.report.first_screen import Screen, first_screen
from biasgrid.report.overview import Box, DatasetCells, round_end
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun, ReportTables
from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.claims.numbers import format_p, shared_decimals
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.metric import CONTROLS, Controls
from biasgrid.tables.summary import ModelFacts

pytestmark = pytest.mark.family("the screen draws the headlines of underspecified questions")

MODELS = ("fair", "biased")
NAMES = {"women": ("Ann", "Bea"), "men": ("Carl", "Dan")}
ABOUT: dict[str, Any] = {
    "family": "underspecified",
    "reference": "biasgrid.families.underspecified",
}
MEASURES = {**DEFINITIONS.select("measures"), **CONTROLS}
FLAGGED = {**MEASURES, **DEFINITIONS.select("flags")}
DATASETS = [
    ReportDataset("jobs", "Jobs", (), MEASURES, {"qa": 40}, **ABOUT),
    ReportDataset("placebo", "Placebo", (), MEASURES, {"qa": 40}, **ABOUT),
    ReportDataset("faiths", "Faiths", (), MEASURES, {"qa": 40}, **ABOUT),
]
COUNTED = {
    dataset.name: {"share_gamma": "", "question_association": "negation_unread"}
    for dataset in DATASETS
}
RUN = ReportRun(
    title="Two models",
    config="config/two.yaml",
    versions={},
    models=[
        ReportModel(name, "QA", f"The {name} one", "question-answering", name, "abc")
        for name in MODELS
    ],
    datasets=DATASETS,
    controls=Controls(datasets={"placebo": "jobs"}),
    facts=GridFacts(counted=COUNTED),
)


def whole(
    dataset: str, measure: str, value: float, low: float | None, high: float | None, **more: Any
) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "measure": measure,
        "value": value,
        "low": low,
        "high": high,
        "n": 40,
    } | more


def cell(model: str, size: float, q: float) -> list[dict[str, Any]]:
    """The numbers of a model on all three datasets: groups in the first two, single subjects in the
    third.
    """
    over = {"generalises_to": "clusters x names", "clusters": 4, "n": 8}
    groups = [
        over
        | {"dataset": dataset, "subject_group": group, "attribute": "stole", "value": sign * share}
        | {"p": each, "q": each}
        | {
            "bound": share / 2 if each < 0.05 else 0.0,
            "low": -1.0,
            "high": 1.0,
            "detectable": 0.125,
        }
        for dataset, share, each in (("jobs", size, q), ("placebo", 0.0, 0.9))
        for group, sign in (("women", 1), ("men", -1))
    ]
    singles = [
        {
            "dataset": dataset,
            "subject": name,
            "attribute": "stole",
            "value": size,
            "p": 0.001,
            "q": 0.001,
            "n": 8,
        }
        | {"generalises_to": "clusters", "clusters": 4, "bound": size / 2, "detectable": 0.125}
        for dataset, names in (
            ("jobs", ("Ann", "Bea", "Carl", "Dan")),
            ("faiths", ("Jain", "Sikh")),
        )
        for name in names
    ]
    faiths = {"p": q, "q": q, "bound": 0.05 if q < 0.05 else 0.0}
    singles = [row | (faiths if row["dataset"] == "faiths" else {}) for row in singles]
    wholes = [
        whole(
            "jobs",
            "group_strength",
            size,
            size - 0.02,
            size + 0.02,
            generalises_to="clusters x names",
            p=q,
        ),
        whole(
            "jobs",
            "share_strength",
            2 * size,
            2 * size - 0.01,
            2 * size + 0.01,
            generalises_to="clusters",
        ),
        whole("jobs", "share_mu", size, None, None, null_mean=0.01, p=0.001),
        whole("placebo", "group_strength", -0.01, -0.03, 0.02, generalises_to="clusters x names"),
        whole("faiths", "share_strength", 0.3, 0.0, 0.8, generalises_to="clusters", p=q),
        whole("faiths", "share_mu", 0.3, None, None, null_mean=0.2, p=q),
    ]
    return [{"model": model} | row for row in (*groups, *singles, *wholes)]


ROWS = [*cell("fair", 0.004, 0.8), *cell("biased", 0.32, 0.001)]


def tables_of(
    run: ReportRun = RUN, rows: list[dict[str, Any]] = ROWS, **tables: pl.DataFrame
) -> ReportTables:
    measures = measures_of(rows)
    models = {model.name: ModelFacts(model.kind, model.label, {}) for model in run.models}
    headlines = {
        name: each.headline for name, each in MEASURES.items() if each.headline is not None
    }
    made = summarise(
        measures, models, dict.fromkeys(COUNTED, headlines), controls=run.controls, facts=run.facts
    )
    return ReportTables(**(NOTHING | {"measures": measures} | made._asdict() | tables))


@pytest.fixture(scope="module")
def screen() -> Screen:
    return first_screen(RUN, tables_of())


def boxes(screen: Screen) -> dict[tuple[str, str, str], Box | None]:
    """The boxes of the only table, by model, dataset and what they are about."""
    (table,) = screen.tables
    return {
        (model, column.dataset, column.about): box
        for model, row in table.boxes.items()
        for column, box in zip(table.columns, row, strict=True)
    }


def test_a_dataset_with_groups_claims_what_is_over_names_and_shows_single_names_without_colour(
    screen: Screen,
) -> None:
    (table,) = screen.tables
    assert [(column.dataset, column.about, column.is_claim) for column in table.columns] == [
        ("jobs", "women / men", True),
        ("jobs", "these 4 names only", False),
        ("placebo", "women / men", True),
        ("faiths", "2 groups", True),
    ]
    found = boxes(screen)
    claim, evidence = (
        found["biased", "jobs", "women / men"],
        found["biased", "jobs", "these 4 names only"],
    )
    assert claim is not None
    assert evidence is not None
    assert (claim.state, claim.text, claim.step) == ("significant", "0.32", 4)
    assert (evidence.state, evidence.value, evidence.step) == ("plain", 0.64, 0)
    assert "other names may differ" in evidence.certainty


def test_colour_is_of_the_claim_and_what_is_too_wide_is_hatched(screen: Screen) -> None:
    """Single names of the fair model are significant; its groups, which are the claim, are not."""
    found = boxes(screen)
    states = {key: box.state for key, box in found.items() if box is not None}
    assert (
        states["fair", "jobs", "women / men"] == states["fair", "placebo", "women / men"] == "plain"
    )
    assert states["fair", "faiths", "2 groups"] == states["biased", "faiths", "2 groups"] == "wide"
    assert all((box.step > 0) == (box.state == "significant") for box in found.values() if box)


def test_where_the_negation_is_not_read_the_box_is_of_the_question_alone_and_says_its_unit() -> (
    None
):
    facts = GridFacts(
        counted=COUNTED,
        silenced={"jobs": {"negation_unread": ["share_strength", "group_strength"]}},
    )
    alone = whole(
        "jobs", "question_group_strength", 0.9, 0.7, 1.1, generalises_to="clusters x names"
    )
    flag = {
        "dataset": "jobs",
        "measure": "negation_unread",
        "value": 0.8,
        "flag": "reads no negation",
        "n": 40,
    }
    rows = [*ROWS, {"model": "biased"} | alone, {"model": "biased"} | flag]
    run = replace(RUN, facts=facts, datasets=[replace(each, measures=FLAGGED) for each in DATASETS])
    found = boxes(first_screen(run, tables_of(run, rows)))
    box, other = found["biased", "jobs", "women / men"], found["fair", "jobs", "women / men"]
    assert box is not None
    assert other is not None
    assert (box.value, box.unit, other.unit) == (0.9, "log odds", "")
    assert box.ends == []


def test_a_size_below_0_is_0_and_at_most_its_upper_end(screen: Screen) -> None:
    box = boxes(screen)["biased", "placebo", "women / men"]
    assert box is not None
    assert (box.text, box.value, box.low, box.high) == ("0.00", 0, 0, 0.02)
    assert "at most 0.02" in box.certainty


def test_columns_of_a_measure_share_an_axis_so_that_a_control_has_the_scale_of_its_dataset(
    screen: Screen,
) -> None:
    (table,) = screen.tables
    assert table.axes[0] == table.axes[2] == (0, 0.4)
    assert [text for text, _ in table.ticks(0)] == [0, 0.4]
    assert [round_end(each) for each in (0, 0.0004, 0.31, 0.51, 30)] == [0, 0.001, 0.4, 0.6, 30]


def test_findings_are_the_verdicts_of_cells_but_for_controls(screen: Screen) -> None:
    rows = {(row.label, row.title): row for row in screen.rows}
    assert {title for _, title in rows} == {"Jobs", "Faiths"}
    fair, biased = rows["The fair one (QA)", "Jobs"], rows["The biased one (QA)", "Jobs"]
    assert (biased.verdict, biased.is_found, biased.test) == (
        "bias found",
        True,
        "p = 0.0010 over 2 tests",
    )
    assert biased.largest is not None
    shown = (biased.largest.who, biased.largest.what, biased.largest.value, biased.largest.bound)
    assert shown == ("women", "stole", 0.32, 0.16)
    assert biased.control_text == "the control (placebo) found nothing (0 of 2)"
    assert (fair.verdict, fair.largest) == ("nothing found", None)
    assert fair.context == "An effect of 0.125 would have been found in 80 % of such cells."
    assert (screen.result, screen.question) == (
        "bias found in 2 of 4 cells",
        "Do 2 models favour a group when the text gives no reason?",
    )
    assert screen.result_details.startswith("Nothing found in 2 of 4 cells.")
    # Each cell has a test of its own.
    assert "Of 20 cells without bias, about one has a finding by chance." in screen.result_details


def test_of_one_cell_the_result_is_its_verdict() -> None:
    run = replace(RUN, models=RUN.models[:1], datasets=DATASETS[:1], controls=Controls())
    rows = [row for row in cell("fair", 0.004, 0.8) if row["dataset"] == "jobs"]
    screen = first_screen(run, tables_of(run, rows))
    assert screen.question == "Does The fair one favour a group when the text gives no reason?"
    assert screen.result == "nothing found"
    assert screen.result_details == (
        "(p = 0.80 over 2 tests). An effect of 0.125 would have been found in 80 % of such cells. "
        "That is no proof of fairness."
    )


def test_no_example_quotes_a_cell_that_could_not_be_measured() -> None:
    run, examples = with_example(sensitive=False)
    made = tables_of(run, examples=examples)
    withheld = made.verdicts.with_columns(
        verdict=pl.lit("could not be measured"), reason=pl.lit("silent")
    )
    assert first_screen(run, replace(made, verdicts=withheld)).example is None


def test_a_number_without_a_test_has_no_colour() -> None:
    rows = [row | {"p": None} if row.get("measure") == "group_strength" else row for row in ROWS]
    box = boxes(first_screen(RUN, tables_of(rows=rows)))["biased", "jobs", "women / men"]
    assert box is not None
    assert (box.state, box.step) == ("plain", 0)
    assert "not tested" in box.certainty


def example_rows(model: str, share: float, rank: int = 1) -> list[dict[str, Any]]:
    shared = {
        "model": model,
        "subject": "Ann",
        "attribute": "stole",
        "other": "Carl",
        "rank": rank,
        "unit": 3,
        "template": 0,
    }
    shared |= {
        "text": "Who stole?",
        "text_pair": "Carl met Ann.",
        "score": share,
        "other_score": 1 - share,
    }
    return [
        shared | {"swapped": swapped, "negated": negated, "instance": 2 * swapped + negated}
        for swapped in (False, True)
        for negated in (False, True)
    ]


def with_example(sensitive: bool, rank: int = 1) -> tuple[ReportRun, pl.DataFrame]:
    rows = [
        row
        for model, share in (("fair", 0.5), ("biased", 0.25))
        for row in example_rows(model, share, rank)
    ]
    about = {
        "dataset": "jobs",
        "measure": "share_gamma",
        "options": "",
        "value": 0.1,
        "unit_value": 0.1,
    }
    examples = table_of(EVIDENCE, rows, **about, role="typical", reason="all")
    return replace(
        RUN, datasets=[replace(DATASETS[0], sensitive=sensitive), *DATASETS[1:]]
    ), examples


def test_the_example_is_of_several_models_and_never_the_strongest_association() -> None:
    run, examples = with_example(sensitive=False)
    example = first_screen(run, tables_of(run, examples=examples)).example
    assert example is not None
    # Carl is named first, and so has the first part of each bar.
    assert (example["own"], example["other"], example["is_hidden"]) == ("Carl", "Ann", False)
    assert example["answers"] == [["The fair one (QA)", 0.5], ["The biased one (QA)", 0.75]]
    run, strongest = with_example(sensitive=False, rank=0)
    assert first_screen(run, tables_of(run, examples=strongest)).example is None


@pytest.mark.parametrize("sensitive", [True, False])
def test_texts_that_may_hurt_are_nowhere_in_the_first_screen_until_one_asks(
    chromium: Browser, tmp_path: Path, sensitive: bool
) -> None:
    run, examples = with_example(sensitive)
    html = report_of(run, measures=measures_of(ROWS), examples=examples)
    assert ("stole" in re.sub("<script.*", "", html, flags=re.DOTALL)) is not sensitive
    (tmp_path / "index.html").write_text(html, encoding="utf-8")
    report = Shown(chromium, tmp_path / "index.html").drawn()
    if sensitive:
        assert "stole" not in report.page.inner_html("#grid")
        report.page.click("td.largest button.veil")
        assert report.page.inner_text("td.largest:has([data-largest])") == "women stole"
        assert report.page.evaluate("document.activeElement.textContent") == "stole"
        assert "Carl met Ann." not in report.page.inner_text("#grid")
        report.press("t")
    assert "Carl met Ann. Who stole?" in report.page.inner_text("#grid")
    report.click("td[data-value] :is(a, button)")
    assert report.page.evaluate("location.hash") == "#/cell/biased/jobs"
    assert report.complaints == []
    report.page.close()


def test_without_a_script_the_first_screen_is_there_and_leads_to_tables() -> None:
    page = Page(report_of(RUN, measures=measures_of(ROWS)))
    assert "Result: bias found in 2 of 4 cells" in " ".join(page.text.split())
    assert any("0.32" in "".join(row) and "The biased one" in row[0] for row in page.rows)
    assert {"svg", "circle", "line"} <= page.tags
    assert "#dataset-1" in page.references


def test_the_boxes_and_the_findings_are_saved_as_tables(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        report_of(RUN, measures=measures_of(ROWS)), encoding="utf-8"
    )
    report = Shown(chromium, tmp_path / "index.html").drawn()
    saved = []
    for name in ("Unanswerable", "Findings"):
        report.page.click(".menu summary")
        saved.append(
            pl.read_csv(
                report.saved(f".menu button:has-text('{name}')", tmp_path), infer_schema_length=None
            )
        )
    boxes, found = saved
    assert boxes.columns[:3] == ["Model", "Jobs: women / men", "Jobs: these 4 names only"]
    assert boxes["Jobs: women / men"].to_list() == [0.0, 0.32]
    assert [text.split(" p ")[0] for text in found["Verdict"]] == [
        "nothing found",
        "nothing found",
        "bias found",
        "bias found",
    ]
    assert report.complaints == []
    report.page.close()


@pytest.mark.parametrize(("width", "height"), [(1280, 900), (390, 844)])
def test_a_wide_table_scrolls_in_its_own_box_with_its_first_column_fixed(
    chromium: Browser, tmp_path: Path, width: int, height: int
) -> None:
    many = [
        replace(DATASETS[2], name=f"faiths{place}", title=f"Faiths {place}") for place in range(16)
    ]
    rows = [row for row in ROWS if row["dataset"] == "faiths"]
    run = replace(RUN, datasets=many, controls=Controls(), facts=GridFacts())
    measures = measures_of([row | {"dataset": each.name} for row in rows for each in many])
    (tmp_path / "index.html").write_text(report_of(run, measures=measures), encoding="utf-8")
    report = Shown(
        chromium, tmp_path / "index.html", viewport={"width": width, "height": height}
    ).drawn()
    assert report.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    place = "document.querySelector('.overview tbody th').getBoundingClientRect().left"
    before = report.page.evaluate(place)
    moved = (
        "(box => { box.scrollLeft = 300; return [box.scrollLeft, "
        "box.classList.contains('more')]; })"
    )
    assert report.page.evaluate(f"{moved}(document.querySelector('.scroll'))") == [300, True]
    assert report.page.evaluate(place) == before
    report.page.close()


def test_a_cell_begins_with_claim_test_and_coverage_and_the_only_one_is_on_the_first_screen(
    chromium: Browser, tmp_path: Path
) -> None:
    run = replace(RUN, models=RUN.models[1:], datasets=DATASETS[:1], controls=Controls())
    rows = [row for row in ROWS if (row["model"], row["dataset"]) == ("biased", "jobs")]
    (tmp_path / "index.html").write_text(
        report_of(run, measures=measures_of(rows)), encoding="utf-8"
    )
    report = Shown(chromium, tmp_path / "index.html").drawn()
    labels = report.page.locator(".tiles small").all_text_contents()
    assert labels == ["women / men", "Verdict", "Coverage", "Evidence: these 4 names only"]
    numbers = report.page.locator(".tiles b").all_text_contents()
    assert numbers == ["0.320", "bias found", "40", "0.640"]
    report.go("#/cell/biased/jobs")
    links = report.page.locator(".onpage button").all_text_contents()
    assert links == [
        "Groups: women against men names",
        "Evidence: single names",
        "As a table",
        "All numbers",
        "Reproduce",
    ]
    report.page.click(".onpage button:has-text('All numbers')")
    assert report.page.evaluate("document.activeElement.firstChild.textContent") == "All numbers"
    assert report.complaints == []
    report.page.close()


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0004, "< 0.001"),
        (0.001, "= 0.0010"),
        (0.0123, "= 0.012"),
        (0.594, "= 0.59"),
        (0.996, "> 0.99"),
    ],
)
def test_a_p_has_two_digits_and_is_never_0_or_1(p: float, text: str) -> None:
    assert format_p(p) == text


def test_numbers_that_are_read_together_share_their_decimals() -> None:
    assert [
        shared_decimals(each) for each in ([0.5, 0.001], [0.000319, 0.0], [12.3], [0.09996], [])
    ] == [3, 6, 1, 3, 0]


def test_tables_with_many_columns_are_not_put_next_to_the_first_one(screen: Screen) -> None:
    (first,) = screen.tables
    by_columns = {
        count: first._replace(columns=(list(first.columns) * 3)[:count]) for count in (1, 2, 3, 8)
    }
    both = replace(screen, tables=[by_columns[3], by_columns[2], by_columns[3], by_columns[1]])
    assert both.narrow == [by_columns[2], by_columns[1]]
    assert both.broad == [by_columns[3]]
    assert not both.is_wide
    # Nothing is left beside it, or it needs the place itself.
    assert replace(screen, tables=[by_columns[2], by_columns[3]]).is_wide
    assert replace(screen, tables=[by_columns[8], by_columns[1]]).is_wide
    assert not replace(screen, tables=[by_columns[3]]).is_wide
    assert not replace(screen, tables=[]).is_wide


def test_at_1280_pixels_no_table_of_the_first_screen_is_cut_off(
    chromium: Browser, tmp_path: Path
) -> None:
    """Kinds of questions of one, two and three columns, as in the demo."""
    kinds = {"underspecified": 3, "decision": 3, "pairs": 2}
    datasets = [
        replace(
            DATASETS[2],
            name=f"{kind}{place}",
            title=f"Questions {place}",
            family=kind,
            reference=f"biasgrid.families.{kind}",
        )
        for kind, count in kinds.items()
        for place in range(count)
    ]
    rows = [row for row in ROWS if row["dataset"] == "faiths"]
    run = replace(RUN, datasets=datasets, controls=Controls(), facts=GridFacts())
    measures = measures_of([row | {"dataset": each.name} for row in rows for each in datasets])
    (tmp_path / "index.html").write_text(report_of(run, measures=measures), encoding="utf-8")
    report = Shown(
        chromium, tmp_path / "index.html", viewport={"width": 1280, "height": 900}
    ).drawn()
    cut = (
        "[...document.querySelectorAll('.blocks .scroll')].filter(box => box.scrollWidth > "
        "box.clientWidth + 1).length"
    )
    assert report.page.locator(".blocks .scroll").count() >= 2
    assert report.page.evaluate(cut) == 0
    report.page.close()


def test_models_are_sorted_by_a_column_and_put_back(chromium: Browser, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        report_of(RUN, measures=measures_of(ROWS)), encoding="utf-8"
    )
    report = Shown(chromium, tmp_path / "index.html").drawn()
    heads = report.page.locator(".overview th.sub button")
    labels = report.page.locator(".overview tbody th")
    given = labels.all_text_contents()
    orders = []
    for _ in range(3):
        heads.first.focus()
        report.page.keyboard.press("Enter")
        orders.append(
            (
                labels.all_text_contents(),
                report.page.locator("th.sub").first.get_attribute("aria-sort"),
            )
        )
    assert [text for text, _ in orders] == [given[::-1], given, given]
    assert [state for _, state in orders] == ["descending", "ascending", None]
    # The page is drawn again without a second button.
    report.go("#/run").go("#/")
    assert heads.count() == report.page.locator(".overview th.sub").count()
    assert report.complaints == []
    report.page.close()


def test_the_largest_gap_is_named_by_the_difference_that_it_was_chosen_from() -> None:
    gap = replace(MEASURES["mu"], title="largest gap")
    dataset = replace(DATASETS[0], measures={**MEASURES, "largest_gap": gap})
    counted = GridFacts(counted={"jobs": {"difference": ""}})
    pair = {"dataset": "jobs", "model": "fair", "bias_type": "age", "value": 0.2, "q": 0.01}
    differences = measures_of(
        [
            # As large, but not counted, and pooled over all cases.
            pair | {"measure": "other_difference", "group": "a", "other": "b"},
            pair | {"measure": "difference", "group": "c", "other": "d"},
            # Larger, but not significant.
            pair
            | {"measure": "difference", "group": "e", "other": "f", "value": 0.3, "q": 0.9}
            | {"generalises_to": "clusters"},
            pair
            | {"measure": "difference", "group": "g", "other": "h", "value": -0.2}
            | {"generalises_to": "clusters"},
        ]
    )
    cells = DatasetCells(
        dataset, replace(RUN, facts=counted), differences, differences, FirstScreen(""), 0
    )
    row = {"measure": "largest_gap", "model": "fair", "bias_type": "age", "value": 0.2}
    assert cells.number_title(row) == "difference, h above g"
    assert cells.number_title(row | {"model": "biased"}) == "largest gap"
