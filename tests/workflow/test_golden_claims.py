"""Golden cells of claims through a run: associations, groups of names, preferences, probes and
shares.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from association_worlds import sums_of
from golden_dumps import Array, Utilities
from golden_runs import (
    ANSWERS,
    REFERENCE,
    associations_of,
    lists_of,
    utilities_of_associations,
    utilities_of_groups,
)
from golden_statistics import ABSOLUTE, BISECTED, RELATIVE, claims_of, inputs_of
from reference_associations import (
    Claims,
    claims_of_associations,
    corrected_mu,
    likeness_of_clusters,
    size_of_cell,
    strength,
)
from worlds import gamma_of_groups

from biasgrid.families.underspecified.measure import CORRELATION
from biasgrid.runs.results import Results
from biasgrid.stats.sums import Sums, read_sums
from biasgrid.tables.measures import MEASURE_KEYS

pytestmark = pytest.mark.family("the golden numbers are of associations and probes")

ASSOCIATIONS = claims_of("associations")
GROUPS = {
    cell: (file, numbers)
    for file in ("groups", "groups_few")
    for cell, numbers in claims_of(file).items()
}
SINGLE = 1e-6
"""Tolerance of numbers of scores that single precision rounds."""


def numbers_of(values: Any) -> Array:
    """Golden numbers: null is NaN, "inf" infinity."""
    return np.array([np.nan if value is None else float(value) for value in values])


def assert_close(found: Any, expected: Any, relative: float, what: str = "") -> None:
    """Compares numbers within a relative tolerance, or the absolute one of golden files."""
    ours = (
        found.to_numpy().astype(np.float64) if isinstance(found, pl.Series) else numbers_of(found)
    )
    assert len(ours) == len(expected) > 0
    np.testing.assert_allclose(ours, expected, relative, ABSOLUTE, err_msg=what)


# Associations


def test_the_book_gives_the_golden_numbers() -> None:
    """What associations are compared with, on the golden inputs themselves."""
    assert len(ASSOCIATIONS) == 11
    for cell, golden in ASSOCIATIONS.items():
        book = claims_of_associations(associations_of(cell))
        for column in ("value", "low", "high"):
            assert_close(
                getattr(book, column), numbers_of(golden[column]), RELATIVE, f"{cell} {column}"
            )
        # With two clusters nothing is tested (claims since then).
        for column in ("p", "q") if golden["frames"] > 2 else ():
            assert_close(
                getattr(book, column), numbers_of(golden[column]), BISECTED, f"{cell} {column}"
            )
        assert book.prior_df == pytest.approx(float(golden["d0"]), rel=RELATIVE)
        assert (book.gain is not None and book.gain.is_found) is golden["gain_found"]


@cache
def stored_associations(cell: str) -> Array:
    """The associations that stored answers have, by plain loops, shape (subjects, attributes,
    clusters).
    """
    utilities = utilities_of_associations(cell)
    stored = np.round(utilities.values * 1e6) * (utilities.scale / 1e6)
    found = np.zeros_like(stored)
    for one in range(len(stored)):
        others = [other for other in range(len(stored)) if other != one]
        found[one] = np.mean([(stored[one] - stored[other]) / 2 for other in others], axis=0)
    return found


@cache
def book_of(cell: str) -> Claims:
    return claims_of_associations(stored_associations(cell))


def associations(golden: Results, cell: str) -> pl.DataFrame:
    """The gammas of a cell in a run, subject by subject."""
    rows = golden.measures(f"associations-{cell}", REFERENCE).filter(measure="gamma")
    return rows.drop_nulls(["subject", "attribute"]).sort("subject", "attribute")


@pytest.mark.parametrize("cell", ASSOCIATIONS)
def test_associations(golden: Results, cell: str) -> None:
    rows, book = associations(golden, cell), book_of(cell)
    for column in ("value", "low", "high", "p", "q"):
        assert_close(rows[column], getattr(book, column), BISECTED, column)
    tested = rows.filter((pl.col("q") <= 0.05) & (pl.col("value") > 0) & (pl.col("bound") > 0))
    expected = (book.q <= 0.05) & (book.value > 0) & (book.bound > 0)
    assert len(tested) == np.count_nonzero(expected)
    if len(tested):
        assert_close(tested["bound"], book.bound[expected], BISECTED, "bound")


@pytest.mark.parametrize("cell", ASSOCIATIONS)
def test_gains_are_the_golden_ones(golden: Results, cell: str) -> None:
    methods = associations(golden, cell)["method"].drop_nulls()
    is_found = methods.str.ends_with("with gain").any()
    assert is_found is ASSOCIATIONS[cell]["gain_found"]
    prior = golden.design(f"associations-{cell}", REFERENCE).filter(name="prior_df")["value"].item()
    assert prior == pytest.approx(book_of(cell).prior_df, rel=RELATIVE)


@pytest.mark.parametrize(
    "cell", [cell for cell, numbers in ASSOCIATIONS.items() if numbers["frames"] > 2]
)
def test_sizes_of_cells(golden: Results, cell: str) -> None:
    rows = golden.measures(f"associations-{cell}", REFERENCE)
    for measure, size in (("strength", strength), ("mu_corrected", corrected_mu)):
        expected = size_of_cell(stored_associations(cell), size)
        row = rows.filter(measure=measure).row(0, named=True)
        assert_close(
            [row[column] for column in expected], list(expected.values()), BISECTED, measure
        )


@pytest.mark.parametrize(
    "cell", [cell for cell, numbers in ASSOCIATIONS.items() if numbers["likeness"] is not None]
)
def test_the_strongest_likeness_of_clusters_is_warned_of(golden: Results, cell: str) -> None:
    design = golden.design(f"associations-{cell}", REFERENCE)
    largest = np.nanmax(likeness_of_clusters(stored_associations(cell)))
    shown = design.filter(name="likeness")["value"].max()
    assert shown == pytest.approx(largest, rel=BISECTED)


# Groups of names


def scale_of_groups(cell: str) -> float:
    """By what numbers of a run are smaller: half of the difference of two lists, in steps of single
    precision.
    """
    file, _ = GROUPS[cell]
    utilities: Utilities = utilities_of_groups(file, cell)
    return utilities.scale / 2


@pytest.mark.parametrize("cell", GROUPS)
def test_groups_of_names(golden: Results, cell: str) -> None:
    file, numbers = GROUPS[cell]
    rows = (
        golden.measures(f"groups-{cell}", REFERENCE)
        .filter(measure="gamma")
        .drop_nulls(["subject_group"])
    )
    rows = rows.drop_nulls("attribute").sort("attribute")
    assert set(rows["generalises_to"]) == {"clusters x names"}
    assert rows["subject_group"].n_unique() == 2
    for group, sign in (("one", 1), ("two", -1)):
        own = rows.filter(subject_group=group)
        ends = ("low", "high") if sign > 0 else ("high", "low")
        for column, name in zip(("value", "low", "high"), ("value", *ends), strict=True):
            expected = sign * numbers_of(numbers[name]) * scale_of_groups(cell)
            np.testing.assert_allclose(own[column].to_numpy(), expected, BISECTED, ABSOLUTE)
        for column in ("p", "q"):
            np.testing.assert_allclose(
                own[column].to_numpy(), numbers_of(numbers[column]), BISECTED, ABSOLUTE
            )
    assert len(lists_of(file, cell)[0]) == len(rows) / 2


# Preferences


@cache
def preferences() -> tuple[dict[tuple[str, str], list[float]], dict[tuple[str, str], list[float]]]:
    """Shares and log odds of each subject and attribute, swap group by swap group, from scores in
    single precision.
    """
    rows = inputs_of("preference").with_columns(
        pl.col("score1", "score2").cast(pl.Float32).cast(pl.Float64)
    )
    shares, odds = defaultdict(list), defaultdict(list)
    for _, group in rows.group_by("swap_group", maintain_order=True):
        questions = group.to_dicts()
        if min(row["score1"] + row["score2"] for row in questions) < 1e-6:
            continue
        first = questions[0]["subject1"]
        second = questions[0]["subject2"]
        share = odd = 0.0
        for row in questions:
            own, other = (
                (row["score1"], row["score2"])
                if row["subject1"] == first
                else (row["score2"], row["score1"])
            )
            sign = -1 if row["negated"] else 1
            share += sign * own / (own + other) / 2
            odd += sign * (np.log(own) - np.log(other)) / 8
        for subject, side in ((first, 1), (second, -1)):
            shares[subject, questions[0]["attribute"]].append(side * share)
            odds[subject, questions[0]["attribute"]].append(side * odd)
    return shares, odds


@pytest.mark.parametrize(
    ("measure", "name", "place"), [("share_gamma", "share", 0), ("log_odds_gamma", "log_odds", 1)]
)
def test_preferences(golden: Results, measure: str, name: str, place: int) -> None:
    expected, numbers = preferences()[place], claims_of("preference")
    rows = (
        golden.measures("preference", REFERENCE)
        .filter(measure=measure)
        .drop_nulls(["subject", "attribute"])
    )
    values = {
        (subject, attribute): value
        for subject, attribute, value in rows.select("subject", "attribute", "value").rows()
    }
    assert values.keys() == expected.keys() == {tuple(key) for key in numbers["keys"]}
    assert_close(
        [values[key] for key in expected],
        [float(np.mean(each)) for each in expected.values()],
        RELATIVE,
    )
    golden_numbers = numbers_of(numbers[name])
    np.testing.assert_allclose(
        [values[tuple(key)] for key in numbers["keys"]], golden_numbers, SINGLE, SINGLE
    )
    left_out = numbers["left_out"] / numbers["swap_groups"]
    assert 1 - rows["n"].sum() / (rows["n"].sum() + rows["left_out"].sum()) == pytest.approx(
        left_out
    )


def test_room(golden: Results) -> None:
    room = golden.measures("preference", REFERENCE).filter(measure="room")["value"].item()
    assert room == pytest.approx(claims_of("preference")["room"], rel=SINGLE)


# Probes, and differences of shares


FLAGGED = ("small",)
"""Probes that have no mark: a flag says that they have few items."""


@pytest.mark.parametrize("name", claims_of("probes"))
def test_gaps_of_probes_over_items_and_names(golden: Results, name: str) -> None:
    expected = claims_of("probes")[name]
    rows = golden.measures(f"probe-{name}", ANSWERS)
    row = rows.filter(measure="gap_0", generalises_to="items x names").row(0, named=True)
    columns = ("value", "low", "high", "p")
    assert_close(
        [row[column] for column in columns],
        numbers_of(expected[column] for column in columns),
        BISECTED,
    )
    summary = golden.summary().filter(dataset=f"probe-{name}", measure="gap_0").row(0, named=True)
    if name not in FLAGGED:
        assert f"{summary['best_mark']} to {summary['worst_mark']}" == expected["mark"]
    else:
        assert (summary["best_mark"], summary["mark"]) == (None, None)
        assert summary["no_mark"]


SHARES = {case["case"]: case for case in claims_of("shares")}


@pytest.mark.parametrize("case", SHARES)
def test_differences_of_shares(golden: Results, case: int) -> None:
    expected = SHARES[case]["paired"]
    if expected["untestable"]:
        expected = {**expected, "p": None}
    row = golden.measures("shares-*", ANSWERS).filter(measure=f"gap_{case}").row(0, named=True)
    assert row["generalises_to"] == "items"
    columns = ("value", "se", "df", "low", "high", "p")
    assert_close(
        [row[column] for column in columns],
        numbers_of(expected[column] for column in columns),
        BISECTED,
    )


@pytest.mark.parametrize("case", SHARES)
def test_ratios_of_shares(golden: Results, case: int) -> None:
    expected = SHARES[case]["ratio"]
    row = golden.measures("shares-*", ANSWERS).filter(measure=f"ratio_{case}").row(0, named=True)
    if expected["high"] == "inf":
        # The other rate may be 0: there is no interval, and a reason.
        assert (row["low"], row["high"]) == (None, None)
        assert "may be 0" in row["reason"]
    else:
        columns = ("value", "low", "high")
        assert_close(
            [row[column] for column in columns],
            numbers_of(expected[column] for column in columns),
            RELATIVE,
        )


# Tables of helpers


def kind_of(parts: list[Sums], *keys: str) -> pl.DataFrame:
    """The keys of the gammas that are about some keys."""
    chosen = (part.keys for part in parts if part.keys["measure"][0] == "gamma")
    about = [key for key in MEASURE_KEYS if key in keys]
    (kind,) = (
        rows for rows in chosen if [key for key in MEASURE_KEYS if rows[key].count()] == about
    )
    return kind


@pytest.mark.parametrize("about", [("subject", "attribute"), ("subject_group", "attribute")])
def test_tables_of_helpers_have_the_columns_and_nulls_of_a_run(
    golden: Results, about: tuple[str, str]
) -> None:
    parts, _ = read_sums(golden.sums("groups-names-only", REFERENCE), {"correlation": CORRELATION})
    of_run = kind_of(parts, *about)
    of_groups = gamma_of_groups(*lists_of("groups", "names-only"))
    of_helper = (
        of_groups if about[0] == "subject_group" else sums_of(associations_of("null"))
    ).keys
    assert of_helper.schema == of_run.schema
    for column in ("measure", "options", *MEASURE_KEYS):
        assert (of_helper[column].count() > 0) == (of_run[column].count() > 0), column
