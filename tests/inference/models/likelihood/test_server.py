"""Sentences scored by a server that reads them back with the log-probability of each token."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, serving, share
from servers import ServerCell

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.likelihood.server import EchoedScore, echoed_score
from biasgrid.inference.models.servers.requests import Answer
from biasgrid.tables.files import read_provenance

ROWS = [
    {"system": None, "text": f"{who} sat by the {what}."}
    for who in ("Ann", "Carl")
    for what in ("cook", "sea")
]
ECHOES = {"scored_by": "echo", "tried": {}}


@pytest.fixture
def serve() -> Iterator[Callable[..., ModelServer]]:
    """Gives servers, for as long as a test runs."""
    with ExitStack() as held:
        yield lambda **does: held.enter_context(serving(**does))


def cell(folder: Path, server: ModelServer, **keys: Any) -> ServerCell:
    return ServerCell.of(
        folder / "cells/pairs/hosted", server.url, ROWS, **({"api": "completions"} | keys)
    )


def test_scores_are_sums_and_means_over_what_is_read_back(
    tmp_path: Path, serve: Callable[..., ModelServer]
) -> None:
    server = serve()
    ours = cell(tmp_path, server, capabilities=ECHOES)
    total = ours.ask(answer="likelihood", scoring="echo-sum")
    tokens = ["Ann", " sat", " by", " the", " cook", "."]
    expected = sum(math.log(share(tokens[: place + 1]) / 16) for place in range(1, len(tokens)))
    assert total["score"].to_list()[0] == pytest.approx(expected, rel=1e-6)
    assert total["tokens_scored"].to_list() == [5] * 4
    assert total["tokens"].to_list() == [6] * 4
    assert total["unknown_tokens"].null_count() == 4
    assert not total["truncated"].any()
    assert all(body["echo"] and body["max_tokens"] == 1 for body in server.bodies)
    assert read_provenance(ours.out)["scoring"] == "echo-sum"
    asked = len(server.bodies)
    mean = ours.ask(answer="likelihood", scoring="echo-mean")
    assert mean["score"].to_list() == pytest.approx((total["score"] / 5).to_list())
    # What was paid for is there.
    assert len(server.bodies) == asked


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        # The server puts a token before the sentence, which it shows, or shows as nothing.
        ([("<s>", 0.0), ("Ann", -1.0), (" lied", -2.0), (".", -4.0)], EchoedScore(-7.0, 3, 3)),
        ([("", 0.0), ("Ann", -1.0), (" lied", -2.0), (".", -4.0)], EchoedScore(-7.0, 3, 3)),
        # It writes the token for the end behind the sentence, which it shows as nothing.
        (
            [("", 0.0), ("Ann", -1.0), (" lied", -2.0), (".", -4.0), ("", -9.0)],
            EchoedScore(-7.0, 3, 3),
        ),
        # It puts none, or writes a space before the first word.
        ([("Ann", 0.0), (" lied", -2.0), (".", -4.0), (" and", -9.0)], EchoedScore(-6.0, 2, 3)),
        ([(" Ann", 0.0), (" lied", -2.0), (".", -4.0)], EchoedScore(-6.0, 2, 3)),
        ([("Yes", -1.0)], EchoedScore(0.0, 0, 0)),
        (None, EchoedScore(0.0, 0, 0)),
    ],
)
def test_the_first_token_counts_where_a_server_puts_one_before_it(
    tokens: list[tuple[str, float]] | None, expected: EchoedScore
) -> None:
    assert echoed_score("Ann lied.", Answer("", "length", 4, 1, "small", tokens)) == expected


@pytest.mark.parametrize(
    ("capabilities", "scoring", "message"),
    [
        (
            {"scored_by": "top", "tried": {"echo": "it gives two options the same score (0)"}},
            "echo-sum",
            "two options the same score",
        ),
        ({"scored_by": "parsed"}, "echo-sum", "only `api: completions` reads prompts back"),
        (
            ECHOES,
            "sum",
            "no scoring 'sum' for models behind servers; expected one of echo-mean, echo-sum",
        ),
    ],
)
def test_a_server_that_does_not_score_prompts_is_refused(
    tmp_path: Path,
    serve: Callable[..., ModelServer],
    capabilities: dict[str, Any],
    scoring: str,
    message: str,
) -> None:
    server = serve()
    with pytest.raises(ModelError) as refused:
        cell(tmp_path, server, capabilities=capabilities).ask(answer="likelihood", scoring=scoring)
    assert message in str(refused.value)
    assert not server.bodies
