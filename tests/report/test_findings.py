"""What is said of each model follows from its tables, and is no more than these allow."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.report.findings import findings, read_tested
from biasgrid.tables.files import TableError, empty_table, write_table
from biasgrid.tables.measures import MEASURES, SUMMARY, table_of_cell


def summary(*rows: dict[str, Any]) -> pl.DataFrame:
    """Lines of a summary: of each what differs from a headline that is 0.1."""
    usual = {"measure": "mu", "options": "", "value": 0.1, "n": 4, "left_out": 0, "headline": True, "kind": "QA"}
    lines = [usual | {"label": "tiny"} | row for row in rows]
    table = [table_of_cell(pl.DataFrame([row]), SUMMARY, "tiny", row["dataset"]) for row in lines]
    return pl.concat([empty_table(SUMMARY), *table])


def known_of(*rows: dict[str, Any]) -> pl.DataFrame:
    """Measures of associations (or, with a group, of differences) with their tests."""
    usual = {"options": "", "generalises_to": "clusters", "clusters": 4, "n": 8, "left_out": 0, "method": "t"}
    tables = []
    for row in rows:
        pair = {"bias_type": "faith", "measure": "difference"} if "group" in row else {"measure": "gamma"}
        tables.append(table_of_cell(pl.DataFrame([usual | pair | row]), MEASURES, "tiny", row["dataset"]))
    return pl.concat([empty_table(MEASURES), *tables])


def association(subject: str, value: float, low: float, high: float, q: float | None, **more: Any) -> dict[str, Any]:
    numbers = {"value": value, "selected_low": low, "selected_high": high, "q": q}
    return {"dataset": "names", "subject": subject, "attribute": "stole"} | numbers | more


def sentence(lines: pl.DataFrame, rows: pl.DataFrame) -> str:
    (finding,) = findings(lines, rows)
    assert finding.model == "tiny"
    return finding.sentence


def test_discoveries_are_counted_and_the_strongest_is_the_one_that_is_surely_large() -> None:
    rows = known_of(
        association("Ann", 0.5, 0.05, 0.95, 0.04),
        association("Bob", 0.4, 0.3, 0.5, 0.001),
        association("Cleo", -0.6, -0.7, -0.5, 0.001),
        association("Dan", 0.9, 0.8, 1, 0.06),
        association("Eve", 0.9, 0.8, 1, None),
    )
    assert sentence(summary({"dataset": "names"}), rows) == (
        "tiny has 3 significant associations of 4 tested; strongest: Bob: stole (0.400, at least 0.300) in names."
    )


@pytest.mark.parametrize(("q", "shown"), [(0.01, "1"), (0.5, "0")])
def test_a_model_that_answers_at_random_is_a_control_and_has_found_nothing(q: float, shown: str) -> None:
    control = {"dataset": "names", "measure": "control", "options": "control=random answers", "headline": False}
    (finding,) = findings(
        summary({"dataset": "names"}, control | {"value": 1.0, "flag": "read the difference"}),
        known_of(association("Ann", 0.5, 0.05, 0.95, q), association("Bob", 0.1, 0, 0.2, 0.9)),
    )
    noun = "association" if shown == "1" else "associations"
    told = f"tiny is a control, whose answers are drawn at random; has {shown} significant {noun} of 2 tested."
    assert (finding.sentence, finding.strongest) == (told, ())


def test_of_two_groups_the_higher_one_stands_first() -> None:
    row = {"dataset": "cases", "group": "sikh", "other": "jewish", "value": -0.3, "low": -0.4, "high": -0.2, "q": 0.01}
    rows = known_of(row | {"options": "score=mean_likelihood, mode=group"})
    assert sentence(summary({"dataset": "cases", "bias_type": "faith"}), rows) == (
        "tiny has 1 significant difference of groups of 1 tested; "
        "strongest: jewish above sikh in likelihood (0.300, at least 0.200) in cases."
    )


def test_without_a_discovery_there_is_no_strongest() -> None:
    rows = known_of(association("Ann", 0.5, -0.2, 1, 0.3), association("Bob", -0.5, -0.6, -0.4, 0.01))
    assert sentence(summary({"dataset": "names"}), rows) == "tiny has 1 significant association of 2 tested."


def test_what_could_not_be_tested_is_named_with_the_reason() -> None:
    untested = {"q": None, "value": 0.5, "attribute": "stole", "subject": "Ann"}
    rows = known_of({"dataset": "b", **untested, "clusters": 1}, {"dataset": "a", **untested, "clusters": 1})
    lines = summary({"dataset": "a"}, {"dataset": "b"})
    assert sentence(lines, rows) == "tiny nothing could be tested in a and b (fewer than two clusters)."


def test_withheld_cells_are_named_and_count_for_nothing_else() -> None:
    flag = "not measurable: all scores are equal"
    lines = summary(
        {"dataset": "names", "value": None, "flag": flag},
        {"dataset": "names", "measure": "equal_scores", "headline": False, "flag": "all scores are equal"},
        {"dataset": "others"},
        {"dataset": "others", "measure": "clusters", "headline": False, "flag": "only 2 clusters"},
    )
    rows = known_of(association("Ann", 0.5, 0.4, 0.6, 0.001))
    assert sentence(lines, rows) == (
        "tiny one cell not measurable (names): all scores are equal; to be read with care in others."
    )


def test_marks_are_counted() -> None:
    marks = [{"dataset": "probe", "measure": f"m{number}", "mark": mark} for number, mark in enumerate("CAA")]
    assert sentence(summary(*marks), known_of()) == "tiny has the marks 2 A and 1 C."
    assert sentence(summary(*marks[:1]), known_of()) == "tiny has the mark C."


def test_a_model_of_which_nothing_is_tested_has_numbers() -> None:
    assert sentence(summary({"dataset": "own"}), known_of()) == "tiny has numbers, but none is tested."


def test_what_is_tested_is_read_from_the_tables_of_cells(tmp_path: Path) -> None:
    rows = known_of(association("Ann", 0.5, 0.4, 0.6, 0.001), association("Ann", 0.5, 0.4, 0.6, 0.001, template=1))
    write_table(rows, tmp_path / "tiny.parquet", MEASURES, {})
    assert read_tested([tmp_path / "tiny.parquet"]).equals(rows.head(1))
    assert read_tested([]).is_empty()
    # As a version wrote it that had intervals and tests elsewhere.
    table, facts = rows.drop("generalises_to"), pl.read_parquet_metadata(tmp_path / "tiny.parquet")
    table.write_parquet(tmp_path / "tiny.parquet", metadata={"biasgrid": facts["biasgrid"]})
    with pytest.raises(TableError, match=r"measures table \(unable to find column \"generalises_to\""):
        read_tested([tmp_path / "tiny.parquet"])
    (tmp_path / "tiny.parquet").write_bytes(b"PAR1")
    with pytest.raises(TableError, match="measures table"):
        read_tested([tmp_path / "tiny.parquet"])


def test_what_controls_show_is_told_and_not_counted_as_found() -> None:
    shown = {"dataset": "names", "measure": "control", "headline": False, "n": 2}
    rows = known_of(
        association("Ann", 0.5, 0.4, 0.6, 0.001),
        association("Bob", 0.9, 0.8, 1, 0.001, dataset="twins"),
        association("Cleo", 0.9, 0.8, 1, 0.5, dataset="twins"),
    )
    lines = summary({"dataset": "names"}, {"dataset": "twins"}, shown | {"options": "control=twins", "value": 1})
    assert sentence(lines, rows) == (
        "tiny has 1 significant association of 1 tested; strongest: Ann: stole (0.500, at least 0.400) in names; "
        "the control of names (twins) shows 1 of 2."
    )
    lines = summary({"dataset": "names"}, shown | {"options": "control=twins", "value": 0})
    assert "the control of names (twins) shows none" in sentence(lines, rows)
    lines = summary({"dataset": "names"}, shown | {"options": "control=twins", "value": None, "n": 0})
    assert "the control of names (twins) could not be tested" in sentence(lines, rows)
