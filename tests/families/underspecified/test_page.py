"""Subjects and attributes in the page: the matrix, the evidence behind it, profiles and
comparisons.
"""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import needs
import polars as pl
import pytest
from browser import Shown, found_by_axe
from parsed_page import Page
from playwright.sync_api import Browser
from report_tables import report_of
from small_measures import measures_of, table_of, with_known

from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun
from biasgrid.tables.comparison import COMPARISONS, RANKS
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS

SUBJECTS = ["Ann", "a/b#c%2Fd", "</td><b>Cleo"]
ATTRIBUTES = ["stole money", "=slept(1)"]
GAMMA = {pair: (place - 2.5) / 10 for place, pair in enumerate(product(SUBJECTS, ATTRIBUTES))}
"""Of one model; the other's are half as large."""
TEMPLATE = "[subj1] met [subj2]."
NOT_ASKED = ("Ann", "=slept(1)")
MODELS = {"large": 1.0, "small": 0.5}
RUN = ReportRun(
    title="Two models",
    config="config/two.yaml",
    versions={"biasgrid": "0.2.0"},
    models=[ReportModel(name, "QA", name, "question-answering", name, "abc") for name in MODELS],
    datasets=[
        ReportDataset(
            "faiths",
            "Faiths",
            (DEFINITIONS.about,),
            DEFINITIONS.select("measures"),
            {"qa": 40},
            family="underspecified",
            reference="biasgrid.families.underspecified",
            templates=[TEMPLATE],
        )
    ],
)
CELL = "#/cell/large/faiths"
PAGES = [
    "#/",
    f"{CELL}/Ann/stole%20money",
    "#/compare/faiths/large/small",
    "#/subject/faiths/Ann",
    "#/dataset/faiths",
]
PAGES += ["#/measures", "#/run"]
SCORES = {
    (False, False): (0.9, 0.1),
    (False, True): (0.2, 0.8),
    (True, False): (0.7, 0.3),
    (True, True): (0.4, 0.6),
}
"""Of the own and the other subject, by order and negation."""
C = 0.5 * ((0.8 - 0.3) - (0.2 - 0.7))


def evidence() -> pl.DataFrame:
    units = [("strongest", 7), ("typical", 3), ("contrary", 5)]
    rows = [
        {
            "role": role,
            "unit": unit,
            "instance": 4 * unit + 2 * swapped + negated,
            "swapped": swapped,
        }
        | {
            "negated": negated,
            "score": own,
            "other_score": other,
            "text": f"Who {'never ' * negated}stole money?",
        }
        for (role, unit), ((swapped, negated), (own, other)) in product(units, SCORES.items())
    ]
    shared = {
        "model": "large",
        "dataset": "faiths",
        "measure": "share_gamma",
        "options": "",
        "subject": "Ann",
        "rank": 0,
    }
    shared |= {
        "attribute": "stole money",
        "other": SUBJECTS[1],
        "template": 0,
        "value": -0.25,
        "unit_value": C,
    }
    places = {
        "text_pair": f"Ann met {SUBJECTS[1]}.",
        "position": 0,
        "length": 3,
        "other_position": 8,
    }
    return table_of(
        EVIDENCE,
        rows,
        **shared,
        **places,
        other_length=len(SUBJECTS[1]),
        reason="strongest",
        said="Ann",
    )


@pytest.fixture(scope="module")
def html() -> str:
    pairs = [(model, pair) for model in MODELS for pair in GAMMA if pair != NOT_ASKED]
    gammas = [
        {
            "model": model,
            "subject": pair[0],
            "attribute": pair[1],
            "value": GAMMA[pair] * MODELS[model],
            "n": 8,
        }
        for model, pair in pairs
    ]
    wholes = [
        {"model": model, "measure": "mu", "value": 0.2 * share} for model, share in MODELS.items()
    ]
    sure = [
        row | {"low": row["value"] - 0.1, "high": row["value"] + 0.1, "q": q}
        for row, q in zip(gammas[: len(GAMMA) - 1], (0.01, 0.2, 0.01, 0.01, 0.01), strict=True)
    ]
    about = {
        "model": "large",
        "dataset": "faiths",
        "measure": "share_gamma",
        "options": "",
        "subject": "Ann",
    }
    parts = [
        {"other": SUBJECTS[1], "value": -0.3, "n": 6},
        {"other": SUBJECTS[2], "value": -0.1, "n": 2},
    ]
    parts += [{"template": 0, "value": -0.25, "n": 8}]
    apart = about | {
        "model": "small",
        "other_model": "large",
        "attribute": "stole money",
        "tests": 5,
    }
    apart |= {
        "value": -0.125,
        "other_value": -0.25,
        "difference": 0.125,
        "low": 0.1,
        "high": 0.15,
        "q": 0.01,
    }
    whole = {
        "model": "small",
        "other_model": "large",
        "dataset": "faiths",
        "measure": "mu",
        "options": "",
        "tests": 1,
    }
    whole |= {"value": 0.1, "other_value": 0.2, "difference": -0.1, "clusters": 3, "paired": True}
    ranks = [{"model": "large", "value": 0.2, "rank": 1, "rank_high": 1}]
    ranks += [{"model": "small", "value": 0.1, "rank": 2, "rank_high": 2}]
    known = measures_of(sure, dataset="faiths", generalises_to="clusters", clusters=4, method="t")
    return report_of(
        RUN,
        measures=with_known(measures_of(gammas + wholes, dataset="faiths"), known),
        examples=evidence(),
        parts=table_of(EVIDENCE_PARTS, parts, **about, attribute="stole money"),
        comparisons=table_of(COMPARISONS, [apart, whole]),
        ranks=table_of(
            RANKS, ranks, dataset="faiths", measure="mu", options="", set=0, models=2, rank_low=1
        ),
    )


@pytest.fixture
def shown(chromium: Browser, html: str, tmp_path: Path) -> Iterator[Shown]:
    file = tmp_path / "index.html"
    file.write_text(html, encoding="utf-8")
    report = Shown(chromium, file).drawn()
    yield report
    assert report.complaints == []
    report.page.close()


def test_columns_match_the_tables_and_unasked_values_are_null(html: str) -> None:
    blocks = Page(html).blocks
    cell = blocks["cell/large/faiths"]
    shared = {
        "subjects": SUBJECTS,
        "attributes": ["stole money", "=slept(1)"],
        "templates": [TEMPLATE],
    }
    assert blocks["dataset/faiths"] == shared
    assert cell["gamma"] == [-2500, None, -500, 500, 1500, 2500]
    assert cell["q"] == [100, None, 2000, 100, 100, 100]
    assert cell["low"][0] == -3500
    assert cell["eta"] is None
    assert cell["n"] == [8, None, 8, 8, 8, 8]
    assert [sorted(order) for order in cell["order"]] == [[0, 1, 2], [0, 1]]
    (own,) = blocks["evidence/large/faiths"]["examples"]
    assert (
        sum(value * n for _, value, n in own["partners"]) / sum(n for *_, n in own["partners"])
        == cell["gamma"][0]
    )
    assert [group["role"] for group in own["groups"]] == ["strongest", "typical", "contrary"]


def test_the_matrix_is_walked_by_arrows_to_its_sentences(shown: Shown) -> None:
    shown.click(f'a.box[href="{CELL}"]')
    focusable = shown.page.query_selector_all("[role=grid] td[tabindex='0']")
    assert len(focusable) == 1
    focusable[0].focus()
    labels = []
    for key in ("ArrowDown", "End", "ArrowUp", "Home"):
        shown.page.keyboard.press(key)
        labels.append(shown.page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert len(set(labels)) == 4
    assert "hidden text" in labels[0]
    ann = shown.page.get_by_label("Ann: hidden text, \N{MINUS SIGN}0.250")
    ann.focus()
    shown.press("Enter")
    assert shown.page.evaluate("location.hash") == f"{CELL}/Ann/stole%20money"
    assert shown.page.inner_text("[data-gamma]") == "\N{MINUS SIGN}0.250"
    before = shown.drawings()
    shown.page.go_back()
    shown.drawn(before)
    assert "Choose a box" in shown.text


def test_sentences_are_reached_from_the_grid_by_keyboard_alone(shown: Shown) -> None:
    shown.tab_to(f'a.box[href="{CELL}"]').press("Enter")
    shown.tab_to("[role=gridcell]").press("Enter")
    assert shown.page.evaluate("location.hash").startswith(f"{CELL}/")
    shown.go(f"{CELL}/Ann/stole%20money").press("t")
    assert "Who stole money?" in shown.page.inner_text(".panel")


def test_doubtful_and_not_asked_boxes_are_reported_without_colour(shown: Shown) -> None:
    shown.go(CELL)
    assert len(shown.page.query_selector_all("[role=grid] td.doubtful")) == 1
    (none,) = shown.page.query_selector_all("[role=grid] td.none")
    assert (none.get_attribute("aria-label"), none.inner_text()) == ("not asked", "\N{EN DASH}")


def test_the_sum_under_a_swap_group_is_its_c(shown: Shown) -> None:
    shown.go(f"{CELL}/Ann/stole%20money")
    assert "stole money" not in shown.page.inner_text("#app")
    shown.press("t")
    told = shown.page.inner_text(".sum").replace("\N{MINUS SIGN}", "-")
    assert told == "C = share in the questions 0.800 - share in their negations 0.300 = 0.500"
    assert len(shown.page.query_selector_all("article.group")) == 3
    assert [mark.inner_text() for mark in shown.page.query_selector_all("mark.other")][:1] == [
        SUBJECTS[1]
    ]
    assert "--subject Ann --attribute 'stole money'" in shown.text
    shown.page.click("summary:has-text('Numbers by template')")
    assert shown.page.inner_text(".panel details[open] tbody tr").split("\t") == [
        "0",
        TEMPLATE,
        "\N{MINUS SIGN}0.250",
        "8",
    ]
    assert (
        "has the sentences of 1 of 5 associations"
        in shown.go(f"{CELL}/a%2Fb%23c%252Fd/stole%20money").text
    )


def test_a_subject_that_nobody_is_leads_back_to_the_cell(shown: Shown) -> None:
    assert "no such subject" in shown.go(f"{CELL}/Nobody/stole%20money").text
    assert "Page not found" in shown.go("#/subject/faiths/Nobody").text


def test_a_profile_has_a_row_for_each_attribute_and_links_to_evidence(shown: Shown) -> None:
    shown.go("#/subject/faiths/a%2Fb%23c%252Fd")
    assert len(shown.page.query_selector_all("#app tbody tr")) == len(ATTRIBUTES)
    assert "stole money" not in shown.page.inner_text("#app")
    # The address holds the attribute, and so is in the page only where texts are shown.
    shown.click("#app tbody button.link")
    assert "a/b#c%2Fd" in shown.page.inner_text(".panel h3")


@pytest.mark.parametrize(
    ("pair", "difference"), [("large/small", "\N{MINUS SIGN}0.125"), ("small/large", "0.125")]
)
def test_two_models_are_side_by_side_marked_by_the_paired_test(
    shown: Shown, pair: str, difference: str
) -> None:
    shown.go(f"#/compare/faiths/{pair}")
    assert "correlate with 1.00 (5 associations)" in shown.text
    assert len(shown.page.query_selector_all("circle.found")) == 1
    row = shown.page.inner_text("#app tbody tr:has-text('Ann')")
    assert difference in row
    assert row.endswith("yes")


def test_ranks_are_with_their_intervals_next_to_differences_and_below_the_dataset(
    shown: Shown,
) -> None:
    row = shown.go("#/compare/faiths/small/large").page.inner_text(
        "#app tbody tr:has-text('intensity')"
    )
    assert row.split("\t")[-2:] == ["2 (1 to 2) of 2", "1 (1 to 1) of 2"]
    assert "is over the factors of the numbers (clusters of templates" in shown.text
    assert (
        "from 3 clusters (templates that do not reword each other), the same for both models"
        in shown.text
    )
    shown.go("#/dataset/faiths").page.click("summary:has-text('Ranks of models')")
    assert "1 (1 to 1) of 2" in shown.page.inner_text("#app details table")


def test_subjects_are_found_by_a_part_of_their_names(shown: Shown) -> None:
    shown.page.keyboard.press("/")
    shown.page.keyboard.type("cleo")
    shown.page.wait_for_selector(".found a")
    shown.click(".found a")
    assert "</td><b>Cleo: Faiths" in shown.text


@needs.axe.mark
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_on_any_page(
    chromium: Browser, html: str, tmp_path: Path, scheme: str
) -> None:
    (tmp_path / "index.html").write_text(html, encoding="utf-8")
    assert found_by_axe(chromium, tmp_path / "index.html", PAGES, color_scheme=scheme) == {}
