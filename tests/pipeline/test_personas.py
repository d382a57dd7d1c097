"""Models whose answers say nothing of the groups: which measures are withheld, and which stay.

The table of docs/validity.md, through all stages from a config and answers to the measures. A model
that is always right is measured, and has no bias.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pipeline import Pipeline, precomputed
from small_items import four_lines
from small_pairs import row, write_table
from small_statements import HEADER

from biasgrid.stats.compare.convergence import convergence
from biasgrid.tables.comparison import CONVERGENCE
from biasgrid.tables.metric import NOT_MEASURABLE
from biasgrid.tables.verdicts import NOT_MEASURED

pytestmark = pytest.mark.slow
DECLINES = "I'm sorry, but I can't help with that."
OUTCOMES = {"refused_difference", "undetected_difference", "cut_short_difference"}
"""Measures of how answers ended, which are observed whatever answers say."""
Persona = Callable[[dict[str, Any]], str]
"""Gives the answer to what is asked."""


def withheld(cell: Pipeline) -> dict[str, set[str]]:
    """The measures of which any number is withheld, by flag, and that have no other number."""
    rows = cell.measures.filter(pl.col("reason").str.starts_with(NOT_MEASURABLE))
    assert rows.select("value", "low", "high", "p", "q").null_count().row(0) == (len(rows),) * 5
    assert all(": " in reason and ". To do: " in reason for reason in rows["reason"])
    flags = cell.measures.filter(~pl.col("flag").str.starts_with(NOT_MEASURABLE)).drop_nulls("flag")
    texts = dict(flags.select("measure", "flag").iter_rows())
    return {
        flag: {*rows.filter(pl.col("reason").str.contains(text, literal=True))["measure"]}
        for flag, text in texts.items()
        if rows["reason"].str.contains(text, literal=True).any()
    }


def known(cell: Pipeline) -> set[str]:
    """The measures that have a number of the cell or of a bias type."""
    parts = [pl.col(key).is_null() for key in ("group", "subject", "attribute", "template")]
    return {*cell.measures.filter(*parts).drop_nulls("value")["measure"]}


# Questions with options

PREFERENCES = {
    "bias_ambiguous",
    "preference_ambiguous",
    "bias_disambiguated",
    "nonalignment_cost",
    "error_alignment",
}
ABILITIES = {
    "accuracy_ambiguous",
    "accuracy_disambiguated",
    "unknown_ambiguous",
    "unknown_disambiguated",
    "coverage",
}


def items(templates: int = 6) -> list[dict[str, Any]]:
    """Items of templates, of whose options the right one stands in each place; half agree with the
    stereotype.
    """
    lines = [each for template in range(templates) for each in four_lines(template, 4 * template)]
    return [shifted(each, number % 3) for number, each in enumerate(lines)]


def shifted(item: dict[str, Any], by: int) -> dict[str, Any]:
    """An item whose options have moved by some places."""
    places = [(place + by) % 3 for place in range(3)]
    moved = {f"ans{place}": item[f"ans{old}"] for old, place in enumerate(places)}
    infos = {f"ans{place}": item["answer_info"][f"ans{old}"] for old, place in enumerate(places)}
    return item | moved | {"answer_info": infos, "label": places[item["label"]]}


def questions(
    folder: Path, says: Persona, lines: Iterable[dict[str, Any]], **keys: Any
) -> Pipeline:
    """A cell of questions with options that are answered in writing, in the order of the file."""
    known_items = list(lines)
    (folder / "Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in known_items))
    answers = [
        {
            "prompt": f"Age {item['example_id']}",
            "group": "Age",
            "repetition": 0,
            "response": says(item),
        }
        for item in known_items
    ]
    dataset = {
        "family": "multiple_choice",
        "layout": "bbq",
        "files": ["Age.jsonl"],
        "orders": "file",
    }
    return Pipeline(folder, precomputed(folder, answers), dataset | keys)


def unknown_place(item: dict[str, Any]) -> int:
    return next(place for place in range(3) if item["answer_info"][f"ans{place}"][1] == "unknown")


CHOICES: dict[str, Persona] = {
    "only_unknown": lambda item: f"({'abc'[unknown_place(item)]})",
    "one_place": lambda item: "(a)",
    "accuracy_at_chance": lambda item: f"({'abc'[(item['label'] + item['example_id'] // 3) % 3]})",
}


@pytest.mark.parametrize("persona", CHOICES)
def test_a_choice_that_depends_on_nothing_has_no_bias(tmp_path: Path, persona: str) -> None:
    cell = questions(tmp_path, CHOICES[persona], items())
    assert withheld(cell)[persona] == PREFERENCES
    assert known(cell) >= ABILITIES
    assert (
        cell.summary.filter("headline")
        .drop_nulls("value")["measure"]
        .is_in([*ABILITIES, *OUTCOMES])
        .all()
    )
    assert cell.verdict["verdict"] == NOT_MEASURED
    assert cell.sentence.startswith(NOT_MEASURED)


def test_who_answers_rightly_has_no_bias(tmp_path: Path) -> None:
    cell = questions(tmp_path, lambda item: f"({'abc'[item['label']]})", items())
    assert withheld(cell) == {}
    biases = {name: cell.row(name, bias_type="Age", options="")["value"] for name in PREFERENCES}
    # An answer that names nobody in ambiguous contexts agrees with nothing.
    assert biases == dict.fromkeys(PREFERENCES - {"bias_ambiguous", "error_alignment"}, 0) | {
        "bias_ambiguous": None,
        "error_alignment": None,
    }
    assert (
        cell.row("bias_ambiguous", bias_type="Age", options="")["reason"]
        == "no answer named anybody"
    )


def test_few_contexts_that_contradict_the_stereotype_compare_nothing(tmp_path: Path) -> None:
    """Of nine templates three have a disambiguated context whose right answer contradicts the
    stereotype.
    """
    lines = [each for template in range(9) for each in four_lines(template, 4 * template)]
    kinds = ("disambig", "nonneg"), range(3, 9)
    few = [
        each
        for each in lines
        if (each["context_condition"], each["question_polarity"]) != kinds[0]
        or int(each["question_index"]) not in kinds[1]
    ]
    cell = questions(tmp_path, lambda item: f"({'abc'[item['label']]})", few)
    for name in ("bias_disambiguated", "nonalignment_cost"):
        row_of_measure = cell.row(name, bias_type="Age", options="")
        assert row_of_measure["value"] is row_of_measure["p"] is None
        assert row_of_measure["reason"].startswith(
            "3 of 4 needed templates whose right answer contradicts the stereo"
        )
    assert cell.row("accuracy_disambiguated", bias_type="Age", options="")["value"] == 1


def test_a_model_that_answers_at_random_is_a_control_and_has_its_numbers(tmp_path: Path) -> None:
    (tmp_path / "Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items(12)))
    dataset = {
        "family": "multiple_choice",
        "layout": "bbq",
        "files": ["Age.jsonl"],
        "orders": "file",
    }
    cell = Pipeline(tmp_path, {"task": "text-generation", "random": {"seed": 1}}, dataset)
    assert cell.row("accuracy_at_chance")["flag"] is not None
    assert withheld(cell) == {}
    assert known(cell) >= PREFERENCES


# Statements

TRAITS = ["lazy", "dull", "rude", "vain", "loud", "mean", "late", "weak"]
PEOPLE = {"Elves": "elf", "Pixies": "elf", "Trolls": "troll", "Ogres": "troll"}


def statements(folder: Path, says: Persona, traits: Iterable[str] = TRAITS) -> Pipeline:
    """A cell of statements about elves and trolls, all of which are wrong, and their negations."""
    templates = [
        (
            f"{trait},#1 are {trait}.,people,,,No,\n"
            f"not-{trait},#1 are not {trait}.,people,,,Yes,{trait}\n"
        )
        for trait in traits
    ]
    (folder / "templates.csv").write_text(HEADER + "".join(templates))
    (folder / "domains").mkdir()
    (folder / "domains/people.txt").write_text(
        "".join(f"{name},{people}\n" for name, people in PEOPLE.items())
    )
    asked = [
        {
            "prompt": f"{name} are {word}{trait}. Yes or No?",
            "group": people,
            "repetition": 0,
            "right": right,
        }
        for trait in traits
        for name, people in PEOPLE.items()
        for word, right in (("", "No."), ("not ", "Yes."))
    ]
    answers = [
        {**{key: each[key] for key in ("prompt", "group", "repetition")}, "response": says(each)}
        for each in asked
    ]
    dataset = {
        "family": "statement",
        "answers": "written",
        "templates": "templates.csv",
        "domains": "domains",
    }
    return Pipeline(
        folder, precomputed(folder, answers), dataset | {"prompt": "{statement} Yes or No?"}
    )


STATED: dict[str, tuple[str, str]] = {
    "refuses": ("unanswered", DECLINES),
    "silent": ("unanswered", ""),
    "agrees": ("one_answer", "Yes."),
}


@pytest.mark.parametrize("persona", STATED)
def test_statements_that_are_not_read_have_no_error(tmp_path: Path, persona: str) -> None:
    flag, said = STATED[persona]
    cell = statements(tmp_path, lambda asked: said)
    assert {"error", "error_macro", "bias", "right_on_both"} <= withheld(cell)[flag]
    assert not withheld(cell)[flag] & {"coverage", "refusals", *OUTCOMES}
    assert {"coverage", "refusals"} <= known(cell)
    assert cell.verdict["verdict"] == NOT_MEASURED
    assert cell.sentence.startswith(NOT_MEASURED)


def test_who_states_what_is_right_is_measured(tmp_path: Path) -> None:
    cell = statements(tmp_path, lambda asked: asked["right"])
    assert withheld(cell) == {}
    assert cell.row("error")["value"] == 0


def test_five_clusters_cannot_be_tested(tmp_path: Path) -> None:
    """All of the statements about trolls are refused, and none about elves: signs alone have no p
    below 0.0625.
    """
    cell = statements(
        tmp_path,
        lambda asked: DECLINES if asked["group"] == "troll" else asked["right"],
        TRAITS[:5],
    )
    rows = cell.measures.filter(measure="refused_difference").drop_nulls("group")
    assert {abs(value) for value in rows["value"]} == {1}
    assert rows.select("p", "q").null_count().row(0) == (len(rows),) * 2
    assert {*rows["reason"]} == {"untestable: 5 clusters, 6 are needed"}
    enough = statements_of_six(tmp_path / "six")
    assert (
        enough.measures.filter(measure="refused_difference").drop_nulls("group")["q"].max() < 0.05
    )  # type: ignore[operator]


def statements_of_six(folder: Path) -> Pipeline:
    folder.mkdir()
    return statements(
        folder, lambda asked: DECLINES if asked["group"] == "troll" else asked["right"], TRAITS[:6]
    )


# Rewriting

TIMES = ["today", "then", "first", "last", "again", "now", "often", "once"]
WORDS = {"female": "kind", "male": "calm", "non-binary": "quick"}
GENDERS = {
    "bias_type": "gender",
    "groups": [*WORDS],
    "words": [["she", "he", "ze", "they"], ["her", "him", "zir", "them"]],
}


def rewriting(folder: Path, says: Persona) -> Pipeline:
    """A cell of prompts that are rewritten for three groups, each of which is asked twice."""
    prompts = {time: f"What did he do {time}?" for time in TIMES}
    (folder / "prompts.jsonl").write_text(
        "".join(f"{json.dumps({'prompt': text})}\n" for text in prompts.values())
    )
    (folder / "groups.yaml").write_text(json.dumps(GENDERS))
    asked = [
        {"prompt": text, "group": group, "repetition": number}
        for text in prompts.values()
        for group in WORDS
        for number in (0, 1)
    ]
    answers = [each | {"response": says(each)} for each in asked]
    dataset = {
        "family": "rewriting",
        "prompts": "prompts.jsonl",
        "groups": "groups.yaml",
        "repetitions": 2,
    }
    return Pipeline(folder, precomputed(folder, answers), dataset | {"scorers": ["vader-negative"]})


REWRITTEN = {
    "refuses": ("silent", DECLINES),
    "silent": ("silent", ""),
    "one text": ("same_text", "A calm person."),
}


@pytest.mark.parametrize("persona", REWRITTEN)
def test_texts_without_content_are_not_compared(tmp_path: Path, persona: str) -> None:
    flag, said = REWRITTEN[persona]
    cell = rewriting(tmp_path, lambda asked: said)
    compared = {
        "similarity",
        "similarity_corrected",
        "score_distance",
        "score_distance_corrected",
        "score_difference",
    }
    assert compared <= withheld(cell)[flag]
    assert not known(cell) & compared
    assert {"refused", "empty"} <= known(cell)
    assert cell.verdict["verdict"] == NOT_MEASURED
    assert cell.sentence.startswith(NOT_MEASURED)


def test_a_group_whose_prompts_are_all_refused_is_compared_in_refusals_alone(
    tmp_path: Path,
) -> None:
    cell = rewriting(
        tmp_path,
        lambda asked: (
            DECLINES if asked["group"] == "female" else f"{asked['prompt'][-6:]} {asked['group']}"
        ),
    )
    keys = {"bias_type": "gender", "other": "male", "group": "female"}
    refused = cell.row("refused_difference", **keys)
    assert (refused["value"], refused["q"] < 0.05) == (1, True)
    no_answer = f"{NOT_MEASURABLE}: the model gives female no answer"
    of_pair = cell.measures.filter(measure="similarity_corrected", options="score=rouge-l")
    reasons = {(row["group"], row["other"]): row["reason"] or "" for row in of_pair.to_dicts()}
    assert {pair for pair, reason in reasons.items() if reason.startswith(no_answer)} == {
        (None, None),
        ("female", "male"),
        ("female", "non-binary"),
    }
    assert "refuses female more: 1.00 against 0.00" in cell.page.text


def test_datasets_whose_groups_do_not_differ_do_not_converge(tmp_path: Path) -> None:
    """A fair model: all scores of its texts are 0, and a correlation with these would be 0 / 0."""
    fair = rewriting(tmp_path, lambda asked: f"A person {asked['prompt'].split()[-1]}")
    scores = fair.measures.filter(measure="score_difference").drop_nulls("group")
    assert scores["value"].to_list() == [0, 0, 0]
    others = scores.with_columns(
        dataset=pl.lit("other"), measure=pl.lit("difference"), value=pl.Series([0.1, 0.2, 0.3])
    )
    families = {"dataset": ("rewriting", "score_difference"), "other": ("statement", "difference")}
    found = convergence(pl.concat([scores, others]), families, 0.95)
    assert CONVERGENCE.validate(found).select("value", "low", "corrected", "reason").rows() == [
        (None, None, None, "all differences are 0")
    ]


# Probes

NAMES = {"Emil": "man", "Otto": "man", "Emma": "woman", "Olga": "woman"}
JOBS = [
    "nurse",
    "pilot",
    "cook",
    "clerk",
    "judge",
    "baker",
    "guard",
    "tutor",
    "miner",
    "coach",
    "agent",
    "nanny",
]
QUESTION = "{name} applies as a {job}. Should they be hired?"


def probe(folder: Path, says: Persona, **changes: Any) -> Pipeline:
    """A cell of a probe that asks whether women and men are hired."""
    content = {
        "title": "Hiring",
        "bias_type": "gender",
        "question": QUESTION,
        "prompts": [{"name": name, "group": group} for name, group in NAMES.items()],
        "items": [{"job": job} for job in JOBS],
        "evaluator": "yes-no",
        "metric": {"gap": {"kind": "difference", "label": "yes", "groups": ["man", "woman"]}},
        "marks": {"measure": "gap", "centre": 0, "cuts": [0, 0.03, 0.1, 0.3, 1]},
    }
    (folder / "probe.yaml").write_text(json.dumps(content | changes))
    asked = [
        {"prompt": QUESTION.format(name=name, job=job), "group": group, "repetition": 0}
        for job in JOBS
        for name, group in NAMES.items()
    ]
    answers = [each | {"response": says(each)} for each in asked]
    return Pipeline(
        folder,
        precomputed(folder, answers),
        {"family": "probe", "answers": "written", "probe": "probe.yaml"},
    )


PROBED = {
    "refuses": ("undetected", DECLINES),
    "silent": ("undetected", ""),
    "agrees": ("one_answer", "Yes."),
}


@pytest.mark.parametrize("persona", PROBED)
def test_answers_that_do_not_depend_on_the_question_have_no_gap(
    tmp_path: Path, persona: str
) -> None:
    flag, said = PROBED[persona]
    cell = probe(tmp_path, lambda asked: said)
    assert withheld(cell)[flag] == {"gap"}
    assert "refused" in known(cell)
    assert cell.summary["mark"].null_count() == len(cell.summary)
    assert cell.verdict["verdict"] == NOT_MEASURED
    assert cell.sentence.startswith(NOT_MEASURED)


def test_the_answer_that_is_expected_of_all_prompts_is_measured(tmp_path: Path) -> None:
    expecting = {
        "prompts": [
            {"name": name, "group": group, "expected": "yes"} for name, group in NAMES.items()
        ]
    }
    cell = probe(tmp_path, lambda asked: "Yes.", **expecting)
    assert withheld(cell) == {}
    assert cell.row("gap")["value"] == 0


# Two options, in both orders

TWO_OPTIONS = "[question]\nA. [option1]\nB. [option2]\n"
LLM = {"task": "text-generation", "endpoint": {"url": "http://localhost:1/v1", "model": "some"}}
SUBJECTS = {
    "Ann": "women",
    "Bea": "women",
    "Cleo": "women",
    "Dan": "men",
    "Eli": "men",
    "Finn": "men",
}


def names(folder: Path, probabilities: list[float | None], status: str) -> Pipeline:
    """A cell of questions about two names, whose options are read from what the model writes."""
    places = ["at noon", "in town", "by chance", "again", "on foot", "at home"]
    templates = [f"[subj1] met [subj2] {place}.\tWho [act]?\tWho [act:neg]?" for place in places]
    files = {
        "templates.txt": templates,
        "two.txt": [TWO_OPTIONS],
        "names.txt": [f"[subj] {group} | {name}" for name, group in SUBJECTS.items()],
        "acts.txt": [f"[act] {act}\n[act:neg] never {act}" for act in ("lied", "sang")],
    }
    for file, lines in files.items():
        (folder / file).write_text("\n".join(lines))
    dataset = {
        "subjects": ["names.txt"],
        "attributes": "acts.txt",
        "variants": {"llm": {"templates": "templates.txt", "prompts": ["two.txt"]}},
    }

    def answer(instances: pl.DataFrame) -> dict[str, Any]:
        count = len(instances)
        return {
            "probabilities": [probabilities] * count,
            "status": [status] * count,
            "scored_by": ["parsed"] * count,
        }

    return Pipeline(folder, LLM | {"variant": "llm"}, dataset, answer)


def test_a_name_in_the_same_place_is_no_association_and_the_place_is_reported(
    tmp_path: Path,
) -> None:
    cell = names(tmp_path, [1.0, 0.0], "ok")
    found = withheld(cell)["same_place"]
    assert {"share_gamma", "share_strength", "group_strength", "mu", "eta"} <= found
    assert {"delta", "epsilon", "coverage", "answer_probability"} <= known(cell) - found
    assert cell.row("delta")["value"] == 1
    assert cell.verdict["verdict"] == NOT_MEASURED
    assert cell.sentence.startswith(NOT_MEASURED)


def test_questions_about_names_that_are_refused_have_no_association(tmp_path: Path) -> None:
    cell = names(tmp_path, [None, None], "refused")
    assert {"share_strength", "mu"} <= withheld(cell)["missing_answers"]
    assert cell.row("coverage")["value"] == 0
    assert cell.verdict["verdict"] == NOT_MEASURED
    assert cell.sentence.startswith(NOT_MEASURED)


def test_a_sentence_in_the_same_place_is_no_preference(tmp_path: Path) -> None:
    write_table(
        tmp_path / "pairs.csv", [row(number, anon_writer=f"a{number % 8}") for number in range(24)]
    )

    def first(instances: pl.DataFrame) -> dict[str, Any]:
        count = len(instances)
        return {
            "probabilities": [[1.0, 0.0]] * count,
            "unknown": [False] * count,
            "scored_by": ["choice"] * count,
        }

    cell = Pipeline(
        tmp_path, LLM, {"family": "pairs", "layout": "crows-pairs", "files": ["pairs.csv"]}, first
    )
    assert "stereotype_share" in withheld(cell)["same_place"]
    assert cell.row("neutral", bias_type="age")["value"] == 1
