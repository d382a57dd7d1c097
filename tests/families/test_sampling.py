"""Samples of datasets: whole units, the same for one seed, and nested."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from project import ROOT
from small_tables import whole

from biasgrid.config import Config, load_word_lists, parse_config, read_config
from biasgrid.families.chosen import chosen_units
from biasgrid.families.sampling import Sample
from biasgrid.references import load, stage

UNITS = {"religion": "swap_group", "sentiment": "case"}


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 200), st.integers(1, 220), st.integers(0, 5))
def test_a_larger_sample_holds_the_smaller_one(count: int, units: int, seed: int) -> None:
    smaller, larger = (chosen_units(count, Sample(units=size, seed=seed)) for size in (units, units + 7))
    assert smaller.sum() == min(units, count)
    assert larger.sum() == min(units + 7, count)
    assert not (smaller & ~larger).any()


def test_seeds_choose_other_units_all_alike() -> None:
    chosen = np.array([chosen_units(50, Sample(units=10, seed=seed)) for seed in range(300)])
    assert len({row.tobytes() for row in chosen}) == 300
    # Each unit is drawn with probability 1/5: 60 times, with a standard deviation of 7.
    assert chosen.sum(axis=0).min() > 35
    assert chosen.sum(axis=0).max() < 85


def demo(dataset: str, sample: dict[str, int] | None) -> Config:
    content = read_config(ROOT / "config/demo.yaml")
    content["word_lists"] = str(ROOT / "word_lists")
    if sample is not None:
        content["datasets"][dataset]["sample"] = sample
    return parse_config(content, "demo.yaml")


def expanded(config: Config, dataset: str) -> pl.DataFrame:
    key = next(key for key in config.needed_variants if key[0] == dataset)
    family = config.reference_of_family(dataset)
    lists = load_word_lists(config)[key]
    instances = whole(load(stage(family, "expand")).expand(lists))
    assert load(stage(family, "reading")).asked(lists).instances == len(instances)
    return instances


@pytest.mark.parametrize(("dataset", "unit"), UNITS.items())
def test_units_are_asked_whole_and_as_without_a_sample(dataset: str, unit: str) -> None:
    every = expanded(demo(dataset, None), dataset)
    some = expanded(demo(dataset, {"units": 9, "seed": 4}), dataset)
    assert some[unit].n_unique() == 9
    assert some["instance"].to_list() == list(range(len(some)))
    same = every.filter(pl.col("key").is_in(some["key"].implode()))
    left_out = ["instance", "swapped_case"] if unit == "case" else ["instance"]
    assert some.drop(left_out).equals(same.drop(left_out))
    assert len(every.filter(pl.col(unit).is_in(some[unit].implode()))) == len(some)


@pytest.mark.parametrize("dataset", UNITS)
def test_a_sample_decides_the_digest_of_the_lists(dataset: str) -> None:
    found = [
        load_word_lists(demo(dataset, sample)) for sample in (None, {"units": 9}, {"units": 9, "seed": 2}, {"units": 8})
    ]
    digests = [next(lists.digest() for (name, _), lists in each.items() if name == dataset) for each in found]
    assert len(set(digests)) == 4
    files = next(iter(load_word_lists(demo(dataset, {"units": 9})).values()))
    assert replace(files, sample=None).digest()  # type: ignore[type-var]
