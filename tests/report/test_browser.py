"""The report in a real browser: offline, hostile names, hidden texts, and without a script."""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from browser import PATIENCE, Shown
from playwright.sync_api import Browser
from report_tables import pages_of, report_of, summary_of
from small_groups import THRESHOLD, case_examples, measured_groups, synthetic_slants

from biasgrid.groups.definitions import group_measures
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun
from biasgrid.tables.claims.numbers import format_number

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
BIAS_TYPES = {HOSTILE: ["a/b#c%2Fd", "\u202egnp.exe", "=HYPERLINK(1)"], "land": ["danish", "other"]}
RUN = ReportRun(
    title=HOSTILE,
    config="config/two.yaml",
    versions={"biasgrid": "0.2.0"},
    models=[
        ReportModel("mild", "Sentiment", HOSTILE, "text-classification", HOSTILE, "abc123"),
        ReportModel(
            "strong", "Sentiment", "BERT", "text-classification", "someone/large", "def456"
        ),
    ],
    datasets=[
        ReportDataset(
            "feelings",
            HOSTILE,
            (HOSTILE,),
            group_measures("classes", THRESHOLD, ()),
            {"cases": 40},
        )
    ],
    settings={"title": HOSTILE},
)
PAGES = [
    "#/",
    "#/cell/mild/feelings",
    "#/cell/strong/feelings",
    "#/dataset/feelings",
    "#/measures",
    "#/run",
]
SECRET = "Jewish man never slept"
COUNTERFACTUAL = {"family": "counterfactual", "reference": "biasgrid.families.counterfactual"}


@pytest.fixture(scope="module")
def tables() -> dict[str, pl.DataFrame]:
    rows = [
        {
            "model": "strong",
            "bias_type": "land",
            "value": 0.5,
            "unit_value": 0.5,
            "group": group,
            "term": HOSTILE,
        }
        | {"text": SECRET, "said": HOSTILE, "score": score}
        for group, score in (("danish", 0.2), ("other", 0.7))
    ]
    return {
        "measures": measured_groups({"mild": 0.02, "strong": 0.2}, BIAS_TYPES),
        "examples": case_examples(rows),
    }


@pytest.fixture(scope="module")
def file(tables: dict[str, pl.DataFrame], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "index.html"
    path.write_text(report_of(RUN, **tables), encoding="utf-8")
    return path


@pytest.fixture
def shown(chromium: Browser, file: Path) -> Iterator[Shown]:
    report = Shown(chromium, file).drawn()
    yield report
    assert report.complaints == []
    report.page.close()


def test_every_page_is_drawn_without_network_errors_or_refusals(shown: Shown) -> None:
    for address in PAGES:
        shown.go(address)
        assert shown.page.query_selector_all("#app h2, #static section:not([hidden]) h2"), address
        assert shown.page.query_selector_all("img, iframe, script[src]") == [], address
    assert "cases" in shown.text


def test_a_sheet_that_opens_pages_cold_and_addresses_that_name_nothing(
    chromium: Browser, file: Path
) -> None:
    cold = Shown(chromium, file, "#/cell/strong/feelings").drawn()
    assert "BERT (Sentiment)" in cold.text
    for wrong in (
        "#/cell/%E0%A4%A",
        "#/cell/nobody/feelings",
        "#/nowhere",
        "#/constructor",
        "#/cell",
    ):
        assert "Page not found" in cold.go(wrong).text, wrong
    cold.click("#app a")
    assert "one row per model" in cold.text
    cold.page.go_back()
    assert cold.complaints == []
    cold.page.close()


def test_numbers_of_a_cell_are_above_its_parts(
    shown: Shown, tables: dict[str, pl.DataFrame]
) -> None:
    told = shown.go("#/cell/strong/feelings").page.locator(".tiles b").all_inner_texts()
    summary = summary_of(RUN, tables["measures"]).summary.filter(
        "headline", model="strong", measure="distance"
    )
    claims, others = told[: len(BIAS_TYPES)], told[len(BIAS_TYPES) :]
    assert claims == [format_number(value) for value in summary["value"]]
    assert len(others) == len(("test", "coverage"))


def test_sentences_are_two_clicks_from_the_grid_and_hidden_until_asked_for(shown: Shown) -> None:
    shown.click('a.box[href$="strong/feelings"]')
    assert SECRET not in shown.page.inner_html("#app")
    assert "hidden text" in shown.page.inner_html("#app")
    shown.press("t")
    assert SECRET in shown.text
    assert HOSTILE in shown.text
    shown.go("#/").go("#/cell/strong/feelings")
    assert SECRET in shown.text
    assert SECRET not in shown.press("t").page.inner_html("#app")


def test_texts_of_a_dataset_that_is_not_sensitive_are_shown(
    chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "open.html"
    run = replace(RUN, datasets=[replace(RUN.datasets[0], sensitive=False)])
    path.write_text(report_of(run, **tables), encoding="utf-8")
    report = Shown(chromium, path, "#/cell/strong/feelings").drawn()
    assert SECRET in report.text
    report.page.close()


def test_tables_are_saved_as_they_are_shown(shown: Shown, tmp_path: Path) -> None:
    shown.go("#/cell/mild/feelings").page.click(".menu summary")
    assert len(shown.page.query_selector_all(".menu [data-csv]")) == len(
        shown.page.query_selector_all("#app table")
    )
    saved = pl.read_csv(shown.saved(".menu [data-csv]", tmp_path), infer_schema_length=None)
    rows = shown.page.query_selector_all(
        "#app section:has(> h3:text('Numbers by what')) table tbody tr"
    )
    assert len(saved) == len(rows) > 10
    assert "'=HYPERLINK(1)" in saved["Group"].to_list()
    assert "a/b#c%2Fd" in saved["Group"].to_list()


def test_all_numbers_of_a_page_are_saved(
    chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text(report_of(RUN, **tables), encoding="utf-8")
    report = Shown(chromium, tmp_path / "index.html", "#/cell/mild/feelings").drawn()
    report.page.click(".menu summary")
    numbers = json.loads(report.saved(".menu [data-json]", tmp_path).read_text(encoding="utf-8"))
    assert any(row.get("Group") == "a/b#c%2Fd" for rows in numbers.values() for row in rows)
    assert report.complaints == []
    report.page.close()


def test_the_config_can_be_saved(shown: Shown, tmp_path: Path) -> None:
    shown.go("#/run")
    assert HOSTILE in shown.saved("text=Download the config", tmp_path).read_text()


def test_the_boxes_are_reached_and_tables_sorted_by_keyboard(shown: Shown) -> None:
    shown.tab_to('a.box[href$="strong/feelings"]').press("Enter")
    shown.tab_to("thead .sort")
    shown.page.keyboard.press("Enter")
    assert shown.page.get_attribute("#app thead th[aria-sort]", "aria-sort") == "ascending"
    shown.page.keyboard.press("/")
    shown.page.keyboard.type("STRONG")
    assert "strong, feelings" in shown.page.inner_text(".found")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_shows_it_without_a_sideways_scroll(
    chromium: Browser, file: Path, scheme: str
) -> None:
    report = Shown(
        chromium, file, viewport={"width": 400, "height": 800}, color_scheme=scheme
    ).drawn()
    for address in PAGES:
        report.go(address)
        assert report.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
    report.page.close()


def test_paper_is_light_and_has_no_tools(chromium: Browser, file: Path) -> None:
    report = Shown(chromium, file, "#/cell/mild/feelings", color_scheme="dark").drawn()
    report.page.emulate_media(media="print", color_scheme="dark")
    colours = "['body', '.soft'].map(each => getComputedStyle(document.querySelector(each)).color)"
    assert report.page.evaluate(colours) == ["rgb(0, 0, 0)", "rgb(86, 96, 106)"]
    assert not report.page.is_visible("#tools")
    assert not report.page.is_visible("[data-csv]")
    report.page.close()


def test_paper_shows_what_is_folded_and_no_texts_that_are_hidden(shown: Shown) -> None:
    shown.go("#/cell/strong/feelings").page.click("#app section details > summary")
    seen = (
        "all => all.map(each "
        "=> each.lastElementChild.checkVisibility({contentVisibilityAuto: true}))"
    )
    folded = "#app details:not([open]):not(.tool)"
    assert set(shown.page.eval_on_selector_all(folded, seen)) == {False}
    shown.page.emulate_media(media="print")
    # A browser on a loaded machine takes a moment to become paper.
    end = time.monotonic() + PATIENCE
    while set(on_paper := shown.page.eval_on_selector_all(folded, seen)) != {True}:
        assert time.monotonic() < end, on_paper
    assert len(on_paper) > 2
    assert SECRET not in shown.text


def test_without_a_script_it_shows_its_tables(chromium: Browser, file: Path) -> None:
    report = Shown(chromium, file, java_script_enabled=False)
    for part in (
        "Content warning",
        "Without JavaScript",
        "Findings",
        "What is measured",
        "The run",
        "someone/large",
    ):
        assert part in report.text
    assert SECRET not in report.text
    assert report.complaints == []
    report.page.close()


def test_the_script_has_nothing_that_could_run_foreign_code(file: Path) -> None:
    forbidden = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "fetch(",
    )
    script = file.read_text(encoding="utf-8").rpartition('<script type="module">')[2]
    assert [word for word in (*forbidden, "XMLHttpRequest", "import(") if word in script] == []


def test_content_too_large_for_one_page_gets_a_page_for_each_dataset(
    chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    names = ("feelings", "moods")
    of_both = {
        name: pl.concat([table.with_columns(dataset=pl.lit(each)) for each in names])
        for name, table in tables.items()
    }
    run = replace(
        RUN, datasets=[replace(RUN.datasets[0], name=name) for name in names], megabytes=0.001
    )
    pages = pages_of(run, **of_both)
    assert list(pages) == ["index.html", "dataset-feelings.html", "dataset-moods.html"]
    assert all(f'id="cell/mild/{name}"' in pages[f"dataset-{name}.html"] for name in names)
    assert 'id="cell/' not in pages["index.html"]
    for name, text in pages.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    index = Shown(chromium, tmp_path / "index.html").drawn()
    for name in ("moods", "feelings"):
        index.page.click(f'a.box[href$="strong/{name}"]')
        index.page.wait_for_url(f"**/dataset-{name}.html#/cell/strong/{name}")
        assert "All numbers" in index.drawn().text
        index.go("#/")
    assert index.complaints == []
    index.page.close()


def test_a_page_is_no_larger_than_it_may_be(tables: dict[str, pl.DataFrame]) -> None:
    megabytes = len(report_of(RUN, **tables).encode()) / 10**6
    pages = pages_of(replace(RUN, megabytes=megabytes - 1e-6), **tables)
    assert list(pages) == ["index.html"]
    assert len(pages["index.html"].encode()) < megabytes * 10**6
    assert 'id="evidence/' not in pages["index.html"]


@pytest.mark.parametrize("family", [{}, COUNTERFACTUAL], ids=["of no family", "of cases"])
def test_templates_are_reported_by_what_they_say_where_texts_are_asked_for(
    chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path, family: dict[str, str]
) -> None:
    said = [f"{SECRET} <i>{number}\nand slept" for number in range(4)]
    run = replace(RUN, datasets=[replace(RUN.datasets[0], templates=said, **family)])
    (tmp_path / "index.html").write_text(report_of(run, **tables), encoding="utf-8")
    report = Shown(chromium, tmp_path / "index.html", "#/cell/strong/feelings").drawn()
    assert SECRET not in report.page.inner_html("#app")
    table = report.press("t").page.locator("#app table:has(th:has-text('What it says'))").first
    heads, first = (
        table.locator("thead th").all_inner_texts(),
        table.locator("tbody tr").last.locator("th, td"),
    )
    row = dict(zip(heads, first.all_inner_texts(), strict=True))
    assert row["What it says"] == f"{SECRET} <i>{row['Template']} and slept"
    assert report.complaints == []
    report.page.close()


def test_failures_are_drawn_as_a_curve_of_each_bias_type(
    chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    run = replace(RUN, datasets=[replace(RUN.datasets[0], **COUNTERFACTUAL)])
    (tmp_path / "index.html").write_text(report_of(run, **tables), encoding="utf-8")
    report = Shown(chromium, tmp_path / "index.html", "#/cell/strong/feelings").drawn()
    assert len(report.page.query_selector_all("polyline.curve")) == len(BIAS_TYPES)
    rates = tables["measures"].filter(
        pl.col("template").is_null(), measure="failure_rate", model="strong"
    )
    rates = rates.filter(pl.col("options").str.starts_with("difference=mean"))
    assert len(report.page.query_selector_all(".curves circle")) == len(rates) > len(BIAS_TYPES)
    assert report.complaints == []
    report.page.click(".menu summary")
    report.page.locator(".menu [data-svg]").first.wait_for()
    assert (
        report.page.locator(".menu [data-svg]").count()
        == report.page.locator("#app svg[role=img]").count()
        > 0
    )
    figure = ElementTree.parse(report.saved(".menu [data-svg]", tmp_path)).getroot()
    assert figure.tag == "{http://www.w3.org/2000/svg}svg"
    drawn = [each for each in figure.iter() if each.get("stroke", "none") != "none"]
    assert drawn
    assert all(each.get("class") is None for each in figure.iter())
    report.page.close()


def test_what_was_synthetic_has_a_page_where_there_is_any(
    chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    run = replace(RUN, strengths={"feelings": {"strong": "strong"}})
    synthetic = synthetic_slants({"strong": 0.2}, BIAS_TYPES)
    (tmp_path / "index.html").write_text(
        report_of(run, synthetic=synthetic, **tables), encoding="utf-8"
    )
    report = Shown(chromium, tmp_path / "index.html").drawn()
    assert "Synthetic and measured" in report.click('nav a[href="#/synthetic"]').text
    assert "Synthetic and measured" not in report.go("#/run").text
    assert "Page not found" in report.go("#/published").text
    assert report.complaints == []
    report.page.close()


def test_marks_are_next_to_their_numbers(
    chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    marks = {
        name: pl.lit(mark)
        for name, mark in (("mark", "B"), ("best_mark", "A"), ("worst_mark", "C"))
    }
    marked = summary_of(RUN, tables["measures"]).summary.with_columns(**marks)
    path = tmp_path / "index.html"
    for summary, told in ((marked, True), (summary_of(RUN, tables["measures"]).summary, False)):
        path.write_text(report_of(RUN, **tables, summary=summary), encoding="utf-8")
        report = Shown(chromium, path, "#/cell/strong/feelings").drawn()
        cells = report.page.eval_on_selector_all(
            "#app td", "cells => cells.map(each => each.textContent)"
        )
        assert ("A to C" in cells) is told
        report.page.close()
