"""Cells of golden statistics as dumps through a run, against the numbers of an independent
implementation.

Scores are stored smaller by `SCALE`, so that single precision has them exactly; so are all numbers
in their unit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from golden_dumps import SCALE
from golden_runs import CELLS, CLASSES, FAILED_AT, MORE_MODELS, REFERENCE, SCALE_OF_CLASSES, TERMS
from golden_statistics import assert_golden, numbers_of
from small_estimates import over

from biasgrid.runs.results import Results
from biasgrid.stats.power import NoiseEstimate, precision_at
from biasgrid.tables.metric import options_text

pytestmark = pytest.mark.family("the golden numbers are of associations")

TESTED = [cell for cell in CELLS if cell != "across-weak"]
KEYS = ("subject", "subject_group", "attribute", "attribute_group")
OVERS = {"templates": "clusters", "subjects": "names", "all": "all"}
"""What golden files call what intervals are over, and what tables call it."""
ENDS = ("low", "high", "selected_low", "selected_high")
TESTS = ("p", "q", "holm")
SCALED = {"gamma", "mu", "strength", "delta", "epsilon", "answer_probability"}
"""Measures in the unit of scores."""


@pytest.fixture(scope="module")
def estimates(golden: Results) -> Mapping[str, pl.DataFrame]:
    """By golden cell all numbers over all that they may generalise to."""
    tables = {
        cell: (golden.measures(cell, REFERENCE), golden.intervals(cell, REFERENCE))
        for cell in CELLS
    }
    return {cell: pl.concat(both, how="diagonal_relaxed") for cell, both in tables.items()}


def scale_of(measure: str) -> float:
    return SCALE if measure.removesuffix("_corrected") in SCALED else 1.0


def in_units(column: pl.Series, measure: str) -> Any:
    """A column of a run in the unit of the golden file."""
    return column.to_numpy().astype(np.float64) / scale_of(measure)


def rows_about(
    rows: pl.DataFrame, measure: str, generalises_to: str, keys: Mapping[str, list[str]]
) -> pl.DataFrame:
    """The rows about some keys, in their order."""
    about = pl.DataFrame({key: names for key, names in keys.items() if names[0] is not None})
    chosen = over(rows.filter(measure=measure), OVERS[generalises_to])
    present = [
        pl.col(key).is_not_null() if key in about.columns else pl.col(key).is_null() for key in KEYS
    ]
    joined = about.join(chosen.filter(present), on=about.columns, how="left", maintain_order="left")
    assert joined.height == about.height > 0
    return joined


def assert_parts(
    rows: pl.DataFrame,
    measure: str,
    golden: dict[str, Any],
    keys: dict[str, list[str]],
    overs: Iterable[str] = OVERS,
) -> None:
    for generalises_to in overs:
        about = rows_about(rows, measure, generalises_to, keys)
        for column in ENDS:
            if f"{generalises_to}_{column}" in golden:
                expected = without_width_0(golden, generalises_to, column)
                assert_golden(
                    in_units(about[column], measure), expected, f"{generalises_to}_{column}"
                )
        for column in TESTS:
            if f"{generalises_to}_{column}" in golden:
                expected = without_width_0(golden, generalises_to, column)
                assert_golden(about[column], expected, f"{generalises_to}_{column}")
    about = rows_about(rows, measure, "templates", keys)
    for column in ("value", "se"):
        assert_golden(in_units(about[column], measure), golden[column], column)
    if "n" in golden:
        assert about["n"].to_list() == golden["n"]


def without_width_0(golden: dict[str, Any], generalises_to: str, column: str) -> list[Any]:
    """Golden numbers but for intervals of width 0, which have no ends here: numbers that do not
    vary are not exact.
    """
    ends = (golden[f"{generalises_to}_{end}"] for end in ("low", "high"))
    has_width = [low != high for low, high in zip(*ends, strict=True)]
    numbers = golden[f"{generalises_to}_{column}"]
    return [number if known else None for number, known in zip(numbers, has_width, strict=True)]


@pytest.mark.parametrize("cell", TESTED)
@pytest.mark.parametrize("measure", ["gamma", "eta", "win_ratio"])
def test_associations(estimates: Mapping[str, pl.DataFrame], cell: str, measure: str) -> None:
    golden, rows = numbers_of(cell)["associations"], estimates[cell]
    about = rows_about(rows, measure, "templates", golden["keys"])
    assert about["clusters"].to_list() == golden[measure]["templates"]
    if cell == "within" and measure != "gamma":
        # The golden implementation takes what rounding leaves of equal values (1e-33) for variance;
        # ours does not.
        assert_golden(about["value"], golden[measure]["value"], "value")
        return
    assert_parts(rows, measure, golden[measure], golden["keys"])
    df = np.array([np.nan if value is None else float(value) for value in golden[measure]["df"]])
    known = about["df"].is_not_null().to_numpy()
    assert known.any() == (cell != "one-template")
    assert_golden(about["df"].to_numpy()[known], df[known].tolist(), "df")


PARTS = [(cell, part) for cell in TESTED for part in ("subjects", "cluster", "cluster_attribute")]


@pytest.mark.parametrize(
    ("cell", "part"), [each for each in PARTS if each[1] in numbers_of(each[0])]
)
def test_subjects_and_groups(estimates: Mapping[str, pl.DataFrame], cell: str, part: str) -> None:
    golden = numbers_of(cell)[part]
    # Of groups, sources of names are those of newer golden numbers, see `test_golden_claims`.
    overs = ["templates"] if "subject_group" in golden["keys"] else list(OVERS)
    assert_parts(estimates[cell], "gamma", golden, golden["keys"], overs)


def of_cell(rows: pl.DataFrame, measure: str, generalises_to: str = "templates") -> dict[str, Any]:
    wholes = rows.filter(pl.col(key).is_null() for key in KEYS).filter(measure=measure)
    # What noise alone makes large has no interval, and so is over nothing.
    known = over(wholes, OVERS[generalises_to]) if wholes["generalises_to"].count() else wholes
    return known.row(0, named=True) if len(known) else dict.fromkeys(rows.columns)


def number_of(row: Mapping[str, Any], column: str, measure: str) -> float:
    """A number of a row in the unit of the golden file, NaN for null."""
    return np.nan if row[column] is None else row[column] / scale_of(measure)


@pytest.mark.parametrize("cell", CELLS)
def test_measures_of_cells(estimates: Mapping[str, pl.DataFrame], cell: str) -> None:
    golden, rows = numbers_of(cell)["cell"], estimates[cell]
    for measure in ("mu", "eta"):
        row, corrected = of_cell(rows, measure), of_cell(rows, f"{measure}_corrected")
        numbers = {
            "value": number_of(row, "value", measure),
            "null_mean": number_of(row, "null_mean", measure),
        }
        numbers["corrected"] = number_of(corrected, "value", measure)
        # Upper ends are those of logarithms, see `test_golden_claims`.
        numbers |= {
            f"corrected_{column}": number_of(corrected, column, measure) for column in ("se", "low")
        }
        for column, number in numbers.items():
            assert_golden(number, golden[measure].get(column), f"{measure} {column}")
    held_out = of_cell(rows, "mu_held_out")
    assert_golden(number_of(held_out, "value", "mu"), golden["mu"]["held_out"], "held out")
    for column in ("value", "se", "low"):
        strength = of_cell(rows, "strength")
        assert_golden(
            number_of(strength, column, "strength"), golden["strength"].get(column), column
        )
    # The interval of `winner_changes`, a share, is that of newer golden numbers.
    for measure in ("delta", "epsilon", "answer_probability"):
        for generalises_to in OVERS:
            row = of_cell(rows, measure, generalises_to)
            for column in ("low", "high"):
                expected = golden[measure][f"{generalises_to}_{column}"]
                assert_golden(
                    number_of(row, column, measure), expected, f"{measure} {generalises_to}"
                )


@pytest.mark.parametrize("cell", CELLS)
def test_p_of_mu(estimates: Mapping[str, pl.DataFrame], cell: str) -> None:
    golden, row = numbers_of(cell).get("permutation"), of_cell(estimates[cell], "mu")
    if golden is None:
        assert row["method"] in ("permutation (1999)", None)
        return
    if golden["exact"]:
        assert row["method"] == "permutation (exact)"
        assert row["p"] == pytest.approx(golden["p"], abs=1e-9)
        return
    p = {"across": 0.0118, "across-weak": 0.125}[cell]
    assert abs(row["p"] - p) <= 4 * np.sqrt(p * (1 - p) / 1999) + 1 / 1999


@pytest.mark.parametrize("cell", TESTED)
def test_variances(golden: Results, cell: str) -> None:
    expected, rows = numbers_of(cell), golden.design(cell, REFERENCE)
    noise = rows.filter(name="noise_sd")["value"].to_list() or [None]
    assert_golden(
        np.nan if noise[0] is None else noise[0] / SCALE, expected["plan"]["noise_sd"], "noise_sd"
    )
    components = expected["components"]
    if components is None:
        # The golden implementation has none where attributes have unlike clusters; ours has those
        # of each block.
        assert not len(rows) or rows.filter(name="association")["block"].n_unique() != 1
        return
    for source, variance in components["components"].items():
        row = rows.filter(name=source.replace("template", "cluster")).row(0, named=True)
        assert_golden(row["value"] / SCALE**2, variance, source)
        assert_golden(row["share"], components["shares"][source], source)
    for index in ("template_share", "reliability", "templates_for_0.8"):
        assert_golden(rows.filter(name=index)["value"].item(), components[index], index)
    prior_df, sd = rows.filter(name="prior_df")["value"].item(), noise[0] / SCALE

    def effect(clusters: int) -> float:
        noise = NoiseEstimate(sd**2, 0.0, prior_df, clusters, clusters)
        return precision_at(noise, 1, 0.05).minimal_effect

    enough = (clusters for clusters in range(2, 1001) if effect(clusters) <= 0.05)
    assert next(enough, None) == expected["plan"]["templates_for_0.05"]


@pytest.mark.parametrize("cell", TESTED)
def test_leaving_one_cluster_out(golden: Results, cell: str) -> None:
    design, expected = golden.design(cell, REFERENCE), numbers_of(cell)["leave_one_out"]
    mus, correlations = (
        design.filter(name=name).sort("cluster")["value"] for name in ("mu_without", "correlation")
    )
    assert len(mus) == len(expected)
    for mu, correlation, numbers in zip(mus, correlations, expected, strict=True):
        assert_golden(np.nan if mu is None else mu / SCALE, numbers["mu"], "mu")
        assert_golden(
            np.nan if correlation is None else correlation, numbers["correlation"], "correlation"
        )


@cache
def comparison() -> dict[str, Any]:
    return numbers_of("comparison")


PAIR = {"model": REFERENCE, "other_model": MORE_MODELS[0]}


def test_differences_of_whole_cells(golden: Results) -> None:
    rows = golden.comparisons("within").filter(**PAIR)
    for measure in ("mu corrected", "eta corrected"):
        name = measure.replace(" ", "_")
        row = rows.filter(measure=name).row(0, named=True)
        for column, number in comparison()["within, within-other-model"][measure].items():
            of_unit = scale_of(name) if column != "p" else 1.0
            assert_golden(row[column] / of_unit, number, f"{measure}_{column}")
        assert (row["paired"], row["clusters"], row["tests"], row["reason"]) == (True, 3, 1, None)


def test_differences_of_associations(golden: Results) -> None:
    numbers = comparison()["within, within-other-model"]["gamma"]
    keys = pl.DataFrame(numbers_of("within")["associations"]["keys"]).select("subject", "attribute")
    rows = golden.comparisons("within").filter(measure="gamma", **PAIR).drop_nulls("attribute")
    rows = keys.join(rows, on=["subject", "attribute"], maintain_order="left")
    assert rows["tests"].unique().to_list() == [len(rows)] == [30]
    for column, name in {
        "difference": "difference",
        "low": "templates_low",
        "high": "templates_high",
    }.items():
        assert_golden(in_units(rows[column], "gamma"), numbers[name], name)
    for column in ("p", "q"):
        assert_golden(rows[column], numbers[f"templates_{column}"], f"templates_{column}")


def test_agreement_of_subjects(golden: Results) -> None:
    row = golden.agreement("within").filter(**PAIR).row(0, named=True)
    numbers = comparison()["within, within-other-model"]["agreement of gamma(x)"]
    for column, name in {"value": "spearman", "low": "low", "high": "high"}.items():
        assert_golden(row[column], numbers[name], name)
    assert row["n"] == 6


def test_ranks_of_models(golden: Results) -> None:
    numbers = comparison()["ranks"]
    rows = golden.ranks("within").filter(measure="mu_corrected")
    models = [REFERENCE if name == "within" else name for name in numbers["models"]]
    by_model = pl.DataFrame({"model": models}).join(
        rows, on="model", how="left", maintain_order="left"
    )
    assert_golden(in_units(by_model["value"], "mu"), numbers["corrected"], "corrected")
    for column in ("rank", "rank_low", "rank_high"):
        assert by_model[column].to_list() == numbers[column]
    names = [
        [REFERENCE if name == "within" else name for name in pair] for pair in numbers["pairs"]
    ]
    pairs = pl.DataFrame(names, schema=["model", "other_model"], orient="row")
    compared = golden.comparisons("within").filter(measure="mu_corrected")
    found = pairs.join(compared, on=["model", "other_model"], how="left", maintain_order="left")
    for column in ("p", "q", "holm"):
        assert_golden(found[column], numbers[column], f"ranks_{column}")


# Groups of terms: cases whose classes were answered elsewhere


def about_terms(golden: Results, measure: str, **options: str | float) -> pl.DataFrame:
    """The numbers of a measure with some options, over all that they may generalise to."""
    tables = golden.measures(TERMS, CLASSES), golden.intervals(TERMS, CLASSES)
    rows = pl.concat(tables, how="diagonal_relaxed").filter(
        pl.col("template").is_null(), measure=measure
    )
    return rows.filter(options=options_text(**options)) if options else rows


@pytest.mark.parametrize("generalises_to", ["templates", "all"])
def test_differences_of_groups_of_terms(golden: Results, generalises_to: str) -> None:
    numbers = numbers_of("groups")["pairs"]
    rows = over(about_terms(golden, "difference"), OVERS[generalises_to]).sort("group", "other")
    assert rows.select("group", "other").to_dict(as_series=False) == {
        name: numbers[name] for name in ("group", "other")
    }
    assert_golden(rows["value"].to_numpy() / SCALE_OF_CLASSES, numbers["value"], "value")
    for column in ("low", "high"):
        assert_golden(
            rows[column].to_numpy() / SCALE_OF_CLASSES,
            numbers[f"{generalises_to}_{column}"],
            column,
        )
    for column in ("p", "q"):
        assert_golden(
            rows[column], numbers[f"{generalises_to}_{column}"], f"{generalises_to}_{column}"
        )


@pytest.mark.parametrize(
    ("comparison", "name"), [("pairwise", "counterfactual"), ("largest", "largest_in_case")]
)
def test_distances_of_groups_of_terms_and_their_noise(
    golden: Results, comparison: str, name: str
) -> None:
    numbers = numbers_of("groups")["calibrated"][name]
    rows = about_terms(
        golden,
        "distance",
        score="mean_class_probability",
        distance="absolute",
        comparison=comparison,
        mode="counterfactual",
    )
    row = rows.filter(pl.col("group").is_null(), pl.col("null_mean").is_not_null()).row(
        0, named=True
    )
    assert_golden(row["value"] / SCALE_OF_CLASSES, numbers["value"], name)
    assert_golden(row["null_mean"] / SCALE_OF_CLASSES, numbers["null_mean"], name)
    if comparison == "largest":
        assert row["method"] == "permutation (exact)"
        assert_golden(row["p"], numbers["p"], name)


@pytest.mark.parametrize("difference", ["mean", "largest"])
def test_failures_of_groups_of_terms(golden: Results, difference: str) -> None:
    failures = numbers_of("groups")["failures"]
    (numbers,) = (
        one for one in failures if (one["difference"], one["threshold"]) == (difference, FAILED_AT)
    )
    row = about_terms(
        golden, "failure_rate", difference=difference, threshold=FAILED_AT * SCALE_OF_CLASSES
    ).row(0, named=True)
    columns = ("value", "low", "high")
    assert_golden(
        [row[column] for column in columns], [numbers[column] for column in columns], difference
    )
