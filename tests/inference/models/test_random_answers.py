"""Answers at random: probabilities that add up, texts of a list, and nothing that hangs on more
than key and seed.
"""

from pathlib import Path

import polars as pl
import pytest
from shards import Cell, asked
from small_config import OF_ALL

from biasgrid.base.faults import InputError
from biasgrid.config import parse_config
from biasgrid.inference.models.random_answers import RANDOM_TEXTS
from biasgrid.tables.files import read_provenance

ROWS = [
    {"text": f"Question {number}?", "candidates": ["Yes", "No", None][: 2 + number % 2]}
    for number in range(2000)
]


def cell(folder: Path, seed: int = 1) -> Cell:
    return Cell(
        folder, "text-generation", asked(ROWS), folder, "random", {"random": {"seed": seed}}
    )


def test_options_have_probabilities_that_know_nothing(tmp_path: Path) -> None:
    said = cell(tmp_path).predict()
    first, second = (said["probabilities"].list.get(place).to_numpy() for place in (0, 1))
    assert first + second == pytest.approx(1, abs=1e-6)
    assert first.mean() == pytest.approx(0.5, abs=0.02)
    assert ((first > 0) & (first < 1)).all()
    assert set(said["scored_by"]) == {"random"}
    assert set(said["mass"]) == {1.0}
    assert said["probabilities"].list.len().unique().to_list() == [3]


def test_texts_come_from_a_list(tmp_path: Path) -> None:
    said = cell(tmp_path).predict(answer="text")
    counts = said["response"].value_counts()
    assert set(counts["response"]) == set(RANDOM_TEXTS)
    assert counts["count"].min() > 0.7 * len(ROWS) / len(RANDOM_TEXTS)
    assert set(said["status"]) == {"ok"}


def test_answers_hang_on_seed_and_key_alone(tmp_path: Path) -> None:
    ours = cell(tmp_path / "one")
    whole = ours.predict()
    assert ours.predict_all(3).equals(whole)
    assert not cell(tmp_path / "other", seed=2).predict().equals(whole)
    reverse = ours.with_instances(
        ours.instances.reverse().with_columns(instance=pl.int_range(len(ROWS), dtype=pl.UInt32))
    )
    assert (
        reverse.predict_anew()["probabilities"].to_list() == whole["probabilities"].to_list()[::-1]
    )


def test_the_seed_is_in_the_provenance(tmp_path: Path) -> None:
    ours = cell(tmp_path, seed=3)
    ours.predict()
    assert read_provenance(ours.out)["model"]["keys"] == {"random": {"seed": 3}}


def config(**keys: object) -> dict[str, object]:
    model = {
        "task": "text-generation",
        "variant": "llm",
        "kind": "Control",
        "label": "Random",
        **keys,
    }
    return {
        "models": {"chance": model},
        "run": {"models": ["chance"], "datasets": ["religion"]},
    } | OF_ALL


@pytest.mark.usefixtures("general")
def test_a_config_names_it_in_place_of_a_checkpoint() -> None:
    grid = parse_config(config(random={"seed": 4}), "c.yaml")
    assert grid.back_end_entry("chance").path.endswith(":RandomAnswers")
    assert grid.model_record_arguments("chance") == {"keys": {"random": {"seed": 4}}, "files": []}
    assert grid.deciding_settings("chance", "religion") == {}


@pytest.mark.usefixtures("general")
def test_it_is_one_source_among_others() -> None:
    with pytest.raises(InputError) as refused:
        parse_config(config(random={"seed": 4}, folder="somewhere"), "c.yaml")
    sources = "`checkpoint`, `folder`, `train`, `predictions`, `endpoint`, `random` and `answers`"
    assert f"expected exactly one of {sources}" in str(refused.value)


@pytest.mark.parametrize(
    ("scoring", "low", "high"), [("sum", float("-inf"), 0), ("stereoset", 0, 1)]
)
def test_sentences_have_scores_that_know_nothing(
    tmp_path: Path, scoring: str, low: float, high: float
) -> None:
    said = cell(tmp_path).predict(answer="likelihood", scoring=scoring)
    scores = said["score"].to_numpy()
    assert ((scores > low) & (scores < high)).all()
    assert said["score"].n_unique() == len(ROWS)
    # Of every two neighbours the first one is as often the likelier one.
    assert (scores[::2] > scores[1::2]).mean() == pytest.approx(0.5, abs=0.05)
    assert said["tokens_scored"].null_count() == len(ROWS)
    assert set(said["scoring"]) == {scoring}
    assert read_provenance(cell(tmp_path).out)["scoring"] == scoring
