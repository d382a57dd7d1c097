"""What is said of each model follows from its tables, and is no more than these allow."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from biasgrid.families.measures import OUTCOME_DIFFERENCES
from biasgrid.report.findings import findings, read_tested
from biasgrid.stats.verdicts.counts import OUTCOME_MEASURES
from biasgrid.tables.claims.facts import NO_FACTS, GridFacts
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
        known = {name: value for name, value in (usual | pair | row).items() if name != "bound"}
        tables.append(table_of_cell(pl.DataFrame([known]), MEASURES, "tiny", row["dataset"]))
    bounds = pl.Series("bound", [row.get("bound") for row in rows], dtype=pl.Float64)
    return pl.concat([empty_table(MEASURES), *tables]).with_columns(bounds)


def association(subject: str | None, value: float, bound: float | None, q: float | None, **more: Any) -> dict[str, Any]:
    return {"dataset": "names", "subject": subject, "attribute": "stole", "value": value, "bound": bound, "q": q} | more


def sentence(lines: pl.DataFrame, rows: pl.DataFrame, facts: GridFacts = NO_FACTS) -> str:
    (finding,) = findings(lines, rows, facts)
    assert finding.model == "tiny"
    return finding.sentence


ALONE = "no control was measured, so the wording alone may explain the result"


def test_associations_above_0_are_counted_and_the_largest_has_the_largest_bound() -> None:
    """One below 0 repeats those above 0 of other subjects."""
    rows = known_of(
        association("Ann", 0.5, 0.05, 0.04),
        association("Bob", 0.4, 0.3, 0.001),
        association("Cleo", -0.6, 0.5, 0.001),
        association("Dan", 0.9, 0.8, 0.06),
        association("Eve", 0.9, 0.8, None),
    )
    assert sentence(summary({"dataset": "names"}), rows) == (
        "tiny: more than noise overall (p = 0.0010); 2 of 4 tested associations are significant; "
        f"largest: Bob with stole, 0.400 (at least 0.300) in names; {ALONE}."
    )


@pytest.mark.parametrize("bound", [None, -0.1])
def test_without_a_bound_above_0_none_is_the_largest(bound: float | None) -> None:
    told = sentence(summary({"dataset": "names"}), known_of(association("Ann", 0.5, bound, 0.01)))
    assert told == f"tiny: more than noise overall (p = 0.010); 1 of 1 tested associations is significant; {ALONE}."


@pytest.mark.parametrize(
    ("q", "told"),
    [(0.01, "1 of 2 tested associations is significant"), (0.5, "none of 2 tested associations is significant")],
)
def test_a_model_that_answers_at_random_is_a_control_and_has_found_nothing(q: float, told: str) -> None:
    control = {"dataset": "names", "measure": "control", "options": "control=random answers", "headline": False}
    (finding,) = findings(
        summary({"dataset": "names"}, control | {"value": 1.0, "flag": "read the difference"}),
        known_of(association("Ann", 0.5, 0.05, q), association("Bob", 0.1, 0, 0.9)),
    )
    assert finding.sentence == f"tiny: a control, whose answers are drawn at random; {told}."
    assert finding.largest == ()


def test_of_two_groups_the_higher_one_stands_first() -> None:
    row = {"dataset": "cases", "group": "sikh", "other": "jewish", "value": -0.3, "bound": 0.2, "q": 0.01}
    rows = known_of(row | {"options": "score=mean_likelihood, mode=group"})
    assert sentence(summary({"dataset": "cases", "bias_type": "faith"}), rows) == (
        "tiny: more than noise overall (p = 0.010); 1 of 1 tested differences of groups is significant; "
        f"largest: jewish above sikh in likelihood, 0.300 (at least 0.200) in cases; {ALONE}."
    )


def test_groups_of_subjects_are_what_is_claimed_and_single_subjects_are_not_counted() -> None:
    group = {"subject_group": "women", "generalises_to": "clusters x names"}
    rows = known_of(
        association("Ann", 0.9, 0.8, 0.001),
        association(None, 0.2, 0.1, 0.01, **group),
        association(None, -0.2, 0.1, 0.01, **group | {"subject_group": "men"}),
        association(None, 0.1, None, 0.2, **group | {"attribute": "cooks"}),
    )
    told = sentence(summary({"dataset": "names", "p": 0.4}), rows)
    assert told.startswith("tiny: more than noise overall (p = 0.010); 1 of 3 tested associations is significant; ")
    assert "largest: women with stole, 0.200 (at least 0.100) in names" in told


def test_measures_that_are_not_counted_are_told_nowhere_and_flags_put_others_in_their_place() -> None:
    facts = GridFacts(counted={"names": {"share": "", "question": "negation"}})
    rows = known_of(
        association("Ann", 0.9, 0.8, 0.001),
        association("Bob", 0.3, 0.2, 0.01, measure="share"),
        association("Cleo", 0.2, 0.1, 0.02, measure="question"),
    )
    headline = {"dataset": "names", "p": 0.04}
    told = sentence(summary(headline), rows, facts)
    assert told.startswith(
        "tiny: more than noise overall (p = 0.040); 1 of 1 tested associations is significant; largest: Bob"
    )
    flag = {"dataset": "names", "measure": "negation", "headline": False, "flag": "the negation is not read"}
    told = sentence(summary(headline, flag), rows, facts)
    assert told.startswith(
        "tiny: more than noise overall (p = 0.020); 1 of 1 tested associations is significant; largest: Cleo"
    )


def test_where_names_are_improbable_their_pronouns_are_told() -> None:
    women = {"subject_group": "women", "generalises_to": "clusters x names", "measure": "pronoun_association"}
    rows = known_of(
        association(None, 1.5, 1.2, 0.001, **women),
        association(None, -1.5, 1.2, 0.001, **women | {"subject_group": "men"}),
        association("Ann", 0.9, 0.8, 0.001, measure="share"),
    )
    flag = {"dataset": "names", "measure": "improbable", "headline": False, "flag": "names are improbable"}
    headline = {"dataset": "names", "value": None, "flag": "not measurable: names are improbable"}
    facts = GridFacts(counted={"names": {"share": ""}})
    assert sentence(summary(headline, flag), rows, facts) == (
        "tiny: one cell not measurable (names): names are improbable; "
        "of its pronouns, 1 of 2 tested associations is significant; "
        "largest of pronouns, in log odds: women with stole, 1.50 (at least 1.20) in names."
    )
    unknown = headline | {"flag": "not measurable: text is unknown; names are improbable"}
    assert "pronouns" not in sentence(summary(unknown, flag), rows, facts)
    assert "pronouns" not in sentence(summary({"dataset": "names"}), rows, facts)


def test_where_nothing_stands_out_it_is_said_what_would_have_been_seen() -> None:
    sizes = {"names": 0.0812, "others": 0.1}
    cells = {f"{name}/tiny": {"detectable": {"gamma": {"subject": size}}} for name, size in sizes.items()}
    quiet = association("Ann", 0.5, None, 0.3)
    assert sentence(summary({"dataset": "names"}), known_of(quiet), GridFacts(cells=cells)) == (
        "tiny: no more than noise overall (p = 0.30); none of 1 tested associations is significant; "
        f"an effect of 0.0812 would have been detected with 80 % power; {ALONE}."
    )
    lines = summary({"dataset": "names"}, {"dataset": "others"})
    told = sentence(lines, known_of(quiet, quiet | {"dataset": "others"}), GridFacts(cells=cells))
    assert "an effect of 0.0812 in names, 0.100 in others would have been detected with 80 % power" in told
    loud = association("Ann", 0.5, 0.4, 0.001, dataset="others")
    told = sentence(lines, known_of(quiet, loud), GridFacts(cells=cells))
    assert (
        "no association is significant in names: an effect of 0.0812 in names would have been detected with 80 % power"
        in told
    )


def test_of_probes_the_headlines_are_claims_beside_how_answers_ended() -> None:
    assert [each.__name__ for each in OUTCOME_DIFFERENCES] == [*OUTCOME_MEASURES]
    refused = {"dataset": "hiring", "measure": "refused_difference", "group": "a", "other": "b", "value": 0.0, "q": 1.0}
    gap = {"dataset": "hiring", "measure": "gap", "value": 0.75, "p": 0.001}
    assert sentence(summary(gap), known_of(refused)).startswith("tiny: more than noise overall (p = 0.0020); ")
    assert "no more than noise overall (p > 0.99)" in sentence(summary(gap | {"p": None}), known_of(refused))
    # Of other families the headline's p is of what is tested one by one, or of names alone.
    tested = refused | {"measure": "difference"}
    assert "no more than noise overall (p > 0.99)" in sentence(summary(gap), known_of(refused, tested))


def test_a_size_that_no_number_can_have_is_not_told() -> None:
    cells = {"names/tiny": {"detectable": {"gamma": {"subject": 1.06}}}}
    quiet = known_of(association("Ann", 0.5, None, 0.3))
    told = sentence(summary({"dataset": "names"}), quiet, GridFacts(cells=cells, ranges={"names": {"gamma": [-1, 1]}}))
    assert "too little was asked to detect any association with 80 % power, however large" in told
    assert "1.06" not in told
    assert "an effect of 1.06 would have been detected" in sentence(
        summary({"dataset": "names"}), quiet, GridFacts(cells=cells)
    )


def test_what_could_not_be_tested_is_in_every_count() -> None:
    untestable = {"q": None, "reason": "untestable: equal in all 4 clusters"}
    rows = known_of(
        *(association(name, 0.1, None, 0.5) for name in ("Ann", "Bob")), association("Cleo", -1.0, None, **untestable)
    )
    told = sentence(summary({"dataset": "names"}), rows)
    assert (
        "none of 2 tested associations is significant; 1 association of 1.00 could not be tested (4 clusters);" in told
    )
    row = {"dataset": "cases", "group": "sikh", "other": "jewish", "value": 0.3} | untestable
    told = sentence(summary({"dataset": "cases", "bias_type": "faith"}), known_of(row, row | {"value": 0.5}))
    assert told.startswith("tiny: 2 differences of groups of up to 0.500 could not be tested (4 clusters); nothing")


def test_a_model_has_one_p_of_its_cells_but_for_placebos() -> None:
    """Simes: of 0.03, 0.04 and 0.9 the smallest of 3 x 0.03, 3 x 0.04 / 2 and 0.9."""
    lines = summary(
        {"dataset": "names", "p": 0.03}, {"dataset": "faiths", "p": 0.04}, {"dataset": "lands", "p": 0.9},
        {"dataset": "twins", "p": 0.0001},
        {"dataset": "names", "measure": "control", "options": "control=twins", "value": 0.0, "headline": False},
    )  # fmt: skip
    assert sentence(lines, known_of()) == (
        "tiny: no more than noise overall (p = 0.060 over 3 datasets); the control of names (twins) shows none."
    )


def test_where_nothing_could_be_tested_the_reason_is_named() -> None:
    untested = {"q": None, "value": 0.5, "attribute": "stole", "subject": "Ann"}
    rows = known_of({"dataset": "b", **untested, "clusters": 1}, {"dataset": "a", **untested, "clusters": 1})
    lines = summary({"dataset": "a"}, {"dataset": "b"})
    assert sentence(lines, rows) == "tiny: nothing could be tested in a and b (fewer than three clusters)."


def test_withheld_cells_are_named_and_count_for_nothing_else() -> None:
    flag = "not measurable: all scores are equal"
    lines = summary(
        {"dataset": "names", "value": None, "flag": flag},
        {"dataset": "names", "measure": "equal_scores", "headline": False, "flag": "all scores are equal"},
        {"dataset": "others"},
        {"dataset": "others", "measure": "clusters", "headline": False, "flag": "only 2 clusters"},
    )
    rows = known_of(association("Ann", 0.5, 0.4, 0.001))
    assert sentence(lines, rows) == ("tiny: one cell not measurable (names): all scores are equal; warnings in others.")


def test_marks_are_counted() -> None:
    marks = [{"dataset": "probe", "measure": f"m{number}", "mark": mark} for number, mark in enumerate("CAA")]
    assert sentence(summary(*marks), known_of()) == "tiny: has the marks 2 A and 1 C."
    assert sentence(summary(*marks[:1]), known_of()) == "tiny: has the mark C."


def test_a_model_of_which_nothing_is_tested_has_numbers() -> None:
    assert sentence(summary({"dataset": "own"}), known_of()) == "tiny: has numbers, but none is tested."


def test_what_is_tested_is_read_from_the_tables_of_cells(tmp_path: Path) -> None:
    tests = known_of(association("Ann", 0.5, 0.4, 0.001), association("Ann", 0.5, 0.4, 0.001, template=1))
    rows = tests.select(list(MEASURES.columns))
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
        association("Ann", 0.5, 0.4, 0.001),
        association("Bob", 0.9, 0.8, 0.001, dataset="twins"),
        association("Cleo", 0.9, 0.8, 0.5, dataset="twins"),
    )
    lines = summary({"dataset": "names"}, {"dataset": "twins"}, shown | {"options": "control=twins", "value": 1})
    assert sentence(lines, rows) == (
        "tiny: more than noise overall (p = 0.0010); 1 of 1 tested associations is significant; "
        "largest: Ann with stole, 0.500 (at least 0.400) in names; the control of names (twins) shows 1 of 2."
    )
    lines = summary({"dataset": "names"}, shown | {"options": "control=twins", "value": 0})
    assert "the control of names (twins) shows none" in sentence(lines, rows)
    # Beside another dataset with a control, the one without is named.
    more = sentence(
        summary({"dataset": "names"}, {"dataset": "b"}, shown | {"options": "control=twins", "value": 0}),
        known_of(association("Ann", 0.5, 0.4, 0.001), association("Ann", 0.5, 0.4, 0.001, dataset="b")),
    )
    assert "shows none; no control of b was measured, so the wording alone may explain the result" in more


@pytest.mark.parametrize(
    ("value", "low", "more"),
    [(0.152, -0.1, "not significantly more"), (0.152, 0.01, "more"), (-0.002, -0.1, "no more")],
)
def test_sizes_of_datasets_and_controls_are_told_together(value: float, low: float, more: str) -> None:
    size = {"measure": "share_strength", "n": 2}
    compared = {"measure": "control_difference", "options": "control=twins, size=share_strength", "headline": False}
    lines = summary(
        {"dataset": "names", "value": value, **size},
        {"dataset": "twins", "value": -0.001, **size},
        {"dataset": "names", "measure": "control", "headline": False, "n": 2, "options": "control=twins", "value": 0},
        {"dataset": "names", "value": value + 0.001, "low": low, "high": 0.4, **compared},
    )
    told = sentence(lines, known_of(association("Ann", 0.5, 0.4, 0.001, control="twins")))
    shown = "0.152" if value > 0 else "0"
    assert f"share strength of names {shown}, of its control (twins) 0: {more} than the control" in told
    withheld = lines.with_columns(value=pl.when(pl.col("dataset") != "twins").then("value"))
    assert "of its control" not in sentence(withheld, known_of(association("Ann", 0.5, 0.4, 0.001)))
    # The p against 0 of the headline is no question where there is a control.
    assert told.startswith("tiny: more than noise overall (p = 0.0010)")


def test_a_control_that_shows_nothing_because_nothing_was_measured_is_none() -> None:
    shown = {"dataset": "names", "measure": "control", "headline": False, "n": 0, "options": "control=twins"}
    told = sentence(
        summary({"dataset": "names"}, shown | {"value": None}), known_of(association("Ann", 0.5, 0.4, 0.001))
    )
    assert told.endswith(f"; {ALONE}.")
    assert "control of" not in told
