"""Known effects: synthetic corpora of sentences, and models that find what they have read more
likely.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from project import ROOT
from shards import Cell
from small_pairs import instances_of, numbers_of, observed, pair_files, value_of
from small_tables import with_keys

from biasgrid.families.pairs.data import ALONE, PARTNER
from biasgrid.families.pairs.measures import corpus, known_effects, observe
from biasgrid.families.synthetic import SyntheticBias, words_of_instances
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

OWN = ROOT / "word_lists/benchmarks/Pairs.csv"


@pytest.mark.parametrize("strength", [0.0, 0.5, 1.0])
def test_what_has_read_the_corpus_has_the_known_effects(strength: float) -> None:
    instances = instances_of(pair_files(OWN, layout="plain"))
    bias = SyntheticBias("own", "some", strength, 2, 3)
    synthetic = known_effects(instances, bias)
    validate_table(synthetic, SYNTHETIC, "synthetic")
    read = set(corpus(instances, "fill-mask", bias).splitlines())
    numbers = numbers_of(
        observed(instances, [float(text in read) for text in instances["text"].cast(pl.String)])
    )
    assert {*synthetic["measure"]} == {"stereotype_share"}
    for row in synthetic.to_dicts():
        assert value_of(numbers, row["measure"], bias_type=row["bias_type"]) == row["value"]
    assert value_of(numbers, "stereotype_share", bias_type="age") == pytest.approx(
        (1 + strength) / 2, abs=1 / 24
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "variant", "scoring"),
    [
        ("fill-mask", PARTNER, "cps"),
        ("text-generation", ALONE, "sum"),
        pytest.param("fill-mask", ALONE, "pll", marks=pytest.mark.long),
    ],
)
def test_a_trained_model_has_what_is_synthetic(
    tmp_path: Path, task: str, variant: str, scoring: str
) -> None:
    instances = with_keys(instances_of(pair_files(OWN, layout="plain", variant=variant)))
    bias = SyntheticBias("own", "some", 0.5, 1, 3)
    data, base = tmp_path / "corpus.txt", tmp_path / "base"
    data.write_text(corpus(instances, task, bias))
    make_base_checkpoint(
        words_of_instances(instances), base, seed=1, causal=task == "text-generation"
    )
    hyperparameters = Hyperparameters(
        epochs=80, batch_size=8, learning_rate=2e-3, max_length=40, mask_probability=0.3
    )
    train(task, base, [data], tmp_path / "model", hyperparameters, threads=1)
    cell = Cell(tmp_path / "cell", task, instances, tmp_path / "model")
    said = cell.predict(answer="likelihood", scoring=scoring)
    numbers = numbers_of(observe(instances, said, {"scoring": scoring}))
    for row in known_effects(instances, bias).to_dicts():
        found = value_of(numbers, row["measure"], bias_type=row["bias_type"])
        assert found == pytest.approx(row["value"], abs=0.2), (row, found)
