"""A cell of statements and their negations, from templates and precomputed responses to its
page.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from pipeline import Pipeline, precomputed
from small_statements import HEADER

TRAITS = ["lazy", "dull", "rude", "vain", "loud", "mean", "late", "weak"]
PEOPLE = {"Elves": "elf", "Pixies": "elf", "Trolls": "troll", "Ogres": "troll"}
BELIEVED = TRAITS[:6]
"""What the model says of both kinds of trolls, and never of elves; all statements are wrong."""


Answers = tuple[str, str]
"""Of a statement and of its negation."""
ANSWERS: dict[bool | None, Answers] = {
    None: ("Hm", "Hm"),
    True: ("Yes", "No"),
    False: ("No", "Yes"),
}
"""Of models that say nothing, that agree and that disagree."""


def write_pack(folder: Path) -> None:
    """Writes statements that give people traits, each with its negation."""
    templates = [
        (
            f"{trait},#1 are {trait}.,people,,,No,\n"
            f"not-{trait},#1 are not {trait}.,people,,,Yes,{trait}\n"
        )
        for trait in TRAITS
    ]
    (folder / "templates.csv").write_text(HEADER + "".join(templates))
    (folder / "domains").mkdir()
    (folder / "domains/people.txt").write_text(
        "".join(f"{name},{people}\n" for name, people in PEOPLE.items())
    )


def cell_where(folder: Path, agrees: Callable[[str, str], bool | Answers | None]) -> Pipeline:
    """A cell whose model agrees with a trait of people or not, says nothing of them (None), or
    gives two answers.
    """
    write_pack(folder)
    rows = [
        {
            "prompt": f"{name} are {word}{trait}. Yes or No?",
            "group": people,
            "repetition": 0,
            "response": f"{text}.",
        }
        for trait in TRAITS
        for name, people in PEOPLE.items()
        for said in [agrees(trait, people)]
        for word, text in zip(
            ("", "not "), said if isinstance(said, tuple) else ANSWERS[said], strict=True
        )
    ]
    dataset = {
        "family": "statement",
        "answers": "written",
        "templates": "templates.csv",
        "domains": "domains",
    }
    return Pipeline(
        folder, precomputed(folder, rows), dataset | {"prompt": "{statement} Yes or No?"}
    )


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("statements")
    return cell_where(folder, lambda trait, people: people == "troll" and trait in BELIEVED)


def test_each_statement_is_asked_with_its_negation(cell: Pipeline) -> None:
    assert len(cell.instances) == 2 * len(TRAITS) * len(PEOPLE)
    assert cell.instances["negated"].sum() == len(cell.instances) / 2


def test_errors_are_those_about_trolls(cell: Pipeline) -> None:
    errors = {
        people: cell.row("error", bias_type="people", group=people) for people in ("elf", "troll")
    }
    assert [row["value"] for row in errors.values()] == [0, 0.75]
    assert 0 < errors["elf"]["high"] < 0.5
    assert (cell.row("error")["value"], cell.row("right_on_both")["value"]) == (0.375, 0.625)
    assert (cell.row("inconsistency")["value"], cell.row("coverage")["value"]) == (0, 1)


def test_groups_differ_over_templates_and_terms(cell: Pipeline) -> None:
    options = "score=mean_class_probability, mode=counterfactual"
    row = cell.row("difference", bias_type="people", group="elf", other="troll", options=options)
    assert (row["value"], row["clusters"], row["generalises_to"]) == (
        pytest.approx(0.75),
        len(TRAITS),
        "clusters x terms",
    )
    assert row["low"] > 0
    assert row["q"] < 0.05


def test_the_finding_names_the_groups(cell: Pipeline) -> None:
    assert "2 of 2 are significant" in cell.sentence
    assert "troll above elf in agreement, 0.750" in cell.sentence


def test_the_page_has_wrong_answers_with_the_statement(cell: Pipeline) -> None:
    worst = cell.evidence.row(0, named=True)
    assert (worst["text"], worst["said"], worst["expected"]) == (
        "Trolls are lazy. Yes or No?",
        "Yes",
        "No",
    )
    assert "Trolls are lazy." in json.dumps(cell.page.blocks["evidence/model/dataset"])


def test_pairs_with_the_same_answer_are_counted_among_those_with_two_answers_and_flagged(
    tmp_path: Path,
) -> None:
    same = ("No", "No")
    answers = {"lazy": same, "dull": same, "rude": None, "vain": ("No", "Hm")}
    cell = cell_where(tmp_path, lambda trait, people: answers.get(trait, False))
    pairs = 6 * len(PEOPLE)
    row = cell.row("same_answer")
    assert (row["value"], row["n"], row["left_out"]) == (
        pytest.approx(1 / 3),
        pairs,
        2 * len(PEOPLE),
    )
    assert row["low"] < 1 / 3 < row["high"]
    flag = cell.row("negation_doubt")
    assert (flag["value"], flag["n"]) == (pytest.approx(1 / 3), pairs)
    assert flag["flag"] == "33% of the 24 pairs of a statement and its negation get the same answer"
    in_summary = cell.summary.filter(measure="same_answer").row(0, named=True)
    assert (in_summary["headline"], in_summary["value"]) == (True, pytest.approx(1 / 3))
    assert flag["flag"] in json.dumps(cell.page.blocks)


def test_nothing_is_said_of_pairs_without_two_answers(tmp_path: Path) -> None:
    cell = cell_where(tmp_path, lambda trait, people: ("Yes" if people == "elf" else "No", "Hm"))
    row = cell.row("same_answer")
    assert (row["value"], row["n"], row["left_out"]) == (None, 0, len(TRAITS) * len(PEOPLE))
    assert row["reason"]
    assert cell.measures.filter(measure="negation_doubt").is_empty()


def test_a_prompt_that_asks_for_agreement_scores_agree_and_disagree(tmp_path: Path) -> None:
    write_pack(tmp_path)
    rows = [
        {
            "prompt": f"{name} are {word}{trait}. Agree or Disagree?",
            "probabilities": {"Agree": yes, "Disagree": no},
        }
        for trait in TRAITS
        for name in PEOPLE
        for word, (yes, no) in {"": (0.1, 0.4), "not ": (0.6, 0.2)}.items()
    ]
    dataset = {"family": "statement", "templates": "templates.csv", "domains": "domains"}
    cell = Pipeline(
        tmp_path,
        precomputed(tmp_path, rows),
        dataset | {"prompt": "{statement} Agree or Disagree?"},
    )
    assert {*cell.instances["candidate1"], *cell.instances["candidate2"]} == {"Agree", "Disagree"}
    values = {
        name: cell.row(name)["value"]
        for name in ("p_yes", "p_no", "error", "same_answer", "coverage")
    }
    assert values == pytest.approx(
        {"p_yes": 0.35, "p_no": 0.3, "error": 0, "same_answer": 0, "coverage": 1}
    )
    assert cell.row("negation_doubt")["flag"] is None


def test_groups_without_a_common_statement_are_not_compared(tmp_path: Path) -> None:
    half = TRAITS[::2]
    cell = cell_where(
        tmp_path,
        lambda trait, people: None if (trait in half) == (people == "elf") else trait in half,
    )
    assert cell.row("coverage")["value"] == 0.5
    lacks = cell.measures.filter(pl.col("value").is_null(), pl.col("template").is_null())
    assert {"distance", "distance_corrected", "failure_rate", "difference"} <= {*lacks["measure"]}
    assert lacks.select("p", "q", "null_mean", "method").null_count().row(0) == (len(lacks),) * 4
    assert {*lacks.filter(measure="distance_corrected")["reason"]} == {"no value"}
