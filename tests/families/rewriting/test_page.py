"""What the page shows of rewritten prompts: pairs beside the noise floor, how answers end, and
texts side by side.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import needs
import polars as pl
import pytest
from browser import Shown, found_by_axe
from playwright.sync_api import Browser
from report_tables import report_of
from small_rewriting import SAID, numbers_of, options_of_cell, said_of_groups

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.evidence import example_payloads
from biasgrid.families.page import CellTables, cell_tables
from biasgrid.families.rewriting.family import DEFINITIONS
from biasgrid.families.rewriting.observe import observe
from biasgrid.families.rewriting.show import SENTENCES, TABLES
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES as MEASURES_TABLE
from biasgrid.tables.measures import cell_table

RUN = ReportRun(
    title="Letters",
    config="config/letters.yaml",
    versions={},
    models=[ReportModel("writer", "Chat", "Writer", "text-generation", "someone/writer", "abc123")],
    datasets=[
        ReportDataset(
            "letters",
            "Letters",
            (),
            DEFINITIONS.select("measures", "targets", "flags"),
            {"prompts": 12},
            family="rewriting",
            reference="biasgrid.families.rewriting",
        )
    ],
)


CELL = "#/cell/writer/letters"
FAR = [("0.667", "4"), ("0.333", "6")]
"""Association and n of a word in answers for one of three groups, and of one in those for two."""


def tables_of(
    folder: Path, answers: Mapping[str, Sequence[str]], **keys: Any
) -> dict[str, pl.DataFrame]:
    """What is measured of two prompts for three groups, and the answers behind it."""
    instances, said = said_of_groups(folder, answers=answers)
    options = options_of_cell(**keys)
    observations = observe(instances, said, options)
    measures = numbers_of(observations, options)
    units = SENTENCES.table(
        MeasuredCell(instances.lazy(), said.lazy(), observations, measures, options)
    ).units
    return {
        "measures": cell_table(measures, MEASURES_TABLE, "writer", "letters"),
        "examples": cell_table(units, EVIDENCE, "writer", "letters"),
    }


def shown_cell(tables: Mapping[str, pl.DataFrame]) -> CellTables:
    return CellTables(tables["measures"], tables["examples"], empty_table(EVIDENCE_PARTS))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    return tables_of(tmp_path_factory.mktemp("cell"), SAID)


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    """A cell in whose answers words stand near those of groups."""
    answers = {
        "female": ["She is kind and her life is calm.", "At home."],
        "male": ["He is calm.", "At home."],
        "non-binary": ["They are loud.", "At home."],
    }
    return tables_of(tmp_path_factory.mktemp("words"), answers, targets=["calm", "kind"])


@pytest.fixture
def cell(tables: dict[str, pl.DataFrame]) -> CellTables:
    return shown_cell(tables)


@pytest.mark.slow
def test_pairs_are_next_to_the_floor_and_refusals_are_reported(cell: CellTables) -> None:
    shown = {table["title"]: table for table in cell_tables(cell.measures, TABLES)}
    pairs = shown["Pairs of groups"]
    titles = [title for title, _ in pairs["columns"]]
    rows = [dict(zip(titles, row, strict=True)) for row in pairs["rows"]]
    (alike,) = [
        row
        for row in rows
        if (row["By"], row["Group"], row["Compared with"]) == ("rouge-l", "female", "male")
    ]
    similarity = (1 + 2 * 4 / (6 + 5)) / 2
    numbers = {"Similarity": similarity, "Noise floor": 1, "Corrected for noise": 1 - similarity}
    assert {name: alike[name] for name in numbers} == {
        name: round(10_000 * value) for name, value in numbers.items()
    }
    # Where a group is refused, the noise floor is that of the other prompt.
    (rest,) = [
        row
        for row in rows
        if (row["By"], row["Group"], row["Compared with"]) == ("bleu", "male", "non-binary")
    ]
    assert (rest["Similarity"], rest["Corrected for noise"]) == (rest["Noise floor"], 0)
    ends = shown["How answers end"]
    refused = [title for title, _ in ends["columns"]].index("Refused")
    assert {row[0]: row[refused] for row in ends["rows"]} == {
        "female": 0,
        "male": 0,
        "non-binary": 5000,
    }
    assert {"Scores of groups", "Scores of pairs"} < shown.keys()


def test_each_measure_of_words_has_a_table_of_its_own(words: dict[str, pl.DataFrame]) -> None:
    shown = {table["title"]: table for table in cell_tables(shown_cell(words).measures, TABLES)}
    own, near = shown["Words"], shown["Words near those of groups"]
    # Two thirds is how far a word is from equal that stands with the words of one of three groups.
    assert [title for title, _ in own["columns"]] == ["Word", "Stereotypical association", "n"]
    assert [row[:2] for row in own["rows"]] == [["kind", 6667], ["calm", 3333]]
    assert [title for title, _ in near["columns"]] == [
        "Word",
        "Group",
        "Compared with",
        "Co-occurrence bias",
        "n",
    ]
    assert [row[:3] for row in near["rows"]] == [["calm", "female", "male"]]


def test_texts_are_split_where_they_differ(cell: CellTables) -> None:
    first = example_payloads(cell.examples, SENTENCES.explained, SENTENCES.view)[0]
    one, other = first["units"][0]["rows"][:2]
    assert first["about"] == ["gender", "female", "male"]
    assert first["explain"] == [("bias_type", "gender"), ("group", "female"), ("other", "male")]
    assert (one["text"], other["text"]) == (
        ["What is ", "she", " like?"],
        ["What is ", "he", " like?"],
    )
    assert (one["said"][1], other["said"][1]) == ("kind and", "grim,")
    assert one["text_pair"] == ["Be brief."]


@pytest.fixture
def shown(chromium: Browser, tables: dict[str, pl.DataFrame], tmp_path: Path) -> Iterator[Shown]:
    path = tmp_path / "index.html"
    path.write_text(report_of(RUN, **tables), encoding="utf-8")
    report = Shown(chromium, path, CELL).drawn()
    yield report
    assert report.complaints == []
    report.page.close()


def test_words_that_differ_are_marked_where_texts_are_asked_for(shown: Shown) -> None:
    assert "Noise floor" in shown.text
    hidden = shown.page.inner_html("#app")
    assert "grim" not in hidden
    assert "<mark>" not in hidden
    shown.press("t")
    marked = [each.inner_text() for each in shown.page.query_selector_all("#app td mark")]
    assert {"she", "he", "kind and", "grim,"} <= {*marked}
    assert "Very grim, calm, I think." in shown.text


def test_words_are_with_their_numbers_where_texts_are_asked_for(
    chromium: Browser, words: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "index.html"
    path.write_text(report_of(RUN, **words), encoding="utf-8")
    report = Shown(chromium, path, CELL).drawn()
    rows = report.page.locator("#app section:has(> h3:text-is('Words')) tbody tr")
    assert [row.split() for row in rows.all_inner_texts()] == [
        ["show", "text", *numbers] for numbers in FAR
    ]
    report.press("t")
    assert [row.split() for row in rows.all_inner_texts()] == [["kind", *FAR[0]], ["calm", *FAR[1]]]
    assert report.complaints == []
    report.page.close()


@needs.axe.mark
def test_axe_finds_nothing_on_the_page(
    chromium: Browser, words: dict[str, pl.DataFrame], tmp_path: Path
) -> None:
    path = tmp_path / "index.html"
    path.write_text(report_of(RUN, **words), encoding="utf-8")
    assert found_by_axe(chromium, path, [CELL]) == {}


def test_the_command_names_the_number_that_it_explains(shown: Shown) -> None:
    commands = shown.page.eval_on_selector_all(
        "#app code", "codes => codes.map(each => each.textContent)"
    )
    names = "--model writer --dataset letters --bias-type gender --group female --other male"
    assert f"biasgrid explain results {names}" in commands
    assert [each for each in commands if each.endswith("--dataset letters")] == []
