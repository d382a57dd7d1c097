"""The demo's report in a browser: its numbers are those of the tables, and every kind of page is
drawn.
"""

import re
from pathlib import Path

import needs
import pytest
from browser import Shown, found_by_axe
from playwright.sync_api import Browser
from project import OF_EACH_KIND, Project

from biasgrid.stats.ordering import select_rows
from biasgrid.tables.files import read_table
from biasgrid.tables.measures import MEASURES, SUMMARY

NEW_TO_AXE = [f"#/cell/{model}/{dataset}" for model, dataset in OF_EACH_KIND[3:]]
NEW_TO_AXE += [
    "#/cell/strong-llm/choices",
    "#/cell/strong-llm/talk",
    "#/dataset/talk",
    "#/synthetic",
]
"""Addresses of pages that the tests of the report do not make."""
PAGES = [*NEW_TO_AXE, *(f"#/cell/{model}/{dataset}" for model, dataset in OF_EACH_KIND[:3])]
PAGES += [
    "#/",
    "#/cell/strong-qa/gender/Linda/was%20an%20accountant",
    "#/compare/gender/strong-qa/none-qa",
]
PAGES += ["#/subject/gender/Linda", "#/measures", "#/run"]
"""Addresses of pages of all kinds and families."""


@pytest.fixture(scope="session")
def results(demo: Project) -> Path:
    return demo.results


def test_the_report_is_one_offline_page_with_what_was_synthetic(results: Path):
    page = (results / "report/index.html").read_text()
    assert "Content warning" in page
    assert 'src="http' not in page
    assert "strong-lm" in page
    assert "strong-llm" in page
    assert "Synthetic and measured" in page


def test_a_browser_shows_the_numbers_of_the_summary(results: Path, chromium: Browser):
    summary = (
        read_table(results / "summary.parquet", SUMMARY)
        .filter("headline", measure="share_strength")
        .drop_nulls("value")
    )
    boxes = (
        "nodes => nodes.map(node "
        "=> [node.getAttribute('href'), node.querySelector('strong').textContent])"
    )
    report = Shown(chromium, results / "report/index.html").drawn()
    drawn = dict(report.page.eval_on_selector_all("a.box:has(strong)", boxes))
    for model, dataset, value in summary.select("model", "dataset", "value").iter_rows():
        # Of two boxes the last one is of single subjects. A size below 0 is shown as 0, and with
        # two decimals.
        assert number_of(drawn[f"#/cell/{model}/{dataset}"]) == pytest.approx(
            max(value, 0), abs=0.006
        )
    for address in PAGES:
        page = report.go(address).page.inner_html("#app")
        assert "Page not found" not in page, address
        assert ("Numbers for the whole cell" in page) == ("/cell/" in address), address
    assert report.complaints == []


def test_a_browser_shows_the_associations_of_the_table_and_the_sum_that_makes_each_c(
    results: Path, chromium: Browser
):
    measures = read_table(results / "measures/gender/strong-qa.parquet", MEASURES)
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"])
    cell = "#/cell/strong-qa/gender"
    report = Shown(chromium, results / "report/index.html", cell).drawn().press("t")
    told = "rows => rows.map(row => [...row.cells].slice(0, 3).map(each => each.textContent))"
    rows = report.page.eval_on_selector_all("[data-table] tbody tr", told)
    shown = {(subject, attribute): number_of(value) for subject, attribute, value in rows}
    known = {
        (row["subject"], row["attribute"]): row["value"] for row in gamma.iter_rows(named=True)
    }
    assert shown == pytest.approx(known, rel=5e-3)
    assert "its control" in report.text
    report.go(f"{cell}/Linda/was%20an%20accountant")
    sums = report.page.locator("[data-c]").all_inner_texts()
    assert len(sums) == 3
    for said in sums:
        *terms, c = (
            number_of(each)
            for each in re.findall(r"\N{MINUS SIGN}?\d\.\d+", said.replace(" \N{MINUS SIGN} ", " "))
        )
        in_questions, in_negations = terms
        assert in_questions - in_negations == pytest.approx(c, abs=0.002)
    assert report.complaints == []


def number_of(text: str) -> float:
    return float(text.replace("\N{MINUS SIGN}", "-"))


@needs.axe.mark
def test_axe_finds_nothing_on_pages_of_other_families(results: Path, chromium: Browser):
    assert found_by_axe(chromium, results / "report/index.html", NEW_TO_AXE) == {}


@pytest.mark.long
@needs.axe.mark
def test_axe_finds_nothing_on_a_cell_that_cannot_be_measured(full_demo: Project, chromium: Browser):
    page = full_demo.results / "report/index.html"
    assert found_by_axe(chromium, page, ["#/cell/none-sentiment/nicknames"]) == {}
