"""Sentences scored by causal language models, against the plain way: one token behind those before
it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sentences import PAIRS, PlainCausal, instances_of, pairs_of, scored, scores_of
from shards import Cell
from tiny_writers import add_nothing, save_writer

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.scorings import CAUSAL, scoring_names
from biasgrid.tables.files import read_provenance

pytestmark = pytest.mark.slow


@pytest.fixture
def cell(tmp_path: Path) -> Callable[..., Cell]:
    """Gives a cell of a tiny causal language model that scores some sentences."""

    def make(instances: pl.DataFrame, architecture: str = "llama") -> Cell:
        folder = tmp_path / architecture
        checkpoint = folder if folder.exists() else save_writer(folder, architecture, None)
        return Cell(tmp_path / "cell", CAUSAL, instances, checkpoint)

    return make


Cells = Callable[..., Cell]


@pytest.mark.parametrize("scoring", scoring_names(CAUSAL))
@pytest.mark.parametrize("architecture", ["llama", "gpt2", "gemma3_text", "mamba"])
def test_scores_match_one_token_at_a_time(cell: Cells, architecture: str, scoring: str) -> None:
    pairs = [(two, one if scoring == "context-mean" else None, None) for one, two in PAIRS]
    ours = cell(instances_of(pairs), architecture)
    said, plain = scored(ours, scoring), PlainCausal(ours.checkpoint)
    expected = [plain.score(scoring, text, pair) for text, pair, _ in pairs]
    assert said["score"].to_list() == pytest.approx(expected, rel=1e-5, abs=1e-5)
    assert said["tokens_scored"].to_list() == said["tokens"].to_list()
    assert set(said["scoring"]) == {scoring}
    facts = read_provenance(ours.out)
    assert facts["scoring"] == scoring
    assert "generation" not in facts


@pytest.mark.parametrize("adds", [True, False])
def test_a_sum_is_read_a_second_time_behind_what_the_tokenizer_adds(
    cell: Cells, tmp_path: Path, adds: bool
) -> None:
    checkpoint = save_writer(tmp_path / "llama", "llama", None)
    if not adds:
        add_nothing(checkpoint)
    ours = cell(pairs_of([*PAIRS, ("A", "")], "sum"))
    said, plain = scored(ours, "sum"), PlainCausal(checkpoint)
    texts = ours.instances["text"].cast(pl.String).to_list()
    expected = [plain.score_without_start(text) if text else None for text in texts]
    second = said["score_without_start"].to_list()
    assert [score is None for score in second] == [score is None for score in expected]
    known = [score for score in expected if score is not None]
    assert [score for score in second if score is not None] == pytest.approx(
        known, rel=1e-5, abs=1e-5
    )
    assert ours.audit["largest_drift"] < 1e-5
    if adds:
        assert second[:-1] == pytest.approx(said["score"].to_list()[:-1], rel=1e-6)


def test_other_formulas_have_no_second_score(cell: Cells) -> None:
    assert scored(cell(pairs_of(PAIRS, "mean")), "mean")[
        "score_without_start"
    ].null_count() == 2 * len(PAIRS)


def test_the_start_is_before_each_token_of_a_sum_and_before_the_first_of_a_mean(
    cell: Cells,
) -> None:
    ours = cell(pairs_of(PAIRS, "sum"))
    total, mean = (scored(ours, scoring) for scoring in ("sum", "mean"))
    one_token = total["tokens"] == 1
    gap = (total["score"] / total["tokens"] - mean["score"]).abs()
    assert gap.filter(~one_token).max() > 1e-3  # type: ignore[operator]


@pytest.mark.parametrize("scoring", ["sum", "mean"])
def test_neither_batches_nor_order_change_a_score(cell: Cells, scoring: str) -> None:
    instances = pairs_of(PAIRS, scoring)
    whole = scored(cell(instances), scoring)
    back = instances.reverse().with_columns(instance=pl.int_range(len(instances), dtype=pl.UInt32))
    for other in (
        scored(cell(instances), scoring, token_budget=1),
        scored(cell(back), scoring).reverse(),
    ):
        assert np.abs(scores_of(whole) - scores_of(other)).max() < 1e-5


@pytest.mark.parametrize("scoring", scoring_names(CAUSAL))
def test_long_sentences_lose_their_ends_and_say_so(cell: Cells, scoring: str) -> None:
    long, pair = "A cook lies. " * 200, "The old man lies." if scoring == "context-mean" else None
    said = scored(cell(instances_of([(long, pair, None), ("A cook lies.", pair, None)])), scoring)
    assert said["truncated"].to_list() == [True, False]
    first, second = said["tokens_scored"].to_list()
    # As many as the model has positions: the last token that is read need not be seen.
    assert 240 < first <= 257
    assert second == said["tokens"].to_list()[1]


def test_a_context_that_leaves_no_room_scores_nothing(cell: Cells) -> None:
    said = scored(
        cell(instances_of([("A cook lies.", "A cook lies. " * 200, None)])), "context-mean"
    )
    assert said["truncated"].to_list() == [True]
    assert said["score"].to_list() == [None]


def test_an_empty_sentence_has_no_score(cell: Cells) -> None:
    said = scored(cell(instances_of([("", None, None), ("A cook lies.", None, None)])), "mean")
    assert said["score"].is_null().to_list() == [True, False]


@pytest.mark.parametrize(
    ("rows", "scoring", "message"),
    [
        (
            [("Ann lied.", None, None)],
            "context-mean",
            "instance 0 has no text_pair; expected the context",
        ),
        (
            [("Ann lied.", None, None)],
            "cps",
            "no scoring 'cps' for text-generation; expected one of context-mean, mean, sum",
        ),
        ([("Ann lied.", None, None)], "echo-sum", "no scoring 'echo-sum' for text-generation"),
    ],
)
def test_what_a_formula_cannot_score_is_refused(
    cell: Cells, rows: list[tuple[str, str | None, int | None]], scoring: str, message: str
) -> None:
    with pytest.raises(ModelError) as refused:
        scored(cell(instances_of(rows)), scoring)
    assert message in str(refused.value)


def test_how_a_model_writes_changes_no_score(cell: Cells) -> None:
    ours = cell(pairs_of(PAIRS, "sum"))
    first = scored(ours, "sum")
    parts = sorted(ours.answers.glob("*/*.parquet"))
    again = ours.predict(
        answer="likelihood", scoring="sum", generation={"max_tokens": 3}, chat_template=False
    )
    assert again.equals(first)
    assert sorted(ours.answers.glob("*/*.parquet")) == parts
