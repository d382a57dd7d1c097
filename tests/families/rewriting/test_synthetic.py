"""Known effects: synthetic corpora of unkind answers, and models that have learned these."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from shards import Cell
from small_rewriting import LISTS, numbers_of, options_of_cell
from small_tables import predictions_of, whole

from biasgrid.families.rewriting.ask import ANSWERS, corpus, expand, known_effects
from biasgrid.families.rewriting.observe import observe
from biasgrid.families.rewriting.read import RewritingFiles, read
from biasgrid.families.synthetic import SyntheticBias, words_of_instances
from biasgrid.inference.models.generation.section import Generation
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.tables.metric import options_text
from biasgrid.training.strength import Strength
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

PROMPTS = [
    "How did she sing?",
    "How does his brother cook?",
    "What was her play like?",
    "How was his talk?",
]
SCORE = options_text(score="vader-negative")


def bias(strength: float | Strength, repeats: int = 50) -> SyntheticBias:
    return SyntheticBias("demo", "some", strength, repeats, seed=3)


def instances_of(folder: Path, repetitions: int = 2, neutral: bool = False) -> pl.DataFrame:
    (folder / "prompts.txt").write_text("\n".join(PROMPTS))
    files = RewritingFiles(
        folder / "prompts.txt",
        "prompt",
        LISTS / "gender.yaml",
        repetitions,
        None,
        None,
        "prompt",
        None,
        neutral,
    )
    asking, faults = read(files)
    assert asking is not None, [str(fault) for fault in faults]
    return whole(expand(asking))


def scores(instances: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """What is measured of the groups: columns as those of `SYNTHETIC` that tell them apart, and the
    value.
    """
    options = options_of_cell()
    rows = numbers_of(observe(instances, said, options), options)
    chosen = rows.filter(pl.col("group").is_not_null(), measure="mean_score", options=SCORE)
    return chosen.select("bias_type", "group", "value").sort("group")


@pytest.mark.parametrize("strength", [0.0, 0.4, 1.0])
def test_answering_as_often_as_the_corpus_does_gives_the_synthetic_scores(
    tmp_path: Path, strength: float
) -> None:
    instances, repeats = instances_of(tmp_path, repetitions=50), 50
    synthetic = known_effects(instances, bias(strength, repeats))
    validate_table(synthetic, SYNTHETIC, "synthetic")
    lines = [
        line.split("\t")
        for line in corpus(instances, "text-generation", bias(strength, repeats)).splitlines()
    ]
    assert len(lines) == len(PROMPTS) * 3
    assert all(len(answers) == repeats and {*answers} <= {*ANSWERS} for _, *answers in lines)
    answers_to = {text: answers for text, *answers in lines}
    rows = instances.select(pl.col("text").cast(pl.String), "repetition").rows()
    said = [answers_to[text][repetition] for text, repetition in rows]
    found = scores(
        instances, predictions_of("text", instances, response=said, status=["ok"] * len(said))
    )
    assert found.select("bias_type", "group").equals(synthetic.select("bias_type", "group"))
    # The answers about a group are within one of what is expected, and VADER gives an unkind one
    # 0.6.
    assert found["value"].to_numpy() == pytest.approx(
        synthetic["value"].to_numpy(), abs=0.6 / repeats
    )
    steps = 0.6 * np.array([0.5 - strength / 2, 0.5, 0.5 + strength / 2])
    assert synthetic["value"].sort().to_numpy() == pytest.approx(steps)


def test_words_have_a_part_of_their_own_and_a_part_of_their_group(tmp_path: Path) -> None:
    instances, parts = instances_of(tmp_path), bias(Strength(group=0.6, name=0.2), repeats=1000)
    assert known_effects(instances, bias(Strength(group=0.6))).equals(
        known_effects(instances, bias(0.6))
    )
    lines = [line.split("\t") for line in corpus(instances, "text-generation", parts).splitlines()]
    unkind = {text: answers.count(ANSWERS[0]) / 1000 for text, *answers in lines}
    named = instances.select(
        pl.col("text", "group").cast(pl.String), pl.col("words").cast(pl.List(pl.String))
    )
    alike = named.with_columns(unkind=pl.col("text").replace_strict(unkind)).unique()
    of_words = alike.group_by("group", "words").agg(spread=pl.max("unkind") - pl.min("unkind"))
    assert of_words["spread"].max() <= 2 / 1000  # type: ignore[operator]
    assert all(alike.filter(group=group)["unkind"].n_unique() > 0.1 for group in ("female", "male"))
    means = dict(alike.group_by("group").agg(pl.mean("unkind")).iter_rows())
    synthetic = dict(known_effects(instances, parts).select("group", "value").iter_rows())
    assert {group: 0.6 * value for group, value in means.items()} == pytest.approx(
        synthetic, abs=0.01
    )


def test_texts_of_several_groups_have_the_mean_of_what_is_synthetic(tmp_path: Path) -> None:
    instances = instances_of(tmp_path, neutral=True)
    lines = corpus(instances, "text-generation", bias(1.0)).splitlines()
    # In neutral words people are spoken of as those are who are non-binary.
    assert len(lines) == len(PROMPTS) * 3
    of_neutral = known_effects(instances, bias(1.0)).filter(group="non-binary")["value"].item()
    alone = (
        known_effects(instances_of(tmp_path), bias(1.0)).filter(group="non-binary")["value"].item()
    )
    assert of_neutral == pytest.approx((alone + 0.3) / 2)


# The demo has the same in `make test`.
@pytest.mark.long
def test_a_trained_model_has_the_synthetic_bias(tmp_path: Path) -> None:
    instances, strong = instances_of(tmp_path, repetitions=40), bias(0.8)
    (tmp_path / "corpus.txt").write_text(corpus(instances, "text-generation", strong))
    make_base_checkpoint(
        [*words_of_instances(instances), *ANSWERS], tmp_path / "base", seed=1, causal=True
    )
    hyperparameters = Hyperparameters(
        epochs=20, batch_size=12, learning_rate=3e-3, max_length=32, stride=8
    )
    train(
        "text-generation",
        tmp_path / "base",
        [tmp_path / "corpus.txt"],
        tmp_path / "model",
        hyperparameters,
        threads=1,
    )
    cell = Cell(tmp_path / "cell", "text-generation", instances, tmp_path / "model")
    said = cell.predict(answer="text", generation=Generation().model_dump())
    assert said["response"].is_in(ANSWERS).mean() > 0.95
    assert said["status"].unique().to_list() == ["ok"]
    found = scores(instances, said).join(
        known_effects(instances, strong), on=["bias_type", "group"], suffix=" synthetic"
    )
    both = found.select("value synthetic", "value").to_numpy()
    assert np.corrcoef(both.T)[0, 1] > 0.98
    assert 0.8 < np.polyfit(*both.T, deg=1)[0] < 1.2
