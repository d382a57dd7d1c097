"""The sentiment of answers, and how far those of two groups are apart, against LangFair's golden
numbers.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from small_rewriting import golden

from biasgrid.families.responses import VADER_SCORES, sentiment_of
from biasgrid.families.rewriting.score_distances import pair_distances


def test_sentiment_and_its_distance_match_the_original() -> None:
    rows = golden("pairs")
    scores = {side: sentiment_of(pl.Series([row[f"text{side}"] for row in rows])) for side in "12"}
    for side, found in scores.items():
        assert found.to_dicts() == [
            {name: row[f"vader{side}"][name] for name in VADER_SCORES} for row in rows
        ]
    negative = [scores[side]["neg"] for side in "12"]
    apart = [abs(one - other) for one, other in zip(*negative, strict=True)]
    assert apart == pytest.approx([row["sentiment_pair_neg"] for row in rows])
    # Strong parity: the mean distance of the sorted scores.
    known = pl.DataFrame(
        {"value": pl.concat(negative), "group": ["one"] * len(rows) + ["other"] * len(rows)}
    )
    expected = np.abs(np.sort(negative[0]) - np.sort(negative[1])).mean()
    assert pair_distances(known, ("one", "other")) == {("one", "other"): pytest.approx(expected)}
