from typing import Any

import polars as pl
import pytest
from small_measures import with_known

from biasgrid.stats.verdicts.summary import summarise
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import MEASURES, SUMMARY, cell_table
from biasgrid.tables.summary import ModelFacts, flag_rows, for_spreadsheets, headline_lines

SCORING = {"gender": "exact", "religion": "exact"}
MODELS = {
    "bert-squad": ModelFacts("SQuAD", "BERT base", SCORING),
    "bert": ModelFacts("LM", "BERT base", SCORING | {"religion": "unqover"}),
    "sst2": ModelFacts("classifier", "DistilBERT", {}),
}
CELL = {
    "mu": 0.5,
    "eta": 0.25,
    "delta": 0.1,
    "epsilon": 0.2,
    "answer_probability": 0.4,
    "winner_changes": 0.3,
}
DISTANCE = "score=accuracy, distance=absolute, comparison=pairwise, mode=counterfactual"
OF_GROUPS = {"score": "score=accuracy, mode=group", "distance": DISTANCE}
HEADLINES = {
    "gender": dict.fromkeys(CELL, ""),
    "religion": dict.fromkeys(CELL, ""),
    "moods": OF_GROUPS,
}


def cell_of(rows: list[dict[str, Any]], model: str, dataset: str) -> pl.DataFrame:
    standard = {"options": "", "left_out": 0}
    return cell_table(pl.DataFrame([standard | row for row in rows]), MEASURES, model, dataset)


def measures_of(model: str, dataset: str, factor: float = 1) -> pl.DataFrame:
    """A cell of three subjects and two attributes: its own measures and some of its parts."""
    parts = [
        {"measure": "gamma", "value": 0.9, "n": 7}
        | dict(zip(("subject", "subject_group"), who, strict=True))
        | about
        for who in (("Ann", None), ("Bea", None), ("Carl", None), (None, "he"))
        for about in (
            {"attribute": "cooks"},
            {"attribute": "reads"},
            {},
            {"attribute_group": "chores"},
        )
    ]
    cell = [
        {"measure": name, "value": value * factor, "n": 3 if name in ("mu", "eta") else 12}
        for name, value in sorted(CELL.items())
    ]
    return cell_of(
        [*parts, {"measure": "eta", "subject": "Ann", "value": 0.7, "n": 7}, *cell], model, dataset
    )


def groups_of(model: str) -> pl.DataFrame:
    """A cell of two bias types, measured by a score, distances in two modes and their pairs."""
    in_all = DISTANCE.replace("counterfactual", "group")
    rows = [
        {
            "measure": measure,
            "options": options,
            "bias_type": bias_type,
            "group": group,
            "value": value,
            "n": n,
        }
        for measure, options, value, n in (
            ("score", OF_GROUPS["score"], 0.75, 20),
            ("distance", in_all, 0.5, 20),
            ("distance", DISTANCE, 0.25, 10),
        )
        for bias_type in ("age", "faith")
        for group in (None, "old")
    ]
    return cell_of([*rows, rows[0] | {"template": 3}], model, "moods")


def test_headline_measures_of_a_cell_are_side_by_side_with_its_facts() -> None:
    summary = summarise(measures_of("bert-squad", "gender"), MODELS, HEADLINES).summary
    validate_table(summary, SUMMARY, "summary")
    assert summary["measure"].to_list() == list(CELL)
    assert summary["headline"].all()
    facts = {
        "model": "bert-squad",
        "dataset": "gender",
        "kind": "SQuAD",
        "label": "BERT base",
        "scoring": "exact",
    }
    assert headline_lines(summary).to_dicts() == [
        facts | {"bias_type": None, "n": 12, "clusters": None, **CELL, "flag": None}
    ]


CERTAIN = {"generalises_to": "clusters", "clusters": 7, "method": "t", "n": 12}


def known_of(model: str, dataset: str, *rows: dict[str, Any]) -> pl.DataFrame:
    return cell_of([CERTAIN | row for row in rows], model, dataset)


@pytest.mark.parametrize(
    ("counts", "flag"), [((3, 5, 20), "5 swap groups"), ((3, 12, 20), None), ((), None)]
)
def test_cells_whose_tests_rest_on_little_are_flagged(
    counts: tuple[int, ...], flag: str | None
) -> None:
    tested = [
        {"measure": "gamma", "subject": f"s{n}", "attribute": "cooks", "value": 0.1, "q": 0.5}
        | CERTAIN
        | {"n": n}
        for n in counts
    ]
    # What could not be tested does not count.
    untested = (
        {"measure": "gamma", "subject": "rare", "attribute": "cooks", "value": 0.1}
        | CERTAIN
        | {"n": 1}
    )
    mu = {"measure": "mu", "value": 0.2} | CERTAIN
    cell = cell_of([*tested, untested, untested | {"attribute": "reads"}, mu], "bert", "gender")
    summary = summarise(
        cell, MODELS, HEADLINES, facts=GridFacts(units={"gender": "swap groups"})
    ).summary
    validate_table(summary, SUMMARY, "summary")
    found = summary.filter(measure="few_comparisons")
    texts = (
        [f"half of the tested numbers rest on {flag} or fewer; at least 12 are needed"]
        if flag
        else []
    )
    assert found["flag"].to_list() == texts
    assert not found["headline"].any()
    assert flag_rows(summary)["flag"].to_list() == texts


@pytest.mark.parametrize(
    ("precision", "drift", "text"),
    [
        ("bfloat16", 0.02, None),
        (
            "float16",
            0.031,
            "in float16, the scores of 32 audited rows differ by up to 0.031 from those in float32",
        ),
    ],
)
def test_cells_whose_precision_moves_scores_are_flagged(
    precision: str, drift: float, text: str | None
) -> None:
    audit = {"rows": 32, "largest_drift": drift, "mean_drift": 0.001}
    cells = {"gender/bert": {"predictions": {"precision": precision, "audit": audit}}}
    summary = summarise(
        measures_of("bert", "gender"), MODELS, HEADLINES, facts=GridFacts(cells=cells)
    ).summary
    validate_table(summary, SUMMARY, "summary")
    (row,) = summary.filter(measure="precision_drift").iter_rows(named=True)
    assert (row["value"], row["n"], row["flag"]) == (drift, 32, text)
    assert flag_rows(summary)["flag"].to_list() == ([text] if text else [])
    # It withholds nothing.
    assert summary.filter("headline")["value"].null_count() == 0


@pytest.mark.parametrize(
    "predictions",
    [
        {"precision": "float32", "audit": {"rows": 9, "largest_drift": 0.1, "mean_drift": 0.1}},
        {"precision": "bfloat16", "audit": None},
        {"scored_by": "top"},
    ],
)
def test_the_precision_of_other_cells_is_no_check(predictions: dict[str, Any]) -> None:
    facts = GridFacts(cells={"gender/bert": {"predictions": predictions}})
    summary = summarise(measures_of("bert", "gender"), MODELS, HEADLINES, facts=facts).summary
    assert "precision_drift" not in summary["measure"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["gpt-4o-2024-08-06"], None),
        (["gpt-4o-mini"], "asked for gpt-4o, but answered as gpt-4o-mini"),
        (
            ["gpt-4o", "gpt-4o-mini"],
            "asked for gpt-4o, but answered as gpt-4o and as gpt-4o-mini",
        ),
    ],
)
def test_cells_that_were_answered_under_other_names_are_flagged(
    names: list[str], text: str | None
) -> None:
    predictions = {"asked_for": "gpt-4o", "answered_as": names}
    facts = GridFacts(cells={"gender/bert": {"predictions": predictions}})
    summary = summarise(measures_of("bert", "gender"), MODELS, HEADLINES, facts=facts).summary
    validate_table(summary, SUMMARY, "summary")
    (row,) = summary.filter(measure="other_names").iter_rows(named=True)
    assert (row["n"], row["flag"]) == (len(names), text)
    assert flag_rows(summary)["flag"].to_list() == ([text] if text else [])
    assert summary.filter("headline")["value"].null_count() == 0


def test_the_summary_says_how_sure_numbers_are_and_what_was_found() -> None:
    """What tests find is a measure of its own, and what nothing is known of has no number, never
    0.
    """
    pairs = [("Ann", "cooks", 0.01), ("Ann", "reads", 0.2), ("Bea", "cooks", None)]
    known = known_of(
        "bert",
        "gender",
        {"measure": "mu", "value": 0.5, "null_mean": 0.2, "p": 0.001},
        {"measure": "mu_corrected", "value": 0.45, "low": 0.3, "high": 0.6},
        {"measure": "delta", "value": 0.1, "low": 0.05, "high": 0.15},
        *(
            {"measure": "gamma", "subject": subject, "attribute": attribute, "value": 0.1, "q": q}
            for subject, attribute, q in pairs
        ),
    )
    headlines = {"gender": dict.fromkeys(["mu", "mu_corrected", "significant_tests", "delta"], "")}
    summary = summarise(with_known(measures_of("bert", "gender"), known), MODELS, headlines).summary
    validate_table(summary, SUMMARY, "summary")
    (line,) = headline_lines(summary).to_dicts()
    found = {
        name: value
        for name, value in line.items()
        if name.startswith(("mu", "delta", "significant", "tested", "clusters"))
    }
    assert found == {
        "clusters": 7,
        **{
            "mu": 0.5,
            "mu_null_mean": 0.2,
            "mu_p": 0.001,
            "mu_corrected": 0.45,
            "mu_corrected_low": 0.3,
            "mu_corrected_high": 0.6,
        },
        **{
            "significant_tests": 1,
            "tested": 2,
            "delta": 0.1,
            "delta_low": 0.05,
            "delta_high": 0.15,
        },
    }
    cell = measures_of("bert", "gender")
    silent = summarise(cell.filter(pl.col("subject").is_null()), MODELS, headlines).summary
    assert "significant_tests" not in silent["measure"].to_list()
    assert (
        silent.select("low", "high", "null_mean", "p", "q", "clusters").null_count().row(0)
        == (len(silent),) * 6
    )


def test_what_tests_find_is_withheld_with_the_headlines_of_its_cell() -> None:
    reason = "not measurable: no answers"
    measures = measures_of("bert", "gender").with_columns(
        flag=pl.when(measure="mu").then(pl.lit(reason)),
        value=pl.when(pl.col("measure") != "mu").then("value"),
    )
    known = known_of(
        "bert", "gender", {"measure": "gamma", "subject": "Ann", "attribute": "reads", "q": 0.01}
    )
    headlines = {"gender": dict.fromkeys(["mu", "significant_tests"], "")}
    summary = summarise(with_known(measures, known), MODELS, headlines).summary
    assert summary.filter("headline").select("measure", "value", "flag").rows() == [
        ("mu", None, reason),
        ("significant_tests", None, reason),
    ]


def test_cells_keep_their_order_and_their_numbers() -> None:
    cells = [("bert-squad", "religion", 1.0), ("bert", "religion", 0.5), ("bert", "gender", 0.25)]
    summary = summarise(pl.concat(measures_of(*cell) for cell in cells), MODELS, HEADLINES).summary
    lines = headline_lines(summary)
    assert lines.select("model", "dataset", "mu").rows() == [
        (*names, 0.5 * factor) for *names, factor in cells
    ]
    assert lines["kind"].to_list() == ["SQuAD", "LM", "LM"]
    assert lines["scoring"].to_list() == ["exact", "unqover", "exact"]


def test_datasets_of_all_families_are_in_one_summary() -> None:
    """Whole bias types over all templates, the score beside the distance; what is no headline
    stands behind.
    """
    summary = summarise(
        pl.concat([measures_of("bert", "gender"), groups_of("sst2")]), MODELS, HEADLINES
    ).summary
    validate_table(summary, SUMMARY, "summary")
    assert summary.select("dataset", "bias_type").unique(maintain_order=True).rows() == [
        ("gender", None),
        ("moods", "age"),
        ("moods", "faith"),
    ]
    of_age = summary.filter(bias_type="age").select("measure", "headline", "value").rows()
    assert of_age == [("score", True, 0.75), ("distance", True, 0.25), ("distance", False, 0.5)]
    lines = (
        headline_lines(summary)
        .select("bias_type", "scoring", "n", "score", "distance", "mu")
        .rows()
    )
    assert lines == [
        (None, "exact", 12, None, None, 0.5),
        ("age", None, 10, 0.75, 0.25, None),
        ("faith", None, 10, 0.75, 0.25, None),
    ]


def test_the_largest_of_all_distances_is_no_line() -> None:
    measures = groups_of("sst2").with_columns(generalises_to=pl.lit("clusters"))
    options = DISTANCE.replace("pairwise", "largest")
    row = {
        "measure": "distance",
        "options": options,
        "bias_type": "age",
        "value": 0.4,
        "n": 9,
        "p": 0.01,
    }
    largest = cell_of([row | {"generalises_to": "terms"}], "sst2", "moods")
    summary = summarise(pl.concat([measures, largest]), MODELS, HEADLINES).summary
    assert summary.equals(summarise(measures, MODELS, HEADLINES).summary)
    assert set(summary["generalises_to"]) == {"clusters"}


def test_a_model_that_the_config_does_not_know_is_an_error() -> None:
    with pytest.raises(KeyError, match="stranger"):
        summarise(measures_of("stranger", "gender"), MODELS, HEADLINES)


@pytest.mark.parametrize("name", ["=1+1", "+cmd", "-cmd", "@SUM(A1)", "\tx", "\rx", "-", "+"])
def test_a_spreadsheet_takes_names_that_begin_like_formulas_for_text(name: str) -> None:
    written = for_spreadsheets(
        pl.DataFrame({"label": [name, "BERT", None], "value": [-1.0, 2.0, None]})
    )
    assert written.to_dict(as_series=False) == {
        "label": [f"'{name}", "BERT", None],
        "value": [-1.0, 2.0, None],
    }


@pytest.mark.parametrize("name", ["-1", "+0.5", "a=b", "x - y", "BERT"])
def test_other_names_stay_as_they_are(name: str) -> None:
    assert for_spreadsheets(pl.DataFrame({"label": [name]}))["label"].to_list() == [name]


def test_a_number_that_noise_puts_above_0_is_not_shown_where_its_noise_is_unknown() -> None:
    headlines = {"gender": dict.fromkeys(["mu", "mu_corrected", "delta"], "")}
    rows = [
        {"measure": name, "value": value, "n": 4} for name, value in (("mu", 0.5), ("delta", 0.1))
    ]
    unknown = cell_of([*rows, {"measure": "mu_corrected", "value": None, "n": 4}], "bert", "gender")
    shown = summarise(unknown, MODELS, headlines).summary.filter("headline")
    assert shown.select("measure", "value").rows() == [
        ("mu", None),
        ("mu_corrected", None),
        ("delta", 0.1),
    ]
    assert "nobody knows how far" in shown["flag"][0]
    assert shown["flag"][1:].null_count() == 2
    known = unknown.with_columns(null_mean=pl.when(measure="mu").then(0.2))
    assert summarise(known, MODELS, headlines).summary.filter(measure="mu")["value"].to_list() == [
        0.5
    ]


def test_the_placebo_of_a_bias_type_judges_no_number_of_the_whole_cell() -> None:
    """The narrow placebo of the cell counts, not the wide one of a bias type below it."""
    ranges = [("A", 0.0, 0.1), ("B", 0.1, 0.3), ("C", 0.3, 1.0)]
    marks = [Mark(letter, low, high, "", placebo="placebo") for letter, low, high in ranges]
    rows = [
        {"measure": "gap", "value": 0.2, "low": 0.15, "high": 0.25},
        {"measure": "placebo", "value": 0.0, "low": -0.05, "high": 0.05},
        {"measure": "placebo", "bias_type": "age", "value": 0.1, "low": -0.3, "high": 0.5},
    ]
    measures = cell_of([{"n": 4} | row for row in rows], "bert", "gender")
    summary = summarise(
        measures, MODELS, {"gender": {"gap": ""}}, marks={"gender": {"gap": marks}}
    ).summary
    (gap,) = summary.filter(measure="gap").select("mark", "no_mark").rows()
    assert gap == ("B", None)
