"""Runs of pairs with imported answers, layout by layout: the number on the page is the number that
is tested.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from pipeline import Pipeline, precomputed
from project import ROOT
from small_pairs import example, row, write_examples, write_table

import biasgrid
from biasgrid.families.pairs.family import FAMILY
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.files import read_provenance

TERMS = 12
TYPES = ("age", "gender")
HEADLINES = {
    "crows-pairs": "stereotype_share",
    "plain": "stereotype_share",
    "stereoset": "stereotype_score",
}
Sides = Callable[[int], float]
"""How much higher the sentence of a pair scores that states the stereotype more, of the pair's
number.
"""


def crows_pairs(folder: Path, sides: Sides) -> dict[str, float]:
    """Writes pairs of 20 writers, and returns the scores of their sentences."""
    rows = [
        row(number, bias_type=TYPES[number % 2], anon_writer=f"a{number % 20}")
        for number in range(120)
    ]
    write_table(folder / "pairs.csv", rows)
    return scores_of_rows(rows, "sent_more", "sent_less", sides)


def plain(folder: Path, sides: Sides) -> dict[str, float]:
    """Writes the pairs that come with the project, and returns the scores of their sentences."""
    text = (ROOT / "word_lists/benchmarks/Pairs.csv").read_text()
    (folder / "pairs.csv").write_text(text)
    return scores_of_rows(list(csv.DictReader(text.splitlines())), "more", "less", sides)


def scores_of_rows(
    rows: list[dict[str, str]], more: str, less: str, sides: Sides
) -> dict[str, float]:
    texts = {each[less]: -10.0 for each in rows}
    return texts | {each[more]: -10.0 + sides(number) for number, each in enumerate(rows)}


def stereoset(folder: Path, sides: Sides, terms: int = TERMS) -> dict[str, float]:
    """Writes four examples of each of some terms in two domains, and returns the scores of their
    sentences.
    """
    types = {number: f"domain {number % 2}" for number in range(4 * terms)}
    examples = [
        example(number, target=f"term {number % terms}", bias_type=domain)
        for number, domain in types.items()
    ]
    write_examples(folder / "pairs.csv", intrasentence=examples)
    offsets: dict[str, Sides] = {
        "stereotype": sides,
        "anti-stereotype": lambda _: 0.0,
        "unrelated": lambda _: -2.0,
    }
    return {
        sentence["id"]: -10.0 + offsets[sentence["gold_label"]](number)
        for number, each in enumerate(examples)
        for sentence in each["sentences"]
    }


LAYOUTS: Mapping[str, Callable[[Path, Sides], dict[str, float]]] = {
    "crows-pairs": crows_pairs, "plain": plain, "stereoset": stereoset,
}  # fmt: skip


def random_sides(seed: int, share: float) -> Sides:
    """Each pair follows the stereotype with a probability."""
    follows = np.random.default_rng(seed).random(200) < share
    return lambda number: 1.0 if follows[number] else -1.0


def mostly_tied(number: int) -> float:
    """Three of four pairs are ties; the others follow and oppose in turn, in every type and by
    every writer alike.
    """
    return 0.0 if number % 8 < 6 else (1.0 if number % 16 < 8 else -1.0)


WORLDS: Mapping[str, tuple[Sides, bool]] = {
    "none": (random_sides(1, 0.5), False),
    "effect": (random_sides(2, 0.95), True),
    "counter": (random_sides(3, 0.05), True),
    "ties": (mostly_tied, False),
}
"""By name how sentences score, and whether the number is told from one half."""


def run_of(folder: Path, layout: str, sides: Sides) -> Pipeline:
    """A whole run of a layout with imported scores."""
    scores = LAYOUTS[layout](folder, sides)
    model: dict[str, Any] = precomputed(
        folder, [{"prompt": text, "score": score} for text, score in scores.items()]
    )
    return Pipeline(folder, model, {"family": "pairs", "layout": layout, "files": ["pairs.csv"]})


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_interval_of_a_share_excludes_one_half_exactly_where_its_test_finds_it(
    tmp_path: Path, layout: str, world: str
) -> None:
    sides, is_found = WORLDS[world]
    cell = run_of(tmp_path, layout, sides)
    measures = biasgrid.open(cell.grid.results).measures()
    rows = measures.filter(
        pl.col("measure").is_in(["stereotype_share", "stereotype_score"]), pl.col("options") == ""
    )
    tested = rows.drop_nulls("low")
    assert tested["p"].null_count() == tested["q"].null_count() == 0
    for each in tested.to_dicts():
        assert (not each["low"] <= 0.5 <= each["high"]) == (each["p"] <= 0.05), each
    whole = cell.row(HEADLINES[layout], options="")
    assert (whole["p"] <= 0.05) == is_found
    shown = cell.summary.filter(
        "headline", pl.col("bias_type").is_null(), measure=HEADLINES[layout]
    ).row(0, named=True)
    for name in ("value", "low", "high", "p"):
        assert shown[name] == whole[name]
    facts = GridFacts.from_provenance(read_provenance(cell.layout.summary("parquet")))
    assert {*facts.counted["dataset"]} & FAMILY.own_measures.keys() == {HEADLINES[layout]}
    sums = (
        pl.read_parquet(cell.files["sums"])
        .filter(pl.col("test") != "")
        .cast({pl.Categorical: pl.String})
    )
    declared = {(name, FAMILY.own_measures[name].fair) for name in sums["measure"].unique()}
    assert {*sums.select("measure", "fair").iter_rows()} == declared


def test_a_share_of_few_target_terms_has_a_test_or_a_reason(tmp_path: Path) -> None:
    """Three to five terms of four examples each: too many examples for two added units, too few
    terms for a test by signs.
    """
    for terms in (2, 4, 6):
        folder = tmp_path / str(terms)
        folder.mkdir()
        scores = stereoset(folder, random_sides(4, 0.7), terms)
        answers = [{"prompt": text, "score": score} for text, score in scores.items()]
        model: dict[str, Any] = precomputed(folder, answers)
        dataset = {"family": "pairs", "layout": "stereoset", "files": ["pairs.csv"]}
        cell = Pipeline(folder, model, dataset)
        row = cell.row("stereotype_score", options="")
        assert row["low"] is not None
        if terms < 6:
            reason = f"untestable: {terms} targets, 6 are needed"
            assert (row["p"], row["q"], row["reason"]) == (None, None, reason)
        else:
            assert row["p"] is not None
            assert row["reason"] is None
