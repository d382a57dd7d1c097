"""Sentences scored through Snakemake, for a family of a plugin: no built-in one is asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import extending
import pytest
from project import Project
from sentences import PlainCausal, PlainMasked
from shared import made_once
from tiny_writers import save_writer

from biasgrid.inference.scorings import align_tokens
from biasgrid.tables.files import read_table
from biasgrid.tables.schema import answer_schema

LINES = [
    f"{group}\t{sentence}"
    for place in ("the sea", "the cook", "the old man")
    for group, sentence in (("women", f"Ann sat by {place}."), ("men", f"Carl sat by {place}."))
]


@pytest.fixture(scope="module")
def scored(
    tmp_path_factory: pytest.TempPathFactory, tiny_checkpoint: Callable[[str, str], Path]
) -> Project:
    """A run in which a masked and a causal model and one that answers at random score six
    sentences.
    """

    def make(folder: Path) -> None:
        masked, causal = (
            tiny_checkpoint("bert", "fill-mask"),
            save_writer(folder / "writer", "llama", None),
        )
        models = {
            "masked": {"task": "fill-mask", "kind": "LM", "label": "masked", "folder": str(masked)},
            "causal": {
                "task": "text-generation",
                "kind": "LLM",
                "label": "causal",
                "folder": str(causal),
            },
            "chance": {
                "task": "text-generation",
                "kind": "Control",
                "label": "random",
                "random": {"seed": 1},
            },
        }
        datasets = {
            "greetings": {
                "family": "greetings",
                "title": "Pairs",
                "texts": "greetings.txt",
                "shards": 2,
            }
        }
        run = {"models": [*models], "datasets": ["greetings"]}
        config = {
            "plugins": ["plugins/greetings.py"],
            "models": models,
            "datasets": datasets,
            "run": run,
        }
        project = Project.create(
            folder, config | {"results": "results", "inference": {"device": "cpu"}}
        )
        extending.write_family_of_sentences(folder, LINES)
        project.run()

    return Project(made_once(tmp_path_factory, "scored", make))


def scores(project: Project, model: str) -> list[float]:
    """Those of both shards of a cell."""
    folder = project.results / "predictions/greetings" / model
    tables = sorted(folder.glob("*.parquet"))
    assert len(tables) == 2
    return [
        score
        for table in tables
        for score in read_table(table, answer_schema("likelihood"))["score"]
    ]


def test_scores_match_one_sentence_at_a_time(scored: Project) -> None:
    sentences = [line.split("\t")[1] for line in LINES]
    models = scored.read_config()["models"]
    masked, causal = (
        PlainMasked(models["masked"]["folder"]),
        PlainCausal(models["causal"]["folder"]),
    )
    pairs = [
        (sentence, sentences[place ^ 1], place % 2) for place, sentence in enumerate(sentences)
    ]
    assert scores(scored, "masked") == pytest.approx(
        [masked.score("cps", *pair) for pair in pairs], abs=1.1e-3
    )
    assert scores(scored, "causal") == pytest.approx(
        [causal.score("sum", text, None) for text in sentences], rel=1e-5
    )
    assert len(set(scores(scored, "chance"))) == 6


def test_what_scores_cost_is_in_the_plan(scored: Project) -> None:
    plan = json.loads(scored.told("plan", scored.file, "--json").stdout)
    tokens = {cell["model"]: cell["tokens"] for cell in plan["cells"]}
    models = scored.read_config()["models"]
    tokenizer = PlainMasked(models["masked"]["folder"]).tokenizer
    sentences = [line.split("\t")[1] for line in LINES]
    expected = 0
    for place, sentence in enumerate(sentences):
        own, other = (tokenizer(text).input_ids for text in (sentence, sentences[place ^ 1]))
        expected += len(own) * len(align_tokens(own, other).shared[0])
    assert tokens["masked"] == pytest.approx(expected, rel=1e-6)
    timings = scored.folder.glob("results/timings/*/causal/*.json")
    read = sum(json.loads(timing.read_text())["tokens"] for timing in timings)
    assert tokens["causal"] == pytest.approx(read, rel=0.1)


def test_nothing_runs_again(scored: Project) -> None:
    assert scored.planned() == {}
