"""UnQover's scoring of subjects, against its rules applied with transformers alone."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import polars as pl
import pytest
from plain_unqover import PlainUnqover
from shards import Cell

Cells = Callable[[str, str], Cell]
SUPPORTED = ["bert", "distilbert", "roberta"]


def rows_of(cell: Cell) -> list[dict[str, object]]:
    """The instances of a cell, with texts for codes."""
    return cell.instances.with_columns(pl.selectors.categorical().cast(pl.String)).to_dicts()


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_spans_match_unqovers_rules(cell: Cells, architecture: str) -> None:
    ours = cell(architecture, "question-answering")
    plain = PlainUnqover(ours.checkpoint, "question-answering")
    expected = [plain.span_row(row) for row in rows_of(ours)]
    said = ours.predict(scoring="unqover")
    for name in ("starts", "ends"):
        numbers = said[name].explode().to_list()
        assert numbers == pytest.approx(
            [*chain.from_iterable(row[name] for row in expected)], rel=1e-4
        )
    assert said["answer"].cast(pl.String).to_list() == [row["answer"] for row in expected]
    exact = ours.predict_anew(scoring="exact")
    # A noun behind a subject, or a determiner before it, is likelier here and there.
    assert (said["starts"].explode() > 1.01 * exact["starts"].explode()).any()
    assert (said["ends"].explode() > 1.01 * exact["ends"].explode()).any()


@pytest.mark.parametrize("architecture", SUPPORTED)
def test_masked_words_match_unqovers_rules(cell: Cells, architecture: str) -> None:
    ours = cell(architecture, "fill-mask")
    plain = PlainUnqover(ours.checkpoint, "fill-mask")
    # The first candidate is one of the ten words that count; the second, a name, is rarely among
    # them.
    likely = [next(word for word in plain.kept(row) if word.isalpha()) for row in rows_of(ours)]
    words = pl.Series("candidate1", likely, dtype=pl.Categorical)
    ours = ours.with_instances(ours.instances.with_columns(words))
    expected = [*chain.from_iterable(plain.mask_row(row) for row in rows_of(ours))]
    said = ours.predict(scoring="unqover")["probabilities"].explode().to_list()
    assert said == pytest.approx(expected, rel=1e-4)
    assert all(said[::2])
    assert not all(said[1::2])
