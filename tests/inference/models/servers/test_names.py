"""A server that answers under another name than it was asked for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from model_server import ModelServer
from servers import ServerCell

from biasgrid.tables.claims.served_names import unexpected_names
from biasgrid.tables.files import read_provenance

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]


@pytest.mark.parametrize(
    "name",
    [
        "gpt-4o",
        "gpt-4o-2024-08-06",
        "gpt-4o-20240806",
        "gpt-4o-0806",
        "gpt-4o@2024-08",
        "gpt-4o:9f86d081884c",
    ],
)
def test_a_date_or_a_hash_may_follow_a_name(name: str) -> None:
    assert unexpected_names("gpt-4o", {name}) == []


@pytest.mark.parametrize(
    "name", ["gpt-4o-mini", "gpt-4", "org/gpt-4o", "gpt-4o-mini-2024-07-18", "gpt-4o-70b", "GPT-4o"]
)
def test_any_other_name_is_unexpected(name: str) -> None:
    assert unexpected_names("gpt-4o", {name}) == [name]


def test_two_names_are_unexpected_even_if_both_are_versions() -> None:
    names = ["gpt-4o-2024-05-13", "gpt-4o-2024-08-06"]
    assert unexpected_names("gpt-4o", names) == names


@pytest.mark.parametrize(
    ("changes_at", "answered", "told"),
    [
        (0, ["small-mini"], "asked for small, but answered as small-mini"),
        (6, ["small", "small-mini"], "asked for small, but answered as small and as small-mini"),
        (99, ["small"], None),
    ],
)
def test_names_are_reported_and_answers_kept(
    serve: Servers,
    cell: Cells,
    caplog: pytest.LogCaptureFixture,
    changes_at: int,
    answered: list[str],
    told: str | None,
) -> None:
    def says(body: dict[str, Any], prompt: str, attempt: int) -> dict[str, Any]:
        number = int(prompt.split("Is ")[1].split()[0])
        return body | {"model": "small" if number < changes_at else "small-mini"}

    server = serve(says=says)
    ours = cell(server, 12)
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert len(ours.ask()) == 12
        # The second time all answers come from the store.
        assert server.answered.total() == 12
        assert read_provenance(ours.out)["answered_as"] == answered
        assert (told in caplog.text) if told else ("answered as" not in caplog.text)
