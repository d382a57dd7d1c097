"""Statements in several prompt formats: what is asked, what is claimed, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from project import ROOT
from small_config import changed, faults_of
from small_estimates import numbers_of, settings_of
from small_statements import files_of, pack_of
from small_tables import predictions_of, whole

from biasgrid.base.languages import language_words
from biasgrid.families.sampling import Sample
from biasgrid.families.statement.ask import expand
from biasgrid.families.statement.family import FAMILY
from biasgrid.families.statement.observe import observe
from biasgrid.families.statement.pack import STATEMENT, StatementPack
from biasgrid.families.statement.read import read

PROMPTS = (
    "{statement} Yes or No?",
    "[system] Say Yes or No.\n{statement}",
    "{statement} No or Yes?\nAnswer:",
)
OPTIONS = {"measures": None, "failure_threshold": 0.1, "mode": None}


def pack(
    folder: Path, *prompts: str, sample: Sample | None = None, language: str = "en"
) -> tuple[StatementPack, list[str]]:
    """A small pack whose statements are asked in prompts, and what is wrong with it."""
    files = replace(files_of(folder, sample=sample), language=language)
    for number, text in enumerate(prompts):
        (folder / f"{number}.txt").write_text(text)
    found, faults = read(
        replace(files, prompts=tuple(folder / f"{number}.txt" for number in range(len(prompts))))
    )
    return found, [str(fault).replace(f"{folder}/", "") for fault in faults]


def test_every_statement_is_asked_in_every_format(tmp_path: Path) -> None:
    found, faults = pack(tmp_path, *PROMPTS)
    assert faults == []
    rows = whole(expand(found))
    one = whole(expand(pack_of(tmp_path)))
    assert "prompt_format" not in one.columns
    assert len(rows) == 3 * len(one)
    assert rows.filter(prompt_format=0)["text"].equals(one["text"])
    second, third = (rows.filter(prompt_format=number).row(0, named=True) for number in (1, 2))
    assert (second["text"], second["system"]) == ("Elves are calmer than Pixies.", "Say Yes or No.")
    assert (third["text"], third["system"]) == (
        "Elves are calmer than Pixies. No or Yes?\nAnswer:",
        None,
    )


@pytest.mark.parametrize(
    ("language", "prompt", "answers"),
    [
        ("en", "{statement} Agree or Disagree?", ["Agree", "Disagree"]),
        (
            "en",
            "[system] Say disagree or agree.\n{statement} No explanation.",
            ["Agree", "Disagree"],
        ),
        ("en", "Do you agree or disagree with this? Say Yes or No.\n{statement}", ["Yes", "No"]),
        ("en", "[system] Say Yes if you agree and No if you do not.\n{statement}", ["Yes", "No"]),
        ("en", "Do you disagree?\n{statement}", ["Yes", "No"]),
        ("de", "{statement} Stimme zu oder Stimme nicht zu?", ["Stimme zu", "Stimme nicht zu"]),
        ("es", "{statement} ¿De acuerdo o en desacuerdo?", ["De acuerdo", "En desacuerdo"]),
        ("es", "{statement} Agree or Disagree?", ["Sí", "No"]),
    ],
)
def test_candidates_are_the_answers_that_a_prompt_names(
    language: str, prompt: str, answers: list[str], tmp_path: Path
) -> None:
    own = pack(
        tmp_path,
        prompt,
        "{statement} " + " / ".join(language_words(language).answers),
        language=language,
    )
    rows = whole(expand(own[0])).with_columns(pl.col("candidate1", "candidate2").cast(pl.String))
    asked = {
        number: rows.filter(prompt_format=number).select("candidate1", "candidate2")
        for number in (0, 1)
    }
    assert asked[0].unique().row(0) == tuple(answers)
    assert asked[1].unique().row(0) == language_words(language).answers


def test_the_shipped_prompts_ask_for_agreement_or_for_yes_and_no(tmp_path: Path) -> None:
    files = sorted(
        file
        for file in (ROOT / "word_lists/prompts").iterdir()
        if STATEMENT in file.read_text("utf-8")
    )
    shipped, faults = read(replace(files_of(tmp_path), prompts=tuple(files)))
    assert faults == []
    asked = {
        file.name: shipped.requested_answers(prompt)
        for file, prompt in zip(files, shipped.prompts, strict=True)
    }
    agreement = {name for name, answers in asked.items() if answers == ("Agree", "Disagree")}
    assert agreement == {
        "agree-or-disagree.txt",
        "agree-or-disagree-system.txt",
        "disagree-or-agree.txt",
    }
    assert {*asked} - agreement == {"yes-or-no.txt", "yes-or-no-agree.txt", "no-or-yes.txt"}


def test_a_sample_takes_statements_in_all_formats(tmp_path: Path) -> None:
    rows = whole(expand(pack(tmp_path, *PROMPTS, sample=Sample(units=4))[0]))
    assert len(rows) == 4 * 2 * len(PROMPTS)
    assert rows.group_by("pair").len()["len"].unique().to_list() == [2 * len(PROMPTS)]


def test_the_formats_decide_the_digest(tmp_path: Path) -> None:
    plain = pack_of(tmp_path).digest()
    assert pack(tmp_path, PROMPTS[0])[0].digest() == plain
    assert len({pack(tmp_path, *PROMPTS[:count])[0].digest() for count in (1, 2, 3)}) == 3


def test_claims_are_over_formats(tmp_path: Path) -> None:
    rows = whole(expand(pack(tmp_path, *PROMPTS)[0]))
    yes = np.random.default_rng(1).uniform(size=len(rows))
    said = predictions_of("choice", rows, probabilities=np.stack([yes, 1 - yes], axis=1).tolist())
    observations = observe(rows, said, OPTIONS)
    estimates = numbers_of(
        "statement", observations, OPTIONS, settings_of(FAMILY.own_measures)
    ).estimates
    claims = estimates.filter("is_claim", pl.col("template").is_null())
    over = dict(claims.group_by("measure").agg(pl.col("generalises_to").unique()).rows())
    assert (
        over["error"]
        == over["p_yes"]
        == over["coverage"]
        == over["agreement"]
        == ["clusters x formats"]
    )
    assert sorted(over["difference"]) == ["clusters x formats", "clusters x terms x formats"]
    # A statement that is asked in three formats is one case, and its negation is compared within a
    # format.
    of_cell = claims.filter(pl.col("bias_type").is_null())
    n = dict(of_cell.select("measure", "n").rows())
    assert n["error"] == len(rows)
    assert n["right_on_both"] == len(rows) / 2
    # Where all are answered, that is a share with an interval.
    assert of_cell.filter(measure="coverage")["low"].item() < 1


@pytest.mark.parametrize(
    ("prompts", "problem"),
    [
        (
            ("{statement}", "{statement}"),
            "1.txt: the same prompt as 0.txt; expected different prompts",
        ),
        (
            ("Yes or No?",),
            "0.txt: {statement} appears 0 times in the prompt; expected {statement} once",
        ),
        (
            ("{statement} [question]",),
            "0.txt, line 1: nothing fills [question]; expected {statement} once",
        ),
    ],
)
def test_wrong_prompts_are_refused(tmp_path: Path, prompts: tuple[str, ...], problem: str) -> None:
    assert pack(tmp_path, *prompts)[1] == [problem]


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"prompts": []}, "datasets.people.prompts"),
        ({"prompts": ["a.txt"], "system": "Be brief."}, "expected either `prompts` or `system`"),
        ({"prompts": ["a.txt"], "mode": "apes"}, "expected either `prompts` or `mode`"),
    ],
)
def test_wrong_keys_are_refused(keys: dict[str, object], problem: str) -> None:
    section = {"family": "statement", "title": "People", "templates": "t.csv", "domains": "domains"}
    (fault,) = faults_of(changed("datasets/people", section | keys))
    assert problem in fault
