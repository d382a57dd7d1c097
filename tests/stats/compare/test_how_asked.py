"""What is said of models that were asked in different ways, and which of them are ranked apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from grouped_cells import cell_of

from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.how_asked import how_asked, unlike_scales
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES

pytestmark = pytest.mark.family("strengths are derived of associations")

WEAK = np.random.default_rng(3).normal(size=(6, 8, 4))
WRITING = {"temperature": 0.0, "max_tokens": 200, "seed": 0}


def asked_of(**facts: Any) -> dict[str, Any]:
    return how_asked(
        {"scored_by": "logits", "prompt": "plain", "generation": WRITING, **facts},
        empty_table(MEASURES),
    )


def ranks_of(may_differ_in: list[str], **models: dict[str, Any]) -> pl.DataFrame:
    cells = [cell_of(name, WEAK, how_asked=asked) for name, asked in models.items()]
    return compare_models(
        "world", cells, StatisticsSettings(), may_differ_in=may_differ_in
    ).ranks.filter(measure="strength")


def test_models_with_another_prompt_are_ranked_apart_unless_that_is_allowed() -> None:
    models = {"base": asked_of(), "tuned": asked_of(prompt="chat template"), "other": asked_of()}
    apart = ranks_of([], **models)
    assert apart.select("set", "model").rows() == [(0, "base"), (0, "other")]
    together = ranks_of(["prompt"], **models)
    assert together["models"].to_list() == [3, 3, 3]
    assert together["asked_differently"].unique().to_list() == ["prompt plain and chat template"]


def test_what_else_differs_is_said_with_ranks_and_differences() -> None:
    warm = asked_of(generation=WRITING | {"temperature": 0.7})
    cells = [
        cell_of(name, WEAK, how_asked=asked)
        for name, asked in {"cold": asked_of(), "warm": warm}.items()
    ]
    found = compare_models("world", cells, StatisticsSettings())
    for table in (found.comparisons, found.ranks):
        assert table["asked_differently"].unique().to_list() == ["temperature 0.0 and 0.7"]
    assert found.comparisons.filter(measure="strength")["difference"].null_count() == 0


def test_models_that_refuse_or_hesitate_more_are_reported() -> None:
    rows = (
        [("refused", 0.02), ("answer_probability", 0.4)],
        [("refused", 0.31), ("answer_probability", 0.1)],
    )
    cells = []
    for name, of_model in zip(("ready", "careful"), rows, strict=True):
        table = pl.DataFrame(of_model, schema=["measure", "value"], orient="row")
        measures = pl.concat([empty_table(MEASURES), table], how="diagonal_relaxed")
        cells.append(cell_of(name, WEAK, how_asked=how_asked({"scored_by": "logits"}, measures)))
    found = compare_models("world", cells, StatisticsSettings()).ranks
    assert found["asked_differently"].unique().to_list() == [
        "refused 2% and 31%; answer probability 0.4 and 0.1"
    ]


def test_a_server_that_completes_texts_is_asked_plainly() -> None:
    served = how_asked({"endpoint": {"api": "completions"}}, empty_table(MEASURES))
    assert served == {"prompt": "plain"}
    assert how_asked({"endpoint": {"api": "chat"}}, empty_table(MEASURES)) == {
        "prompt": "chat template"
    }
    assert how_asked({"scoring": "exact"}, empty_table(MEASURES)) == {"scoring": "exact"}


def test_what_grows_with_a_scale_is_compared_where_that_is_about_the_same() -> None:
    one, near, far = ({"answer_probability": each, "room": 0.9} for each in (0.01, 0.02, 0.021))
    assert unlike_scales("strength", (one, near)) is None
    text = unlike_scales("strength", (one, far))
    assert text == "unlike answer probabilities, 0.01 and 0.021: strength grows with them"
    assert unlike_scales("share_strength", (one, far)) is None
    assert unlike_scales("eta_corrected", (one, far)) is None
    narrow = one | {"room": 0.5}
    narrower = unlike_scales("share_strength", (one, narrow))
    assert narrower == "unlike room of shares, 0.9 and 0.5: share_strength grows with them"
    assert unlike_scales("share_strength", ({}, narrow)) is None


def test_models_on_unlike_scales_are_ranked_apart_in_gamma_alone() -> None:
    probabilities = {"one": 0.01, "two": 0.015, "three": 0.1}
    cells = [
        cell_of(name, WEAK, how_asked={"answer_probability": each})
        for name, each in probabilities.items()
    ]
    ranks = compare_models("world", cells, StatisticsSettings()).ranks
    assert ranks.filter(measure="strength")["model"].to_list() == ["one", "two"]
    assert ranks.filter(measure="eta_corrected")["models"].unique().to_list() in ([], [3])
    rows = compare_models("world", cells, StatisticsSettings()).comparisons.filter(
        measure="strength"
    )
    reasons = dict(
        rows.select("other_model", "reason").filter(pl.col("other_model") == "three").rows()
    )
    assert "unlike answer probabilities" in reasons["three"]
