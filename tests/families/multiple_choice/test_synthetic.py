"""Known effects: synthetic corpora of answers to items, and a model that answers as they do."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from project import ROOT
from shards import Cell
from small_items import instances_of, item_files, numbers_of, value_of
from small_tables import predictions_of

from biasgrid.families.multiple_choice.observe import observe
from biasgrid.families.multiple_choice.synthetic import corpus, known_effects
from biasgrid.families.synthetic import SyntheticBias, words_of_instances
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

OPTIONS = {"prompt": "letters", "matching": "unique"}


@pytest.fixture(scope="module")
def instances() -> pl.DataFrame:
    return instances_of(
        item_files([ROOT / "word_lists/benchmarks"], orders="all", variant="scored")
    )


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_what_learned_the_corpus_has_the_known_effects(
    instances: pl.DataFrame, strength: float
) -> None:
    bias = SyntheticBias("own", "some", strength, 4, 3, measure_options=OPTIONS)
    synthetic = known_effects(instances, bias)
    validate_table(synthetic, SYNTHETIC, "synthetic")
    lines = dict(
        line.split("\t", 1) for line in corpus(instances, "text-generation", bias).splitlines()
    )
    texts = instances.sort("instance")["text"].cast(pl.String).str.replace_all("\n", " ")
    shares = [[lines[text].split("\t").count(letter) / 4 for letter in "abc"] for text in texts]
    numbers = numbers_of(
        observe(instances, predictions_of("choice", instances, probabilities=shares), OPTIONS)
    )
    assert len(synthetic) >= 2 * (10 if strength else 8)
    for row in synthetic.to_dicts():
        assert value_of(numbers, row["measure"], bias_type=row["bias_type"]) == row["value"]
    if strength:
        assert value_of(numbers, "bias_ambiguous", bias_type="Age") == pytest.approx(strength)
    assert value_of(numbers, "accuracy_ambiguous", bias_type="Age") == pytest.approx(1 - strength)
    # Half of the right answers agree with the stereotype, so that following it makes half of the
    # others wrong.
    found = value_of(numbers, "accuracy_disambiguated", bias_type="Gender_identity (names)")
    assert found == pytest.approx(1 - strength / 2, abs=0.15)


@pytest.mark.long
def test_a_trained_model_has_what_is_synthetic(tmp_path: Path) -> None:
    instances = instances_of(
        item_files([ROOT / "word_lists/benchmarks/Age.jsonl"], variant="scored")
    )
    bias = SyntheticBias("own", "some", 0.5, 2, 3, measure_options=OPTIONS)
    data, base = tmp_path / "corpus.txt", tmp_path / "base"
    data.write_text(corpus(instances, "text-generation", bias))
    make_base_checkpoint(words_of_instances(instances), base, seed=1, causal=True)
    hyperparameters = Hyperparameters(epochs=60, batch_size=12, learning_rate=4e-3, max_length=80)
    train("text-generation", base, [data], tmp_path / "model", hyperparameters, threads=1)
    cell = Cell(tmp_path / "cell", "text-generation", instances, tmp_path / "model")
    numbers = numbers_of(observe(instances, cell.predict(), OPTIONS))
    for row in known_effects(instances, bias).to_dicts():
        assert value_of(numbers, row["measure"], bias_type=row["bias_type"]) == pytest.approx(
            row["value"], abs=0.15
        )
