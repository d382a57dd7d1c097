"""What a config may say of pairs: which scoring goes with which files and models, and what is
refused.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_pairs import pair_files

from biasgrid.base.faults import InputError
from biasgrid.config import parse_config
from biasgrid.config.sections import Config
from biasgrid.families.family import Question
from biasgrid.families.pairs.data import ALONE, PairSet, SentencePair

SERVER = {"url": "http://localhost:1/v1", "model": "some"}
MODELS: dict[str, dict[str, Any]] = {
    "masked": {"task": "fill-mask", "checkpoint": "some/model", "revision": "main"},
    "causal": {"task": "text-generation", "checkpoint": "some/model", "revision": "main"},
    "served": {"task": "text-generation", "endpoint": SERVER},
    "published": {"task": "text-generation", "answers": __file__},
    "reader": {"task": "question-answering", "checkpoint": "some/model", "revision": "main"},
}
LAYOUTS: dict[str, dict[str, Any]] = {
    "crows": {"layout": "crows-pairs"},
    "words": {"layout": "stereoset"},
    "follows": {"layout": "stereoset", "tasks": ["intersentence"]},
    "both": {"layout": "stereoset", "tasks": ["intrasentence", "intersentence"]},
}


def grid_of(model: str, **keys: Any) -> Config:
    config = {
        "models": {model: {"kind": "Some", "label": model} | MODELS[model]},
        "datasets": {"some": {"family": "pairs", "title": "Some", "files": ["a.csv"]} | keys},
        "run": {"models": [model], "datasets": ["some"]},
    }
    return parse_config(config, "c.yaml")


def question(model: str, **keys: Any) -> Question | None:
    grid = grid_of(model, **keys)
    return grid.family("some").question(grid, "some", model)


ASKED = {
    ("masked", "crows"): ("partner", "likelihood", "cps"),
    ("masked", "words"): ("context", "likelihood", "stereoset-biasbench"),
    ("masked", "follows"): ("context", "likelihood", "next-sentence"),
    ("causal", "crows"): ("alone", "likelihood", "sum"),
    ("causal", "words"): ("alone", "likelihood", "mean"),
    ("causal", "follows"): ("context", "likelihood", "context-mean"),
    ("served", "crows"): ("choice", "choice", "forced-choice"),
    ("published", "both"): ("alone", "likelihood", "published"),
}


@pytest.mark.parametrize(("model", "layout"), ASKED)
def test_each_kind_of_model_has_its_scoring(model: str, layout: str) -> None:
    asked = question(model, **LAYOUTS[layout])
    assert asked is not None
    assert (asked.variant, asked.answer, asked.measure_options["scoring"]) == ASKED[model, layout]
    assert asked.settings == (
        {"scoring": asked.measure_options["scoring"]} if asked.answer == "likelihood" else {}
    )


def test_another_scoring_may_be_named() -> None:
    asked = question("masked", layout="plain", masked="pll")
    assert asked is not None
    assert (asked.variant, asked.settings) == ("alone", {"scoring": "pll"})
    served = question("served", layout="plain", served="echo-sum")
    assert served is not None
    assert (served.answer, served.settings) == ("likelihood", {"scoring": "echo-sum"})


FAULTS = {
    "context": (
        {"layout": "crows-pairs", "masked": "stereoset"},
        "expected `masked` to be one of aul, aula, cps",
    ),
    "no context": (
        {**LAYOUTS["follows"], "causal": "sum"},
        "expected `causal` to be one of context-mean in this layout",
    ),
    "unknown": ({"layout": "plain", "causal": "cps"}, "in this layout, not 'cps'"),
    "both": (
        {**LAYOUTS["both"], "masked": "aul"},
        "expected no `masked`, because no scoring of that kind fits these `tasks`",
    ),
    "tasks": (
        {"layout": "plain", "tasks": ["intersentence"]},
        "expected `tasks` only with `layout: stereoset`",
    ),
    "prompt": (
        {"layout": "plain", "prompt": "Which?"},
        "expected text that contains {first} and {second} once each",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_does_not_go_together_is_refused(fault: str) -> None:
    keys, told = FAULTS[fault]
    with pytest.raises(InputError) as found:
        question("masked", **keys)
    assert told in str(found.value)


@pytest.mark.parametrize(
    ("model", "layout"), [("reader", "crows"), ("masked", "both"), ("causal", "both")]
)
def test_models_that_cannot_score_the_pairs_are_not_asked(model: str, layout: str) -> None:
    with pytest.raises(InputError, match="no selected model answers 'some'"):
        question(model, **LAYOUTS[layout])


@pytest.mark.parametrize(
    ("model", "layout", "reason"),
    [
        ("served", "follows", "there is no scoring of intersentence for models behind servers"),
        (
            "causal",
            "both",
            "there is no scoring of both `tasks` at once: models need a dataset for each",
        ),
    ],
)
def test_why_a_task_of_stereoset_is_not_scored_is_reported(
    model: str, layout: str, reason: str
) -> None:
    with pytest.raises(InputError, match=re.escape(f"no selected model answers 'some': {reason}")):
        question(model, **LAYOUTS[layout])


def test_a_task_that_is_named_twice_is_one_task() -> None:
    asked = question("masked", layout="stereoset", tasks=["intrasentence"] * 2, masked="stereoset")
    assert asked is not None
    assert asked.settings == {"scoring": "stereoset"}


def test_servers_are_not_asked_in_english_about_other_languages() -> None:
    with pytest.raises(InputError, match="`forced-choice` asks its question in English"):
        question("served", layout="crows-pairs", language="fr")
    prompt = "Laquelle ?\n(a) {first}\n(b) {second}\n"
    assert question("served", layout="crows-pairs", language="fr", prompt=prompt)
    assert question("masked", layout="crows-pairs", language="fr")


def test_a_dataset_needs_a_sample_from_so_many_instances_on(tmp_path: Path) -> None:
    pairs = tuple(SentencePair(str(number), "a", "b", "age") for number in range(40_000))
    grid = grid_of("causal", **LAYOUTS["crows"])
    of_two, of_three = (
        PairSet(pair_files(tmp_path / "a.csv", variant=ALONE), each)
        for each in (pairs, tuple(replace(pair, unrelated="c") for pair in pairs))
    )
    assert [*grid.family("some").list_faults(grid, "c.yaml", "some", ALONE, of_two)] == []
    (fault,) = grid.family("some").list_faults(grid, "c.yaml", "some", ALONE, of_three)
    assert fault.problem == "none, although the dataset asks generative models 120,000 instances"
