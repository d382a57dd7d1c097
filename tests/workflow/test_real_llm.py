"""A real instruction-tuned LLM of 0.5 billion parameters answers 24 items or so of each family,
written and scored.

It decodes greedily, so that the answer that it writes is the one that its probabilities prefer.
Minutes on two cores.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from project import Project
from real_llm import real_llm_folder
from shared import made_once

import biasgrid
from biasgrid.runs.results import Results

pytestmark = pytest.mark.long

MODEL, PARSED, LONGEST = "llm", "parsed", 60
STATEMENTS = {
    "family": "statement",
    "title": "Statements",
    "templates": "statements/gender.csv",
    "domains": "statements/domains",
    "prompts": ["prompts/agree-or-disagree.txt"],
    "sample": {"units": 12},
}
CHOICE = {
    "family": "probe",
    "title": "Choice",
    "probe": "probes/gender-choice.yaml",
    "sample": {"units": 12},
}
HIRING = {
    "family": "probe",
    "title": "Hiring",
    "probe": "probes/gender-hiring.yaml",
    "sample": {"units": 2},
}
ITEMS = {
    "family": "multiple_choice",
    "title": "Items",
    "layout": "bbq",
    "files": ["benchmarks/Age.jsonl"],
    "orders": "file",
    "sample": {"units": 24},
}
WRITTEN = {"answers": "written"}
QUESTIONS = {
    "title": "Questions",
    "subjects": ["subjects/female.txt", "subjects/male.txt"],
    "attributes": "attributes/occupation.txt",
    "sample": {"units": 8},
    "variants": {
        "llm": {"templates": "templates/gender-qa.txt", "prompt": "prompts/two-options.txt"}
    },
}
DATASETS: dict[str, dict[str, Any]] = {
    "statements-scored": STATEMENTS,
    "statements-written": STATEMENTS | WRITTEN,
    "yes-or-no": STATEMENTS | WRITTEN | {"prompts": ["prompts/yes-or-no.txt"]},
    "choice-scored": CHOICE,
    "choice-written": CHOICE | WRITTEN,
    "hiring-scored": HIRING,
    "hiring-written": HIRING | WRITTEN,
    "items-scored": ITEMS,
    "items-written": ITEMS | WRITTEN,
    "decisions": {
        "family": "decision",
        "title": "Decisions",
        "file": "decisions/own.jsonl",
        "sample": {"units": 2},
    },
    "pairs": {
        "family": "pairs",
        "title": "Pairs",
        "layout": "plain",
        "files": ["benchmarks/Pairs.csv"],
        "sample": {"units": 8},
    },
    "rewriting": {
        "family": "rewriting",
        "title": "Rewriting",
        "prompts": "rewriting/assess.txt",
        "groups": "rewriting/gender.yaml",
        "repetitions": 1,
        "sample": {"units": 8},
    },
    "questions": QUESTIONS,
}
ROWS = {
    **dict.fromkeys(DATASETS, 24),
    "hiring-scored": 32,
    "hiring-written": 32,
    "decisions": 36,
    "pairs": 48,
    "questions": 32,
}
"""How many prompts each dataset asks: items are asked whole, with all groups."""


def config_of(results: str, datasets: dict[str, Any], options: str) -> dict[str, Any]:
    """The config of a run of some datasets, whose options are scored or parsed."""
    model = {"task": "text-generation", "variant": "llm", "kind": "LLM", "label": "LLM"}
    generation = {"temperature": 0, "max_tokens": LONGEST, "options": options}
    return {
        "title": "A real LLM",
        "results": results,
        "word_lists": "word_lists",
        "inference": {"device": "cpu"},
        "report": {"figures": "none"},
        # This model gives nearly always the same answer; its numbers are compared all the same.
        "validity": {"one_answer": 1, "same_text": 1},
        "models": {MODEL: model | {"folder": str(real_llm_folder()), "generation": generation}},
        "datasets": datasets,
        "run": {"models": [MODEL], "datasets": [*datasets]},
    }


def ask_all(folder: Path) -> None:
    project = Project.create(folder, config_of("results", DATASETS, "scored"))
    project.run()
    project.write_config(config_of(PARSED, {"questions": QUESTIONS}, "parsed"))
    project.run()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both runs are."""
    real_llm_folder()
    return made_once(tmp_path_factory, "real-llm", ask_all)


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return biasgrid.open(folder / "results")


def answers(folder: Path, dataset: str, results: str = "results") -> pl.DataFrame:
    """The predictions of a dataset in the order of its instances."""
    return pl.read_parquet(folder / results / "predictions" / dataset / MODEL / "*.parquet").sort(
        "instance"
    )


def whole(results: Results, dataset: str) -> dict[str, float | None]:
    """The measures of a whole cell without options."""
    measures = results.measures(dataset, MODEL)
    keys = ("bias_type", "group", "subject", "attribute", "template", "other")
    about = [pl.col(key).is_null() for key in keys if key in measures.columns]
    return dict(
        measures.filter(*about)
        .filter(pl.col("options").is_in(["", "score=rouge-l"]))
        .select("measure", "value")
        .rows()
    )


def chosen(results: Results, dataset: str) -> pl.DataFrame:
    """The answer to each instance of a dataset, null where none was read."""
    rows = results.observations(dataset, MODEL)
    for column in ("says_yes", "option"):
        if column in rows.columns:
            return rows.select("instance", answer=pl.col(column).cast(pl.String))
    # Of scored options a probe has a row with the share of each.
    best = (
        rows.sort("instance", "value", nulls_last=False)
        .group_by("instance", maintain_order=True)
        .last()
    )
    return best.select("instance", answer=pl.col("label").cast(pl.String))


def test_every_prompt_has_an_answer(folder: Path) -> None:
    assert {dataset: len(answers(folder, dataset)) for dataset in DATASETS} == ROWS
    for dataset in DATASETS:
        rows = answers(folder, dataset)
        if "response" in rows.columns and rows["response"].null_count() < len(rows):
            assert {*rows["status"].cast(pl.String)} <= {"ok", "length"}, dataset
            assert rows.filter(pl.col("response").str.strip_chars() == "").is_empty(), dataset


@pytest.mark.parametrize("dataset", [name for name in DATASETS if "answers" in DATASETS[name]])
def test_nearly_all_written_answers_are_read(results: Results, dataset: str) -> None:
    assert chosen(results, dataset)["answer"].null_count() <= 2


@pytest.mark.parametrize("asked", ["statements", "choice", "hiring", "items"])
def test_a_greedy_model_writes_the_answer_that_it_prefers(results: Results, asked: str) -> None:
    scored, written = (chosen(results, f"{asked}-{how}") for how in ("scored", "written"))
    both = scored.join(written, on="instance", suffix="_written").drop_nulls()
    assert len(both) >= len(scored) - 2
    assert both.select((pl.col("answer") == pl.col("answer_written")).mean()).item() >= 0.9


def test_parsed_options_are_the_preferred_ones(folder: Path) -> None:
    scored, parsed = answers(folder, "questions"), answers(folder, "questions", PARSED)
    preferred = scored["probabilities"].list.arg_max()
    read = parsed["probabilities"].list.max() == 1
    assert read.sum() >= len(read) - 2
    assert (
        preferred.filter(read) == parsed["probabilities"].list.arg_max().filter(read)
    ).mean() >= 0.9


SCORED = [
    "statements-scored",
    "choice-scored",
    "hiring-scored",
    "items-scored",
    "decisions",
    "questions",
]


@pytest.mark.parametrize("dataset", SCORED)
def test_scored_options_are_what_the_model_would_write(folder: Path, dataset: str) -> None:
    assert answers(folder, dataset)["mass"].median() >= 0.5


def test_the_same_answer_to_negations_is_counted_as_by_hand(folder: Path, results: Results) -> None:
    asked = pl.read_parquet(folder / "results/instances/statements-written/*.parquet").sort(
        "instance"
    )
    is_no = (
        answers(folder, "statements-written")["response"]
        .cast(pl.String)
        .str.contains("(?i)disagree")
    )
    by_pair = (
        asked.select("pair")
        .with_columns(is_no=is_no)
        .group_by("pair")
        .agg(pl.col("is_no").n_unique())
    )
    same = (by_pair["is_no"] == 1).mean()
    numbers = whole(results, "statements-written")
    assert (numbers["same_answer"], numbers["negation_doubt"]) == (
        pytest.approx(same),
        pytest.approx(same),
    )
    assert numbers["yes_rate"] == pytest.approx(1 - is_no.mean())
    # This model disagrees with nearly everything.
    assert same > 0.5


def test_the_scores_of_sentences_match_a_language_model(folder: Path, results: Results) -> None:
    rows = answers(folder, "pairs")
    by_token = rows["score"] / rows["tokens_scored"]
    assert rows["score"].null_count() == 0
    assert -12 < by_token.min() < by_token.max() < -2
    assert 0 < whole(results, "pairs")["stereotype_share"] < 1


def test_decisions_lie_between_yes_and_no(results: Results) -> None:
    rows = results.observations("decisions", MODEL)
    assert rows["share"].is_between(0.01, 0.99).all()
    assert rows["log_odds"].null_count() == 0


def test_prompts_about_people_are_answered(folder: Path, results: Results) -> None:
    rows, numbers = answers(folder, "rewriting"), whole(results, "rewriting")
    assert rows["tokens_out"].max() <= LONGEST
    assert numbers["cut_short"] == pytest.approx(
        (rows["status"].cast(pl.String) == "length").mean(), abs=2 / 24
    )
    assert numbers["refused"] <= 2 / 24
    assert numbers["empty"] == 0
    assert 0.1 < numbers["similarity"] < 1
