"""How sure the metrics of probes are: their intervals against leaving items out one by one, and how
often they hold.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import t
from small_probes import HIRING, cell_of, estimated, files_of

from biasgrid.families.probe.measure import finishes, measure, observe
from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, read_sums, sums_table

ITEMS, TIMES = 40, 100
NO_NAMES = HIRING.replace("name", "who")
"""Without names intervals are over items alone."""
MANY = NO_NAMES.replace(
    "items:\n  - {job: nurse, share: 0.1}\n  - {job: pilot, share: 0.9}\n",
    "items:\n"
    + "".join(f"  - {{job: job {each}, share: {each / ITEMS}}}\n" for each in range(ITEMS)),
)
EMMA = "  - {who: Emma, group: woman}\n"
THREE = MANY.replace(EMMA, f"{EMMA}  - {{who: Robin, group: other}}\n")


def answered(
    folder: Path, probe: str, says_yes: list[bool | None]
) -> tuple[pl.DataFrame, dict[str, str | None]]:
    files = files_of(folder, probe)
    options = {"probe": str(files.probe), "mode": None}
    instances, predictions = cell_of(
        files, [{True: "Yes", False: "No", None: "Perhaps"}[each] for each in says_yes]
    )
    return observe(instances, predictions, options), options


def intervals(folder: Path, probe: str, says_yes: list[bool | None]) -> pl.DataFrame:
    return estimated(*answered(folder, probe, says_yes))


@pytest.mark.slow
def test_intervals_match_leaving_out_each_item(tmp_path: Path) -> None:
    says_yes = list(np.random.default_rng(1).random(2 * ITEMS) < 0.6)
    observations, options = answered(tmp_path, MANY, says_yes)
    found = estimated(observations, options)
    for name in ("slope",):
        without = np.array(
            [
                estimated(observations.filter(pl.col("item") != each), options)
                .filter(measure=name)["value"]
                .item()
                for each in observations["item"].unique().sort()
            ]
        )
        variance = (ITEMS - 1) / ITEMS * ((without - without.mean()) ** 2).sum()
        row = found.row(by_predicate=(pl.col("measure") == name), named=True)
        half = t.ppf(0.975, ITEMS - 1) * np.sqrt(variance)
        assert row["se"] == pytest.approx(np.sqrt(variance))
        assert (row["low"], row["high"]) == pytest.approx(
            (row["value"] - half, row["value"] + half)
        )
        assert row["clusters"] == ITEMS


def test_a_cell_without_anything_has_no_interval(tmp_path: Path) -> None:
    found = intervals(tmp_path, HIRING, [None] * 4).filter(
        pl.col("measure").is_in(["gap", "signed", "ratio", "slope"])
    )
    numbers = found.select(pl.col("value", "low", "high").fill_nan(None))
    assert numbers.null_count().row(0) == (len(found),) * 3


def test_categories_are_left_out_item_by_item_and_the_largest_holds_all_of_its_parts(
    tmp_path: Path,
) -> None:
    parted = MANY.replace(
        "metric:",
        """metric:
  split: {kind: categories, scores: {"yes": 1, "no": -1}, by: job, high: [job 0, job 1, job 2], low: [job 3, job 4]}
  most: {kind: largest, of: [split, other]}""",
    ).replace("most: {", "other: {kind: rate, label: 'no'}\n  most: {")
    says_yes = list(np.random.default_rng(2).random(2 * ITEMS) < 0.6)
    observations, options = answered(tmp_path, parted, says_yes)
    found = estimated(observations, options)
    whole = {row["measure"]: row for row in found.filter(pl.col("group").is_null()).to_dicts()}
    scores = 2 * np.reshape(says_yes, (ITEMS, 2)).mean(axis=1) - 1
    assert whole["split"]["value"] == pytest.approx(scores[:3].mean() - scores[3:5].mean())
    assert whole["most"]["value"] == max(whole["split"]["value"], whole["other"]["value"])
    assert whole["most"]["low"] <= whole["most"]["value"] <= whole["most"]["high"]
    assert whole["most"]["method"] == "jackknife t of the largest"


def test_the_largest_of_numbers_with_signs_keeps_them(tmp_path: Path) -> None:
    """The first metric is far below 0, so the largest is the second, and its interval is about that
    one.
    """
    signed = MANY.replace(
        "metric:",
        """metric:
  below: {kind: categories, scores: {"yes": -1}}
  slightly: {kind: categories, scores: {"no": -1}}
  most: {kind: largest, of: [below, slightly]}""",
    )
    says_yes = [*[True] * (2 * ITEMS - 8), *[False] * 8]
    observations, options = answered(tmp_path, signed, says_yes)
    found = estimated(observations, options)
    most = found.row(by_predicate=pl.col("measure") == "most", named=True)
    assert most["value"] == pytest.approx(-0.1)
    assert most["low"] < most["value"] < most["high"] < 0.1


@pytest.mark.parametrize("name", ["ratio", "most"])
def test_of_a_ratio_without_a_direction_nothing_is_said(name: str, tmp_path: Path) -> None:
    ratio = '  ratio: {kind: ratio, label: "yes"}\n'
    found = intervals(
        tmp_path,
        THREE.replace(ratio, f"{ratio}  most: {{kind: largest, of: [ratio]}}\n"),
        [True, False, True] * ITEMS,
    )
    row = found.filter(measure=name).fill_nan(None)
    assert row.select("low", "high", "method").row(0) == (None, None, None)
    assert row["reason"].item() == "a ratio without a direction"


def test_a_single_item_has_no_interval(tmp_path: Path) -> None:
    one = HIRING.replace("  - {job: pilot, share: 0.9}\n", "").replace(
        '  slope: {kind: slope, label: "yes", covariate: share}\n', ""
    )
    found = intervals(tmp_path, one, [True, False])
    assert found["low"].fill_nan(None).null_count() == len(found)


@pytest.mark.slow
def test_intervals_cover_what_is_true(tmp_path: Path) -> None:
    """Of probes of 40 items, of whose groups two differ by 0.3, at least nine in ten intervals hold
    it.
    """
    random, held = np.random.default_rng(7), {"gap": 0, "signed": 0}
    rates = {"man": 0.6, "woman": 0.3, "other": 0.45}
    observations, options = answered(tmp_path, THREE, [True, False, True] * ITEMS)
    place = observations["group"].cast(pl.String)
    for _ in range(TIMES):
        # Items differ, which both groups share.
        easy = dict(zip(observations["item"].unique(), random.normal(0, 0.1, ITEMS), strict=True))
        chance = [
            rates[group] + easy[item]
            for group, item in zip(place, observations["item"], strict=True)
        ]
        labels = pl.Series(np.where(random.random(len(chance)) < chance, "yes", "no")).cast(
            observations["label"].dtype
        )
        drawn = observations.with_columns(label=labels)
        found = estimated(drawn, options)
        for name in held:
            row = found.row(
                by_predicate=(pl.col("measure") == name) & pl.col("group").is_null(), named=True
            )
            held[name] += row["low"] <= 0.3 <= row["high"]
    assert held["signed"] / TIMES >= 0.9
    assert held["gap"] / TIMES >= 0.95


KINDS = MANY.replace(
    "metric:",
    """metric:
  rate: {kind: rate, label: "yes"}
  count: {kind: count, label: "no"}
  mean: {kind: correlation, label: "yes", covariate: share, groups: [man, woman]}
  apart: {kind: disparity, label: "yes"}
  split: {kind: categories, scores: {"yes": 1}, by: job, high: [job 0, job 1], low: [job 3], absolute: true}
  largest: {kind: largest, of: [apart, split]}
  average: {kind: average, of: [rate, largest]}""",
)


@pytest.mark.parametrize("mode", [None, "genderbench"])
def test_numbers_are_made_again_of_the_table_of_sums_and_the_file_of_the_probe(
    mode: str | None, tmp_path: Path
) -> None:
    says_yes = list(np.random.default_rng(3).random(2 * ITEMS) < 0.6)
    observations, options = answered(tmp_path, KINDS, says_yes)
    parts = list(measure(observations, options | {"mode": mode}))
    sums = [part for part in parts if isinstance(part, Sums)]
    again, _ = read_sums(sums_table(parts), finishes(options))
    found, expected = (estimate(each, StatisticsSettings()) for each in (again, sums))
    assert found.select(expected.columns).equals(expected)


def test_a_group_that_a_sample_leaves_out_is_not_compared(tmp_path: Path) -> None:
    of_one = THREE.replace(
        "  - {job: job 0, share: 0.0}\n",
        "  - {job: job 0, share: 0.0, prompts: [{who: Bo, group: none}]}\n",
    )
    says_yes = list(np.random.default_rng(4).random(3 * ITEMS - 2) < 0.6)
    observations, options = answered(tmp_path, of_one, says_yes)
    sampled = observations.filter(pl.col("item") > 0)
    gap, groups = (estimated(sampled, options).filter(measure=name) for name in ("gap", "by_group"))
    rates = groups.filter(options="metric=gap")
    assert rates["group"].to_list() == ["man", "other", "woman"]
    assert gap["value"].item() == pytest.approx(rates["value"].max() - rates["value"].min())
    assert gap["low"].item() <= gap["value"].item() <= gap["high"].item()


def test_draws_make_the_intervals_of_the_cell_and_not_of_its_groups(tmp_path: Path) -> None:
    says_yes = list(np.random.default_rng(5).random(2 * ITEMS) < 0.6)
    observations, options = answered(tmp_path, MANY, says_yes)
    found, drawn = (
        estimated(observations, options | {"mode": mode}) for mode in (None, "genderbench")
    )
    # What is refused is compared in the same way in all modes.
    of_outcomes = pl.col("measure").str.contains(
        "^(refused|undetected|cut_short)_difference|refusals_differ$"
    )
    found, drawn = (each.filter(~of_outcomes) for each in (found, drawn))
    of_cell = pl.col("group").is_null()
    assert drawn.filter(~of_cell).equals(found.filter(~of_cell))
    assert set(drawn.filter(of_cell)["method"]) == {"given by the family"}
    assert drawn.filter(of_cell, measure="ratio").select("low", "high", "reason").null_count().row(
        0
    ) == (0, 0, 1)
