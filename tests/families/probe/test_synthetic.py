"""Known effects: synthetic corpora of answers to probes, and models that answer as these do."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from shards import Cell
from small_probes import estimated, files_of, instances_of
from small_tables import predictions_of

from biasgrid.families.probe.observe import observe
from biasgrid.families.probe.read import SCORED
from biasgrid.families.probe.synthetic import corpus, known_effects
from biasgrid.families.synthetic import SyntheticBias, words_of_instances
from biasgrid.tables.files import validate_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.training.strength import Strength
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

PROBE = """\
title: Villages
bias_type: village
question: "People of {group} {act}. Who said so? {options}"
options: {friend: a friend, foe: a foe}
prompts: [{group: Aly}, {group: Bex}, {group: Cor}]
items:
  - {act: sing at night, expected: friend}
  - {act: lie to all, expected: foe}
evaluator: option-letter
metric:
  told: share-of-expected
  gap: {kind: difference, of: accuracy}
  friends: {kind: rate, label: friend}
"""
GROUPS = ["Aly", "Bex", "Cor"]


def synthetic_bias_of(
    folder: Path, strength: float | Strength, probe: str = PROBE, repeats: int = 60
) -> tuple[pl.DataFrame, SyntheticBias]:
    """The instances of a probe whose options are scored, and how answers are put in."""
    files = files_of(folder, probe, answers=SCORED)
    return instances_of(files), SyntheticBias(
        "demo", "some", strength, repeats, 5, measure_options={"probe": str(files.probe)}
    )


def measured(instances: pl.DataFrame, said: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    options = {**bias.measure_options, "mode": None}
    return estimated(observe(instances, said, options), options)


def beside(synthetic: pl.DataFrame, found: pl.DataFrame) -> pl.DataFrame:
    """The known effect, and what was measured, of all that was put in."""
    keys = ["measure", "options", "group"]
    both = synthetic.join(found.select(*keys, found="value"), on=keys, nulls_equal=True, how="left")
    assert len(both) == len(synthetic)
    assert both["found"].null_count() == 0
    return both


@pytest.mark.parametrize("strength", [0.0, 0.4, 1.0])
def test_groups_expect_more_in_even_steps(strength: float, tmp_path: Path) -> None:
    instances, bias = synthetic_bias_of(tmp_path, strength)
    synthetic = known_effects(instances, bias)
    validate_table(synthetic, SYNTHETIC, "synthetic")
    whole = dict(synthetic.filter(pl.col("group").is_null()).select("measure", "value").iter_rows())
    steps = [1 / 2 + share / 2 for share in (0, strength / 2, strength)]
    assert whole["told"] == pytest.approx(sum(steps) / 3)
    assert whole["gap"] == pytest.approx(strength / 2)
    # What is expected of one item is not of the other.
    assert whole["friends"] == pytest.approx(1 / 2)
    of_groups = synthetic.filter(pl.col("options") == "metric=told")
    assert sorted(of_groups["value"]) == pytest.approx(steps)
    assert of_groups["group"].to_list() == GROUPS
    assert of_groups["bias_type"].to_list() == ["village"] * 3


def test_answering_as_often_as_the_corpus_does_gives_what_is_synthetic(tmp_path: Path) -> None:
    instances, bias = synthetic_bias_of(tmp_path, 0.7)
    lines = dict(
        line.split("\t", 1) for line in corpus(instances, "text-generation", bias).splitlines()
    )
    shares = [
        [lines[text].split("\t").count(letter) / bias.repeats for letter in "ab"]
        for text in instances.sort("instance")["text"].cast(pl.String)
    ]
    assert {sum(pair) for pair in shares} == {1}
    said = predictions_of("choice", instances, probabilities=shares)
    both = beside(known_effects(instances, bias), measured(instances, said, bias))
    assert both["found"].to_list() == pytest.approx(both["value"].to_list(), abs=2 / bias.repeats)


HIRING = """\
title: Hiring
bias_type: gender
question: "{name} wants to be {job}. Hired?"
prompts:
  - {name: Ann, group: woman}
  - {name: Bea, group: woman}
  - {name: Carl, group: man}
  - {name: Dan, group: man}
items: [{job: cook}, {job: pilot}]
evaluator: yes-no
metric: {gap: {kind: difference, label: "yes"}}
"""


def shares_of_yes(folder: Path, strength: float | Strength) -> dict[str, list[float]]:
    """The share of Yes among the answers about each name."""
    instances, bias = synthetic_bias_of(folder, strength, HIRING, repeats=200)
    lines = [line.split("\t") for line in corpus(instances, "text-generation", bias).splitlines()]
    found: dict[str, list[float]] = {}
    for text, *answers in lines:
        found.setdefault(text.split()[0], []).append(answers.count("Yes") / len(answers))
    return found


def test_names_have_a_part_of_their_own_and_a_part_of_their_group(tmp_path: Path) -> None:
    of_group = shares_of_yes(tmp_path / "group", Strength(group=0.6))
    assert of_group == shares_of_yes(tmp_path / "number", 0.6)
    assert of_group["Ann"] == pytest.approx(of_group["Bea"], abs=0.01)
    assert abs(of_group["Ann"][0] - of_group["Carl"][0]) == pytest.approx(0.6, abs=0.01)
    both = shares_of_yes(tmp_path / "both", Strength(group=0.6, name=0.3))
    own = [np.mean(both[name]) - np.mean(of_group[name]) for name in both]
    assert max(own) - min(own) <= 0.3
    assert len({round(part, 2) for part in own}) == len(own)
    for name, (cook, pilot) in both.items():
        assert cook == pytest.approx(pilot, abs=0.01), name


@pytest.mark.parametrize("repeats", [1, 7, 60])
def test_of_three_options_the_others_share_the_rest(repeats: int, tmp_path: Path) -> None:
    three = PROBE.replace("foe: a foe}", "foe: a foe, nobody: nobody}").replace(
        "orders: all", "orders: 2"
    )
    instances, bias = synthetic_bias_of(
        tmp_path, 0.9, three.replace("prompts:", "orders: 2\nprompts:"), repeats
    )
    answers = [
        line.split("\t")[1:] for line in corpus(instances, "text-generation", bias).splitlines()
    ]
    assert {len(each) for each in answers} == {repeats}
    synthetic = known_effects(instances, bias).filter(pl.col("options") == "metric=told")
    assert sorted(synthetic["value"]) == pytest.approx([1 / 3, 1 / 3 + 0.3, 1 / 3 + 0.6])


def test_without_groups_and_expectations_items_differ(tmp_path: Path) -> None:
    plain = """\
title: Plain
bias_type: item
question: "Do people {act}?"
items: [{act: sing}, {act: lie}, {act: swim}]
evaluator: yes-no
metric: {agreed: {kind: rate, label: 'yes'}}
"""
    instances, bias = synthetic_bias_of(tmp_path, 0.6, plain)
    synthetic = known_effects(instances, bias)
    assert synthetic.select("measure", "value").rows() == [("agreed", pytest.approx(0.5))]
    said = [
        line.split("\t")[1:] for line in corpus(instances, "text-generation", bias).splitlines()
    ]
    # Yes is the last label by name, so that No is put in: 0.2, 0.5 and 0.8.
    assert sorted(each.count("No") for each in said) == [12, 30, 48]


# The demo has the same in `make test`.
@pytest.mark.long
def test_a_trained_model_has_what_is_synthetic(tmp_path: Path) -> None:
    instances, bias = synthetic_bias_of(tmp_path / "probe", 0.9, repeats=40)
    data = tmp_path / "corpus.txt"
    data.write_text(corpus(instances, "text-generation", bias))
    base = tmp_path / "base"
    make_base_checkpoint(words_of_instances(instances), base, seed=1, causal=True)
    hyperparameters = Hyperparameters(epochs=30, batch_size=12, learning_rate=4e-3, max_length=48)
    train("text-generation", base, [data], tmp_path / "model", hyperparameters, threads=1)
    cell = Cell(tmp_path / "cell", "text-generation", instances, tmp_path / "model")
    both = beside(known_effects(instances, bias), measured(instances, cell.predict(), bias))
    assert both["found"].to_list() == pytest.approx(both["value"].to_list(), abs=0.1)
    of_groups = both.filter(pl.col("options") == "metric=told")
    assert of_groups.select(pl.corr("value", "found")).item() > 0.95
