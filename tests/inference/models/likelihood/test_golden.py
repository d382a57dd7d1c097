"""What the original code of CrowS-Pairs, AUL, bias-bench and StereoSet gives the same sentences and models."""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from golden_pairs import (
    CHECKPOINTS,
    PAIRS,
    crows_pairs,
    golden_results,
    needs_golden_pairs,
    stereo_first,
    stereoset,
    stereoset_predictions,
    stereotype_pairs,
)
from sentences import Texts, instances_of, pairs_of, scored, scores_of
from shards import Cell

from biasgrid.inference.scorings import CAUSAL, MASKED

pytestmark = [pytest.mark.slow, needs_golden_pairs()]

ROUNDING = 5e-6
"""Of numbers about -12 in float32, in batches, where the original reads one sentence at a time."""


@pytest.fixture
def scores(tmp_path: Path) -> Callable[..., Any]:
    """Gives the scores of pairs, shape (pairs, 2)."""

    def make(model: str, pairs: Sequence[tuple[str, str]], scoring: str) -> Any:
        task = CAUSAL if model == "gpt2" else MASKED
        return scores_of(scored(Cell(tmp_path / "cell", task, pairs_of(pairs, scoring), CHECKPOINTS[model]), scoring))

    return make


Scores = Callable[[str, Sequence[tuple[str, str]], str], Any]


@pytest.mark.parametrize("model", ["bert", "roberta"])
def test_cps_is_what_metric_py_gives(scores: Scores, model: str) -> None:
    with (PAIRS / "expected" / f"crows_pairs_metric_{model}.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    ours = scores(model, [stereo_first(pair) for pair in crows_pairs()], "cps")
    theirs = [[float(row["sent_more_score"]), float(row["sent_less_score"])] for row in rows]
    ordered = [
        row[::-1] if pair["stereo_antistereo"] == "antistereo" else row for pair, row in zip(rows, theirs, strict=True)
    ]
    gaps = np.abs(ours - np.array(ordered))
    # One rounding to three decimals may fall to the other side.
    assert gaps.max() < 0.0011
    assert (gaps > 1e-6).sum() <= 1


@pytest.mark.parametrize("method", ["aul", "aula", "cps", "sss"])
@pytest.mark.parametrize("data", ["cp", "ss"])
@pytest.mark.parametrize("model", ["bert", "roberta"])
def test_scores_are_those_of_evaluate_py(scores: Scores, model: str, data: str, method: str) -> None:
    # It compares the more stereotypical sentence with the other one, whatever the pair's direction is.
    pairs = [(each["sent_more"], each["sent_less"]) for each in crows_pairs()] if data == "cp" else stereotype_pairs()
    theirs = np.array(golden_results()[f"aul evaluate.py {model} {data} {method}"]["scores_stereo_anti"], dtype=float)
    ours = scores(model, pairs, "sss-table" if method == "sss" else method)
    assert (np.isnan(ours) == np.isnan(theirs)).all()
    limit = {"aula": 3e-7, "cps": 0.0011}.get(method, ROUNDING)
    assert np.nanmax(np.abs(ours - theirs)) < limit
    if method == "cps":
        assert (np.abs(ours - theirs) > 1e-6).sum() <= 1


@pytest.mark.parametrize("model", ["bert", "roberta"])
def test_the_formula_of_sss_is_not_what_its_code_computes(scores: Scores, model: str) -> None:
    pairs = [(each["sent_more"], each["sent_less"]) for each in crows_pairs()]
    gaps = np.abs(scores(model, pairs, "sss") - scores(model, pairs, "sss-table"))
    assert 1 < np.nanmax(gaps) < 1.7


def rows_of_bias_bench(model: str) -> dict[tuple[str, str], tuple[float, float]]:
    rows = golden_results()[f"bias-bench crows.py {model}"]["rows more less more_score less_score pair_score"]
    return {(more, less): (one, two) for more, less, one, two, _ in rows}


@pytest.mark.parametrize("model", ["bert", "roberta"])
def test_span_means_are_those_of_bias_bench(scores: Scores, model: str) -> None:
    theirs, ours = rows_of_bias_bench(model), scores(model, [stereo_first(pair) for pair in crows_pairs()], "span-mean")
    compared = 0
    for pair, both in zip(crows_pairs(), ours, strict=True):
        key = pair["sent_more"], pair["sent_less"]
        if key in theirs:
            one, two = both if pair["stereo_antistereo"] == "stereo" else both[::-1]
            assert (one, two) == pytest.approx(theirs[key], abs=1e-9)
            compared += 1
        else:
            # It skips pairs with nothing that differs on a side, whose score is null here.
            assert np.isnan(both).any()
    assert compared == len(theirs) > 10


def test_exponentials_of_means_are_those_of_bias_bench(scores: Scores) -> None:
    theirs = rows_of_bias_bench("gpt2")
    ours = np.exp(scores("gpt2", [(each["sent_more"], each["sent_less"]) for each in crows_pairs()], "mean"))
    expected = [theirs[pair["sent_more"], pair["sent_less"]] for pair in crows_pairs()]
    assert ours == pytest.approx(np.array(expected), rel=2e-6)


def examples() -> tuple[list[Texts], list[str]]:
    """Sentences of StereoSet with their contexts, and their ids."""
    found = [(example["context"], each) for example in stereoset("intrasentence") for each in example["sentences"]]
    return [(each["sentence"], context, None) for context, each in found], [each["id"] for _, each in found]


@pytest.mark.parametrize(("origin", "scoring"), [("original", "stereoset"), ("biasbench", "stereoset-biasbench")])
@pytest.mark.parametrize("model", ["bert", "roberta"])
def test_words_at_blank_have_the_scores_of_stereoset(tmp_path: Path, model: str, origin: str, scoring: str) -> None:
    texts, ids = examples()
    said = scored(Cell(tmp_path / "cell", MASKED, instances_of(texts), CHECKPOINTS[model]), scoring)
    theirs = stereoset_predictions(f"{origin}_{model}")
    assert said["score"].to_list() == pytest.approx([theirs[each] for each in ids], rel=5e-6)


@pytest.mark.parametrize("origin", ["original", "biasbench"])
def test_sentences_have_the_causal_scores_of_stereoset(tmp_path: Path, origin: str) -> None:
    texts, ids = examples()
    instances = instances_of((text, None, None) for text, *_ in texts)
    said = scored(Cell(tmp_path / "cell", CAUSAL, instances, CHECKPOINTS["gpt2"]), "mean")
    theirs = stereoset_predictions(f"{origin}_gpt2")
    assert np.exp(said["score"].to_numpy()) == pytest.approx(np.array([theirs[each] for each in ids]), rel=2e-6)
