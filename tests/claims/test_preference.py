"""Associations that do not depend on how probable words are, and models that do not read the
negation.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from golden_statistics import ABSOLUTE, BISECTED, RELATIVE, claims_of, inputs_of
from numpy.testing import assert_allclose
from preference_worlds import (
    Array,
    Places,
    Size,
    World,
    estimated,
    moving_mass,
    observed,
    places_of,
    preferences,
)
from small_cells import design, with_scores
from small_estimates import numbers_of, settings_of

from biasgrid.families.underspecified.axes import AnsweredGroups
from biasgrid.families.underspecified.family import DEFINITIONS
from biasgrid.families.underspecified.measure import swap_group_measures
from biasgrid.families.underspecified.observe import (
    compare_subjects,
    scores_in_groups,
    swap_group_preferences,
)
from biasgrid.families.underspecified.sums import ASSOCIATION, CellSums
from biasgrid.stats.noise.association_strength import (
    AssociationsByCluster,
    interval_row,
    size_without_clusters,
)
from biasgrid.stats.settings import CellNumbers, StatisticsSettings
from biasgrid.stats.sums import find_sums

SIZE = Size()
PLACES = places_of(SIZE)
MASSES = (0.5, 0.05, 1e-3, 1e-4, 1e-5)
GOLDEN = claims_of("preference")
NO_EFFECT = np.zeros((SIZE.subjects, SIZE.attributes))
RUNS = (pytest.param(8, 0.1), pytest.param(200, 0.0, marks=pytest.mark.long))
"""How many runs, and how much farther from the rate they may be."""


@pytest.fixture(scope="module")
def golden() -> pl.DataFrame:
    """The swap groups of the golden cell that have a share."""
    rows = inputs_of("preference").with_row_index("instance")
    nothing = {
        name: pl.lit(None, pl.Categorical) for name in ("group1", "group2", "attribute_group")
    }
    instances = rows.with_columns(
        pl.col("subject1", "subject2", "attribute").cast(pl.Categorical), **nothing
    )
    predictions = rows.select("instance", probabilities=pl.concat_list("score1", "score2"))
    found = compare_subjects(instances, predictions, "exact")
    known = swap_group_preferences(scores_in_groups(found)).has_share
    assert len(found) == GOLDEN["swap_groups"]
    assert (~known).sum() == GOLDEN["left_out"]
    return found.filter(pl.Series(known))


@pytest.mark.parametrize(
    ("name", "measure"),
    [("gamma", "gamma"), ("share", "share_gamma"), ("log_odds", "log_odds_gamma")],
)
def test_associations_are_the_golden_ones(golden: pl.DataFrame, name: str, measure: str) -> None:
    rows = estimated(golden).of(measure)
    values = dict(zip(rows.select(ASSOCIATION).iter_rows(), rows["value"], strict=True))
    assert_allclose(
        [values[tuple(key)] for key in GOLDEN["keys"]], GOLDEN[name], rtol=RELATIVE, atol=ABSOLUTE
    )


def test_room_and_factor_of_mass_are_the_golden_ones(golden: pl.DataFrame) -> None:
    found = CellSums(AnsweredGroups(golden), None)
    sums = [each for each in swap_group_measures(found) if not isinstance(each, pl.DataFrame)]
    assert_allclose(find_sums(sums, "room", keys=()).values, GOLDEN["room"], rtol=RELATIVE)
    assert_allclose(
        np.exp(find_sums(sums, "mass_change", keys=()).values), GOLDEN["factor"], rtol=RELATIVE
    )


@pytest.mark.parametrize(
    ("name", "column"), [("share", "share"), ("log_odds", "log_odds"), ("mass", "mass")]
)
def test_strengths_are_the_golden_ones_where_clusters_count_the_same(
    golden: pl.DataFrame, name: str, column: str
) -> None:
    """The golden cell lacks some swap groups; its strengths are of the means of clusters."""
    sums = CellSums(AnsweredGroups(golden), None)
    means = sums.of_subjects[column].by_template / sums.counts["all"].by_template
    row = interval_row(
        *size_without_clusters(
            "strength",
            AssociationsByCluster(means, np.ones_like(means)),
            AssociationsByCluster.strength,
        ),
        StatisticsSettings(),
    )
    expected = GOLDEN[f"{name}_strength"]
    for key in ("value", "se", "low", "high"):
        assert row[key] == pytest.approx(expected[key], rel=BISECTED)


def worlds(runs: int, make: Callable[[np.random.Generator], pl.DataFrame]) -> list[World]:
    """Estimates of some worlds."""
    return [estimated(make(np.random.default_rng(seed))) for seed in range(runs)]


def noise(random: np.random.Generator, places: Places = PLACES, sd: float = 0.1) -> Array:
    return np.asarray(random.normal(0, sd, (len(places.one), 2, 2)))


def equal_odds(shift: float) -> Callable[[np.random.Generator], pl.DataFrame]:
    """No association at all; words differ in probability, and masses of question and negation by a
    factor.
    """

    def make(random: np.random.Generator) -> pl.DataFrame:
        odds = preferences(PLACES, random.normal(size=SIZE.subjects), NO_EFFECT) + noise(random)
        return observed(PLACES, odds, moving_mass(random, PLACES, SIZE, shift))

    return make


@pytest.mark.parametrize(("runs", "slack"), RUNS)
def test_equal_odds_are_no_association_of_shares_however_masses_move(
    runs: int, slack: float
) -> None:
    found = worlds(runs, equal_odds(0.4))
    of_shares, of_odds, of_gamma = (
        np.mean([each.found(name).sum() for each in found])
        for name in ("share_gamma", "log_odds_gamma", "gamma")
    )
    assert of_shares <= 1 + 10 * slack
    assert of_odds <= 1 + 10 * slack
    # Of 96 gammas, about half are significant though there is nothing.
    assert of_gamma >= 30


def test_shares_are_the_same_numbers_at_every_mass() -> None:
    random = np.random.default_rng(1)
    odds = preferences(PLACES, random.normal(size=SIZE.subjects), NO_EFFECT) + noise(random)
    cells = [estimated(observed(PLACES, odds, mass)) for mass in MASSES]
    for cell in cells:
        assert_allclose(cell.values("share_gamma"), cells[0].values("share_gamma"), rtol=1e-9)
        assert_allclose(
            cell.values("log_odds_gamma"), cells[0].values("log_odds_gamma"), rtol=1e-8, atol=1e-12
        )
        assert_allclose(cell.found("share_gamma"), cells[0].found("share_gamma"))
    sizes = [np.abs(cell.values("gamma")).mean() for cell in cells]
    assert sizes[0] / sizes[-1] == pytest.approx(MASSES[0] / MASSES[-1], rel=1e-6)


def some_effects(random: np.random.Generator) -> Array:
    """Log odds of 1 between question and negation in 8 % of subjects and attributes."""
    chosen = random.permutation(SIZE.subjects * SIZE.attributes) < 8
    return np.asarray(0.5 * chosen.reshape(SIZE.subjects, SIZE.attributes))


@pytest.mark.slow
@pytest.mark.parametrize("words", [0.0, 1.0])
@pytest.mark.parametrize(("runs", "slack"), RUNS)
def test_known_log_odds_are_found_in_shares(runs: int, slack: float, words: float) -> None:
    hits, wrong, correlations = [], [], []
    for seed in range(runs):
        random = np.random.default_rng(seed)
        effects = some_effects(random)
        odds = preferences(PLACES, words * random.normal(size=SIZE.subjects), effects) + noise(
            random, sd=0.25
        )
        cell = estimated(observed(PLACES, odds, moving_mass(random, PLACES, SIZE, 0.2)))
        # Subjects and attributes are in the order of their names.
        places = np.argsort([f"a{attribute}" for attribute in range(SIZE.attributes)])
        known = effects[:, places]
        found = cell.found("share_gamma").reshape(known.shape)
        hits.extend(found[known > 0])
        wrong.extend(found[:, ~(known > 0).any(axis=0)].ravel())
        truth = known - known.mean(axis=0)
        correlations.append(np.corrcoef(truth.ravel(), cell.values("share_gamma"))[0, 1])
    assert np.mean(hits) >= 0.95 - slack
    assert np.mean(wrong) <= 0.03 + slack
    assert np.mean(correlations) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "slack"), RUNS)
@pytest.mark.parametrize(
    ("effect", "shift", "least", "most"),
    [(0.0, 0.0, 0.0, 0.05), (0.0, 0.2, 0.95, 1.0), (0.0, 0.4, 0.95, 1.0), (0.5, 0.1, 0.0, 0.05)],
)
def test_mass_is_flagged_where_it_makes_much_of_gamma(
    runs: int, slack: float, effect: float, shift: float, least: float, most: float
) -> None:
    flags = []
    for seed in range(min(runs, 60)):
        random = np.random.default_rng(seed)
        effects = effect * random.normal(size=NO_EFFECT.shape)
        odds = preferences(PLACES, random.normal(size=SIZE.subjects), effects) + noise(random)
        row = estimated(observed(PLACES, odds, moving_mass(random, PLACES, SIZE, shift))).flag()
        flags.append((row["value"] or 0) >= 0.3 and row.get("low", 0) > 0)
    assert least - slack <= np.mean(flags) <= most + 2 * slack


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "slack"), RUNS)
@pytest.mark.parametrize(
    ("reading", "is_flagged"), [(-1.0, False), (0.0, False), (0.5, True), (1.0, True)]
)
def test_a_negation_that_changes_nothing_is_flagged_and_the_question_alone_has_the_association(
    runs: int, slack: float, reading: float, is_flagged: bool
) -> None:
    flags, of_shares, of_question, correlations = [], [], [], []
    for seed in range(min(runs, 60)):
        random = np.random.default_rng(seed)
        effects = 0.5 * random.normal(size=NO_EFFECT.shape)
        odds = preferences(PLACES, random.normal(size=SIZE.subjects), effects, reading) + noise(
            random, sd=0.5
        )
        cell = estimated(observed(PLACES, odds, 0.5))
        row = cell.reading()
        flags.append(row["value"] > 0.5 and row["low"] > 0)
        of_shares.append(cell.found("share_gamma").sum())
        of_question.append(cell.found("question_association").sum())
        known = effects[:, np.argsort([f"a{attribute}" for attribute in range(SIZE.attributes)])]
        centred = known - known.mean(axis=0) - known.mean(axis=1, keepdims=True) + known.mean()
        correlations.append(np.corrcoef(centred.ravel(), cell.values("question_association"))[0, 1])
    assert abs(np.mean(flags) - is_flagged) <= 0.05 + slack
    assert np.mean(correlations) >= 0.95
    assert np.mean(of_question) >= 70
    if reading == 1:
        assert np.mean(of_shares) <= 1 + 10 * slack


def two_lists(reading: float, pronouns: bool = False) -> tuple[CellNumbers, Array]:
    """The numbers of a cell of two lists of names with associations by list, and these.

    Args:
        reading: see `preferences`.
        pronouns: whether it is pronouns that have them, in the place of names that are improbable
            and have none.
    """
    random = np.random.default_rng(3)
    names = [f"{letter}{place}" for letter in "fm" for place in range(4)]
    table = design(names, SIZE.attributes, 5, ["female"] * 4 + ["male"] * 4)
    effects, words = (
        random.normal(size=SIZE.attributes),
        dict(zip(names, random.normal(size=8), strict=True)),
    )
    attribute = table["attribute"].cast(pl.String).str.slice(1).cast(pl.Int64).to_numpy()
    of_words = [
        words[one] - words[other]
        for one, other in table.select("subject1", "subject2").cast(pl.String).iter_rows()
    ]
    odds = np.array(of_words)[:, None] + effects[attribute][:, None] * np.array([1.0, reading])
    noisy = np.repeat(odds[:, None], 2, axis=1) + random.normal(0, 0.2, (len(table), 2, 2))
    share = 1 / (1 + np.exp(-noisy))
    scores = 0.3 * np.stack([share, 1 - share], axis=-1)
    if pronouns:
        table = table.with_columns(pronoun_scores=pl.Series(scores.reshape(-1, 8)))
        scores = 0.0002 * np.exp(random.normal(0, 0.2, scores.shape))
    settings = settings_of(DEFINITIONS.select("measures", "flags"), permutations=19)
    options = {"task": "question-answering", "scoring": "exact", "measures": []}
    return numbers_of(
        "underspecified", with_scores(table, scores.reshape(-1, 8)), options, settings
    ), effects


def of_group(cell: CellNumbers, measure: str) -> pl.DataFrame:
    """The claims about the first list and each attribute."""
    rows = cell.estimates.filter(pl.col("measure") == measure, "is_claim", subject_group="female")
    return rows.drop_nulls("attribute").sort(pl.col("attribute").str.slice(1).cast(pl.Int64))


def whole(cell: CellNumbers, measure: str) -> dict[str, float | None]:
    keys = ("subject", "attribute", "subject_group", "attribute_group")
    of_cell = pl.all_horizontal(pl.col(key).is_null() for key in keys)
    row = cell.estimates.filter(pl.col("measure") == measure, "is_claim", of_cell).row(
        0, named=True
    )
    return {name: row[name] for name in ("value", "low", "high", "p", "n")}


def test_where_the_negation_is_not_read_lists_differ_in_the_question_alone() -> None:
    cell, effects = two_lists(reading=1.0)
    claims = of_group(cell, "question_association")
    assert claims["generalises_to"].unique().to_list() == ["clusters x names"]
    assert np.corrcoef(claims["value"], effects - effects.mean())[0, 1] > 0.99
    assert (claims["q"] <= 0.05).sum() >= 9
    assert (of_group(cell, "share_gamma")["q"] <= 0.05).sum() == 0
    reading, unread = whole(cell, "negation_reading"), whole(cell, "negation_unread")
    assert (unread["value"], unread["low"]) == (reading["value"], reading["low"])
    assert reading["value"] > 0.9 < reading["high"]
    assert whole(cell, "question_strength")["low"] > 0
    assert whole(cell, "share_strength")["low"] < 0.01
    # What would be found is said in the units of what is counted.
    assert 0.01 < cell.design.filter(name="mde_fdr")["value"].item() < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("reading", [-1.0, 1.0])
def test_where_names_are_improbable_their_pronouns_have_the_association(reading: float) -> None:
    cell, effects = two_lists(reading, pronouns=True)
    assert whole(cell, "answer_probability")["value"] < 0.0005
    claims = of_group(cell, "pronoun_association")
    assert claims["generalises_to"].unique().to_list() == ["clusters x names"]
    truth = pl.Series(effects - effects.mean())
    assert ((claims["low"] <= truth) & (truth <= claims["high"])).sum() >= 11
    assert (claims["q"] <= 0.05).sum() >= 9
    assert (of_group(cell, "share_gamma")["q"] <= 0.05).sum() == 0
    assert "pronoun_association" not in set(two_lists(reading)[0].estimates["measure"])


def test_where_the_negation_is_read_shares_have_the_association() -> None:
    cell, effects = two_lists(reading=-1.0)
    claims = of_group(cell, "share_gamma")
    assert np.corrcoef(claims["value"], effects)[0, 1] > 0.97
    assert (claims["q"] <= 0.05).sum() >= 9
    assert whole(cell, "negation_unread")["value"] < 0
    assert whole(cell, "share_strength")["low"] > 0
    assert whole(cell, "share_mu")["p"] == pytest.approx(0.05)
    assert whole(cell, "disagreement")["value"] <= 0.1
