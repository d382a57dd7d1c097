"""How sure the measures of rewritten prompts are: against leaving prompts out one by one, and how
often they hold.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import t
from small_rewriting import LISTS, estimates_of, numbers_of, options_of_cell
from small_tables import predictions_of, whole

from biasgrid.families.rewriting.ask import expand
from biasgrid.families.rewriting.family import FAMILY
from biasgrid.families.rewriting.measure import measure
from biasgrid.families.rewriting.observe import OBSERVATION_TYPES, observe
from biasgrid.families.rewriting.read import RewritingFiles, read
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, read_sums, sums_table
from biasgrid.tables.measures import MEASURES as TABLE
from biasgrid.tables.measures import ROW, cell_table

UNITS = {name: measure.unit for name, measure in FAMILY.own_measures.items()}
SETTINGS = StatisticsSettings(units=UNITS)
GROUPS = ("female", "male", "non-binary")
PROMPTS = 8
SAID = (
    "1. Emma\n2. Dune",
    "1. Dune\n2. Emma",
    "1. Emma",
    "He is a lazy fool.",
    "She is kind.",
    "An awful, awful day.",
)


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Observations of prompts for three groups and in neutral words, with random answers, and
    options.
    """
    folder = tmp_path_factory.mktemp("cell")
    (folder / "prompts.txt").write_text(
        "\n".join(f"What should she read in week {each}?" for each in range(PROMPTS))
    )
    files = RewritingFiles(
        folder / "prompts.txt",
        "prompt",
        LISTS / "gender.yaml",
        3,
        None,
        None,
        "prompt",
        None,
        neutral=True,
    )
    asking, faults = read(files)
    assert asking is not None, [str(fault) for fault in faults]
    instances = whole(expand(asking))
    said = np.random.default_rng(1).choice(SAID, len(instances)).tolist()
    options = options_of_cell(harms={"vader-negative": 0.3}, lists=True, targets=["lazy", "kind"])
    predictions = predictions_of("text", instances, response=said, status=["ok"] * len(said))
    return observe(instances, predictions, options), options


def measures_of(observations: pl.DataFrame, options: dict[str, Any]) -> pl.DataFrame:
    return cell_table(numbers_of(observations, options), TABLE, "model", "letters")


@pytest.fixture(scope="module")
def found(cell: tuple[pl.DataFrame, dict[str, Any]]) -> pl.DataFrame:
    """The estimates of the cell."""
    observations, options = cell
    return estimates_of(list(measure(observations, options)), options, SETTINGS)


@pytest.fixture(scope="module")
def measured(cell: tuple[pl.DataFrame, dict[str, Any]]) -> list[pl.DataFrame]:
    """The measures of the cell, and those without each prompt."""
    observations, options = cell
    parts = [observations.filter(pl.col("prompt") != each) for each in range(PROMPTS)]
    return [measures_of(part, options) for part in (observations, *parts)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options", "group"),
    [
        ("harm_expected_maximum", "score=vader-negative, threshold=0.3", None),
        ("harm_expected_maximum", "score=vader-negative, threshold=0.3", "neutral"),
        ("list_similarity", "score=jaccard", "male"),
        ("list_similarity", "score=prag", "female"),
    ],
)
def test_intervals_match_leaving_out_each_prompt(
    found: pl.DataFrame, measured: list[pl.DataFrame], name: str, options: str, group: str | None
) -> None:
    def one(rows: pl.DataFrame) -> dict[str, Any]:
        about = pl.col("group").is_null() if group is None else pl.col("group") == group
        return rows.filter(about, pl.col("other").is_null(), measure=name, options=options).row(
            0, named=True
        )

    row = one(found)
    every, *parts = map(one, measured)
    # Not every prompt has lists of both.
    without = np.array([part["value"] for part in parts if part["n"] < every["n"]])
    prompts = len(without)
    se = np.sqrt((prompts - 1) / prompts * ((without - without.mean()) ** 2).sum())
    half = t.ppf(0.975, prompts - 1) * se
    assert 2 < row["clusters"] == prompts
    assert row["se"] == pytest.approx(se)
    low, high = (0, 1) if name.startswith("harm") else (-1, 1)
    assert row["low"] == pytest.approx(max(row["value"] - half, low))
    assert row["high"] == pytest.approx(min(row["value"] + half, high))


def test_shares_of_harm_have_intervals_and_what_may_be_noise_has_none(found: pl.DataFrame) -> None:
    for name in ("harm_fraction", "harm_probability"):
        rows = found.filter(measure=name)
        assert rows["group"].to_list() == [None, *GROUPS, "neutral"]
        assert ((rows["low"] < rows["value"]) & (rows["value"] < rows["high"])).all()
        assert rows["method"].unique().to_list() == ["effective Wilson"]
    silent = {"stereotypical_association", "list_range", "list_deviation"}
    rows = found.filter(pl.col("measure").is_in(silent)).drop_nulls("value")
    assert {*rows["measure"]} == silent
    assert rows.select("low", "high", "se", "p").null_count().row(0) == (len(rows),) * 4
    assert rows["reason"].null_count() == 0


def test_what_hangs_on_one_prompt_has_no_interval(
    cell: tuple[pl.DataFrame, dict[str, Any]],
) -> None:
    """Of one group a single prompt is answered, without which there is no difference to this
    group.
    """
    every, options = cell
    one = pl.col("group").cast(pl.String) == "male"
    observations = every.filter(~one | (pl.col("prompt") == 0), pl.col("other").is_null())
    found = estimates_of(list(measure(observations, options)), options, SETTINGS)
    rows = found.filter(
        pl.col("options").str.contains("vader-negative"), measure="score_difference"
    )
    has_one = rows["group"].eq("male") | rows["other"].eq("male")
    assert has_one.sum() == 2
    assert rows.filter(has_one).select(pl.col("low", "se", "p").fill_nan(None)).null_count().row(
        0
    ) == (2, 2, 2)
    assert (
        rows.filter(has_one)["reason"].to_list() == ["not defined without one of its prompts"] * 2
    )
    assert rows.filter(~has_one)["low"].is_not_null().all()


def test_sums_that_were_written_make_the_same_numbers(
    cell: tuple[pl.DataFrame, dict[str, Any]], found: pl.DataFrame
) -> None:
    observations, options = cell
    sums, plain = read_sums(sums_table(measure(observations, options)), {})
    again = estimates_of(
        [*sums, plain.select(*ROW, "value", "n", "left_out", "reason")], options, SETTINGS
    )
    assert_frame_equal(again.select(found.columns), found, check_exact=True)


def two_groups(apart: float, prompts: int = 12) -> tuple[list[Sums | pl.DataFrame], dict[str, Any]]:
    """What is measured of scores of two groups that differ more by prompt than by group; one answer
    has none.
    """
    random = np.random.default_rng(5)
    keys = pl.DataFrame({"prompt": range(prompts)}).join(
        pl.DataFrame({"group": ["female", "male"]}), how="cross"
    )
    answers = keys.join(pl.DataFrame({"repetition": range(4)}), how="cross").with_row_index(
        "instance"
    )
    place = answers["prompt"].to_numpy() + apart * (answers["group"] == "male").to_numpy()
    values = pl.Series(place + random.random(len(answers)))
    rows = answers.with_columns(
        score=pl.lit("length"), value=pl.when(pl.col("instance") > 0).then(values)
    )
    empty = pl.DataFrame(schema=OBSERVATION_TYPES)
    missing = [
        pl.lit(None, empty.schema[name]).alias(name)
        for name in set(empty.columns) - set(rows.columns)
    ]
    options = options_of_cell()
    return list(
        measure(rows.with_columns(missing).select(empty.columns).cast(empty.schema), options)
    ), options


def test_distances_of_scores_are_compared_with_answers_that_are_dealt_anew_within_prompts() -> None:
    parts, options = two_groups(apart=1.0)
    found = estimates_of(parts, options, SETTINGS)
    far = found.filter(group="female", other="male", measure="score_distance").row(0, named=True)
    assert far["value"] == pytest.approx(1, abs=0.2)
    assert far["p"] == pytest.approx(1 / 2000)
    assert far["null_mean"] < 0.5
    assert (far["clusters"], far["generalises_to"], far["method"]) == (
        12,
        "prompts",
        "permutation (1999)",
    )
    corrected = found.filter(group="female", other="male", measure="score_distance_corrected").row(
        0, named=True
    )
    assert corrected["value"] == far["value"] - far["null_mean"]
    assert (corrected["p"], corrected["low"], corrected["n"], corrected["left_out"]) == (
        None,
        None,
        95,
        1,
    )
    parts, options = two_groups(apart=0.0)
    near = estimates_of(parts, options, SETTINGS).filter(
        group="female", other="male", measure="score_distance"
    )
    assert near["p"].item() > 0.05
    assert near["value"].item() == pytest.approx(near["null_mean"].item(), abs=0.15)


def simulated(worlds: int, prompts: int, apart: float) -> tuple[pl.DataFrame, float]:
    """Similarities of worlds, each a score of its own, and what is corrected for noise in them.

    Answers lie on a line, normally about a place of their prompt and group; two are alike by
    exp(-distance). Groups are apart by `apart` on average, more in some prompts than in others.
    """
    times, random = 3, np.random.default_rng(1)

    def drawn(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        places = np.array([0.0, 1.0, 2.0])[:, None] * random.normal(
            apart, apart / 2, (count, prompts, 1, 1)
        )
        answers = places + random.normal(size=(count, prompts, len(GROUPS), times))
        sides = [
            (answers[..., one, :], answers[..., other, :])
            for one, other in combinations(range(3), 2)
        ]
        between = np.stack([np.exp(-np.abs(one - other)) for one, other in sides], axis=-2)
        return between, np.exp(-np.abs(answers - np.roll(answers, 1, axis=-1)))

    pairs = [*combinations(GROUPS, 2), *zip(GROUPS, GROUPS, strict=True)]
    values = np.concatenate(drawn(worlds), axis=2)
    world, prompt, pair, repetition = (axis.ravel() for axis in np.indices(values.shape))
    table = pl.DataFrame(
        {
            "score": [f"world {each}" for each in world],
            "value": values.ravel(),
            "prompt": prompt,
            "group": [pairs[each][0] for each in pair],
            "other": [pairs[each][1] for each in pair],
            "repetition": repetition,
        }
    )
    empty = pl.DataFrame(schema=OBSERVATION_TYPES)
    rows = table.with_columns(instance=0, other_instance=0, response=pl.lit(None, pl.String))
    between, within = drawn(2000)
    return rows.select(empty.columns).cast(empty.schema), float(within.mean() - between.mean())


def coverage(worlds: int, prompts: int, apart: float) -> tuple[float, float]:
    """How often the interval of what is corrected for noise holds it, and how often it leaves 0
    out.
    """
    observations, truth = simulated(worlds, prompts, apart)
    options = options_of_cell()
    found = estimates_of(list(measure(observations, options)), options, SETTINGS)
    rows = found.filter(pl.col("group").is_null(), measure="similarity_corrected")
    assert len(rows) == worlds
    holds = ((rows["low"] <= truth) & (truth <= rows["high"])).mean()
    told = ((rows["low"] > 0) | (rows["high"] < 0)).mean()
    return float(holds), float(told)  # type: ignore[arg-type]


@pytest.mark.slow
def test_intervals_beyond_noise_hold() -> None:
    holds, told = coverage(150, 12, 0.0)
    assert holds >= 0.92
    assert told <= 0.08
    holds, told = coverage(150, 12, 1.5)
    assert holds >= 0.91
    assert told >= 0.9


@pytest.mark.long
@pytest.mark.parametrize("prompts", [8, 20, 60])
@pytest.mark.parametrize("apart", [0.0, 0.3, 1.0])
def test_intervals_beyond_noise_hold_in_many_worlds(prompts: int, apart: float) -> None:
    holds, told = coverage(1500, prompts, apart)
    assert 0.93 <= holds <= 0.97
    assert apart or told <= 0.065
