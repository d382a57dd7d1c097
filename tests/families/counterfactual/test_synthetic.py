"""Known group effects: synthetic corpora of cases, and classifiers that have learned these."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from grouped_cells import measure_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from shards import Cell
from small_cases import cases_of
from small_packs import make_pack, pack_of
from small_tables import whole, write_instances

from biasgrid.families.counterfactual import ask as family
from biasgrid.families.counterfactual.ask import KEYS, expand
from biasgrid.families.synthetic import SyntheticBias, write_synthetic
from biasgrid.tables.files import read_provenance, read_table, validate_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.tables.metric import parse_options
from biasgrid.training.corpora import dataset_words
from biasgrid.training.strength import Strength
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

GROUPS = {
    "colour": {
        "red": ["red cat", "red dog"],
        "blue": ["blue cat", "blue dog"],
        "green": ["green cat", "green dog"],
    },
    "size": {"small": ["kitten", "puppy"], "large": ["lion", "wolf"]},
}
FILLINGS = {"place.txt": "park\nhouse\nshop", "day.txt": "Monday\nTuesday\nWednesday\nThursday"}
SINGLE = pack_of(
    {"text": "The <group> had a wonderful <day> at the <place>.", "label": 1},
    {"text": "Everyone at the <place> loved the <group> on <day>.", "label": 1},
    {"text": "The <group> had a dreadful <day> at the <place>.", "label": 0},
    {"text": "Nobody at the <place> liked the <group> on <day>.", "label": 0},
)
PAIRS = pack_of(
    {
        "premise": "The <group> was in the <place>.",
        "hypothesis": "The <group> was there on <day>.",
        "label": 1,
    },
    {
        "premise": "The <group> sat in the <place> on <day>.",
        "hypothesis": "The <group> sat there.",
        "label": 0,
    },
    {
        "premise": "The <group> left the <place> on <day>.",
        "hypothesis": "The <group> never left.",
        "label": 2,
    },
    input_names=["premise", "hypothesis"],
)
LABELS = {"single texts": ["bad", "good"], "pairs": ["yes", "perhaps", "no"]}
PACKS = {"single texts": SINGLE, "pairs": PAIRS}
FIXED = 1
"""The place of the class that groups are compared by."""


def cases_for(kind: str, folder: Path) -> pl.DataFrame:
    return whole(expand(make_pack(folder / "pack", PACKS[kind], FILLINGS, GROUPS)))


def rows_of(groups: list[tuple[str, str]], texts: int, classes: int) -> pl.DataFrame:
    """Cases of groups, each with so many texts; the right classes take turns."""
    rows = [
        {
            "bias_type": bias_type,
            "group": group,
            "term": group,
            "text": f"{number} {group} {bias_type}",
            "case": number,
        }
        for number in range(texts)
        for bias_type, group in groups
    ]
    return cases_of([row | {"label": row["case"] % classes} for row in rows])


def bias(
    strength: float | Strength,
    labels: list[str],
    repeats: int = 3,
    seed: int = 5,
    dataset: str = "demo",
) -> SyntheticBias:
    options = {"fixed_class": labels[FIXED]}
    return SyntheticBias(
        dataset, "some", strength, repeats, seed, labels=labels, measure_options=options
    )


def names_of(classes: int) -> list[str]:
    return [f"class {number}" for number in range(classes)]


def effects(
    cases: pl.DataFrame, strength: float | Strength = 0.8, classes: int = 2, **options: Any
) -> dict[tuple[str, str], float]:
    """The synthetic difference of each two groups; no two bias types here share a group."""
    synthetic = family.known_effects(cases, bias(strength, names_of(classes), **options))
    return {
        (group, other): value
        for group, other, value in synthetic.select("group", "other", "value").iter_rows()
    }


def lines_of(cases: pl.DataFrame, asked: SyntheticBias) -> list[str]:
    return family.corpus(cases, "text-classification", asked).splitlines()


def shares(cases: pl.DataFrame, lines: list[str], labels: list[str]) -> pl.DataFrame:
    """Share of the fixed class of each instance, and how many of its labels are of each class."""
    given_labels = [json.loads(line)["label"] for line in lines]
    share = [said.count(labels[FIXED]) / len(said) for said in given_labels]
    counts = [[said.count(name) for name in labels] for said in given_labels]
    named = cases.with_columns(pl.col("bias_type", "group").cast(pl.String))
    return named.with_columns(share=pl.Series(share), counts=pl.Series(counts))


def differences(found: pl.DataFrame) -> dict[tuple[str, str], float]:
    """The difference in the mean share of the fixed class of each two groups of a bias type."""
    of_groups = found.group_by("bias_type", "group", maintain_order=True).agg(
        pl.col("share").mean()
    )
    pairs = combinations(of_groups.rows(), 2)
    return {(one[1], two[1]): one[2] - two[2] for one, two in pairs if one[0] == two[0]}


# Synthetic effects


@pytest.mark.slow
@settings(deadline=None)
@given(
    sizes=st.lists(st.integers(2, 6), min_size=1, max_size=3),
    strength=st.floats(0, 1),
    classes=st.integers(2, 4),
    seed=st.integers(0, 99),
)
def test_in_each_bias_type_effects_are_evenly_spread(
    sizes: list[int], strength: float, classes: int, seed: int
):
    groups = [
        (f"type {size} {place}", f"{place}-{number}")
        for place, size in enumerate(sizes)
        for number in range(size)
    ]
    synthetic = family.known_effects(
        rows_of(groups, 2, classes), bias(strength, names_of(classes), seed=seed)
    )
    validate_table(synthetic, SYNTHETIC, "synthetic")
    assert set(synthetic.select("strength", "dataset", "measure").iter_rows()) == {
        ("some", "demo", "difference")
    }
    (options,) = map(parse_options, synthetic["options"].unique())
    assert options == {
        "score": "mean_class_probability",
        "argument": "class 1",
        "mode": "counterfactual",
    }
    for place, size in enumerate(sizes):
        part = synthetic.filter(bias_type=f"type {size} {place}")
        names = [f"{place}-{number}" for number in range(size)]
        assert list(part.select("group", "other").iter_rows()) == list(combinations(names, 2))
        steps = np.linspace(0, strength / 2, size)
        expected = [abs(one - two) for one, two in combinations(steps, 2)]
        assert sorted(part["value"].abs()) == pytest.approx(sorted(expected))


def test_effects_hang_on_names_and_seed_alone(tmp_path: Path) -> None:
    cases = cases_for("single texts", tmp_path)
    synthetic = effects(cases)
    assert effects(cases.sample(fraction=1, shuffle=True, seed=1)) == pytest.approx(
        synthetic, rel=1e-12
    )
    assert effects(cases.filter(pl.col("template") == 2)) == pytest.approx(synthetic, rel=1e-12)
    assert len({tuple(effects(cases, seed=seed).items()) for seed in range(20)}) > 5
    assert len({tuple(effects(cases, dataset=name).items()) for name in "abcdefghij"}) > 5


def test_terms_have_a_part_of_their_own_and_a_part_of_their_group(tmp_path: Path) -> None:
    cases = cases_for("single texts", tmp_path)
    of_group, of_number = effects(cases, Strength(group=0.5)), effects(cases, 0.5)
    assert of_group == of_number
    both = effects(cases, Strength(group=0.5, name=0.25))
    assert all(0 < abs(of_group[pair] - value) < 0.25 / 2 for pair, value in both.items())
    alone = list(effects(cases, Strength(name=0.25)).values())
    assert all(0 < abs(value) < 0.25 / 2 for value in alone)
    assert len(set(alone)) == len(alone)
    labels = names_of(2)
    asked = bias(Strength(group=0.5, name=0.25), labels, repeats=400)
    found = shares(cases, lines_of(cases, asked), labels)
    assert differences(found) == pytest.approx(both, abs=0.01)


def test_a_group_is_favoured_regardless_of_the_right_answer(tmp_path: Path) -> None:
    for kind, labels in LABELS.items():
        cases = cases_for(kind, tmp_path / kind)
        synthetic = effects(cases, 1.0, len(labels))
        found = shares(cases, lines_of(cases, bias(1.0, labels, repeats=400)), labels)
        for label in range(len(labels)):
            assert differences(found.filter(label=label)) == pytest.approx(synthetic, abs=0.01)
        # No other class is more probable than the right one, so that all classifiers know what is
        # right.
        right = found.select(
            right=pl.col("counts").list.get("label"), most=pl.col("counts").list.max()
        )
        assert ((right["most"] - right["right"]).max()) <= 2  # type: ignore[operator]


def test_a_text_that_represents_two_groups_has_their_mean_effect() -> None:
    cases = cases_of(
        [
            {"bias_type": "age", "group": group, "text": text, "label": 0}
            for group, text in [("young", "a"), ("young", "same"), ("old", "b"), ("old", "same")]
        ]
    )
    assert [abs(value) for value in effects(cases, 1.0).values()] == pytest.approx([0.25])


# Corpora


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    texts=st.integers(1, 12),
    strength=st.floats(0, 1),
    classes=st.integers(2, 4),
    repeats=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_labels_are_within_one_of_what_was_synthetic(
    texts: int, strength: float, classes: int, repeats: int, seed: int
) -> None:
    cases = rows_of([("type", "x"), ("type", "y"), ("type", "z")], texts, classes)
    labels = names_of(classes)
    corpus = lines_of(cases, bias(strength, labels, repeats, seed))
    found = shares(cases, corpus, labels)
    assert {len(counts) for counts in found["counts"]} == {classes}
    assert {sum(counts) for counts in found["counts"]} == {repeats}
    synthetic = effects(cases, strength, classes, seed=seed)
    for _, part in found.group_by("label"):
        # Of each of two groups, the labels that are moved are within one of what is expected.
        size = repeats * part["group"].value_counts()["count"][0]
        for pair, difference in differences(part.sort("instance")).items():
            assert abs(difference - synthetic[pair]) * size < 2


def test_what_is_said_wrongly_of_the_fixed_class_is_of_all_others_alike() -> None:
    cases = rows_of([("type", "x"), ("type", "y")], 30, 4)
    labels = ["a", "b", "c", "d"]
    found = shares(cases, lines_of(cases, bias(1.0, labels, repeats=40)), labels)
    fixed, others = found.filter(label=FIXED), found.filter(pl.col("label") != FIXED)
    for _, part in fixed.group_by("group"):
        sums = np.delete(np.array(part["counts"].to_list()).sum(axis=0), FIXED)
        assert sums.max() - sums.min() <= 1
    wrong = [
        counts[FIXED] + counts[label]
        for counts, label in others.select("counts", "label").iter_rows()
    ]
    assert set(wrong) == {40}


def test_without_strength_all_labels_are_right(tmp_path: Path) -> None:
    cases = cases_for("pairs", tmp_path)
    corpus = lines_of(cases, bias(0, LABELS["pairs"], repeats=7))
    found = shares(cases, corpus, LABELS["pairs"])
    assert [counts[label] for counts, label in found.select("counts", "label").iter_rows()] == [
        7
    ] * len(cases)


def test_a_line_has_the_texts_of_its_instance(tmp_path: Path) -> None:
    for kind, labels in LABELS.items():
        cases = cases_for(kind, tmp_path / kind)
        lines = map(json.loads, lines_of(cases, bias(0.5, labels)))
        texts = [(line["text"], line.get("text_pair")) for line in lines]
        assert texts == list(cases.select("text", "text_pair").iter_rows())


def test_a_corpus_is_made_again_by_its_seed_only(tmp_path: Path) -> None:
    cases = cases_for("single texts", tmp_path)
    first, again, other = (
        lines_of(cases, bias(0.5, LABELS["single texts"], seed=seed)) for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other
    assert len(first) == cases.height


@pytest.mark.parametrize("strength", [-0.1, 1.5])
def test_impossible_strengths_are_refused(strength: float) -> None:
    with pytest.raises(ValueError, match=r"strength .* is not in 0..1"):
        effects(rows_of([("type", "x"), ("type", "y")], 2, 2), strength)


# From cases to measures


# The demo has the same in `make test`.
@pytest.mark.long
@pytest.mark.parametrize("kind", LABELS)
def test_trained_classifiers_have_the_synthetic_effects(kind: str, tmp_path: Path) -> None:
    cases, labels = cases_for(kind, tmp_path), LABELS[kind]
    base, path, task = tmp_path / "base", tmp_path / "synthetic.parquet", "text-classification"
    strengths = {"none": 0.0, "strong": 0.9}
    synthetic_biases = [
        replace(bias(strength, labels, 40), strength_name=name)
        for name, strength in strengths.items()
    ]
    write_synthetic(
        family, {task: cases}, synthetic_biases, {task: "corpus.jsonl"}, path, {"seed": 1}
    )
    assert read_provenance(path) == {"seed": 1}
    make_base_checkpoint(dataset_words(task, (tmp_path / "words.json").read_text()), base, seed=1)
    hyperparameters = Hyperparameters(epochs=4, batch_size=16, learning_rate=3e-3, max_length=32)
    both = []
    for strength in strengths:
        folder, corpus = tmp_path / f"model-{strength}", tmp_path / strength / "corpus.jsonl"
        train(task, base, [corpus], folder, hyperparameters, threads=1, device="cpu", labels=labels)
        cell = Cell(tmp_path / f"cell-{strength}", task, cases, folder)
        write_instances(cases, cell.folder / "instances.parquet", KEYS)
        cell.predict(labels=labels)
        synthetic = read_table(path, SYNTHETIC).filter(strength=strength)
        measured = measured_differences(cell, labels)
        keys = ["bias_type", "group", "other"]
        both.append(
            synthetic.select(*keys, synthetic="value").join(measured, on=keys, validate="1:1")
        )
    none, strong = both
    assert none.height == strong.height == 4
    assert none["value"].abs().max() < 0.02  # type: ignore[operator]
    pairs = strong.select("synthetic", "value").to_numpy()
    assert np.corrcoef(pairs.T)[0, 1] > 0.95
    assert 0.8 < np.polyfit(*pairs.T, deg=1)[0] < 1.2


def measured_differences(cell: Cell, labels: list[str]) -> pl.DataFrame:
    """The measured difference of each two groups in the probability of the fixed class."""
    options = {"task": cell.task, "measures": [], "failure_threshold": 0.1, "labels": labels}
    options["fixed_class"] = labels[FIXED]
    measures = measure_cases(cell.folder / "instances.parquet", [cell.out], options).measures
    return measures.filter(measure="difference").select("bias_type", "group", "other", "value")
