"""Texts through a server that behaves, and through one that does not."""

from collections import Counter
from collections.abc import Callable

import pytest
from model_server import ModelServer
from servers import ServerCell

from biasgrid.inference.checkpoints.checkpoint import ModelError

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]


def test_texts_arrive_with_statuses_and_tokens(serve: Servers, cell: Cells) -> None:
    faults = dict(enumerate(["empty", "filtered", "length", "refused", "filtered request"]))
    server = serve(fault=lambda prompt, _: faults.get(int(prompt.split("Is ")[1].split()[0])))
    said = cell(server, 8).ask()
    assert said["status"].to_list() == [
        "empty",
        "filtered",
        "length",
        "refused",
        "filtered",
        "ok",
        "ok",
        "ok",
    ]
    assert said["response"].to_list()[3] == "I cannot."
    assert set(said["response"].to_list()[5:]) <= {"Yes.", "No."}
    assert said["tokens_out"].to_list()[5:] == [2, 2, 2]
    assert said["tokens_in"].to_list()[4] is None


def test_what_the_server_has_read_is_counted(serve: Servers, cell: Cells) -> None:
    ours = cell(serve(), 8)
    read = ours.ask()["tokens_in"].sum()
    assert (ours.timing["sequences"], ours.timing["tokens"]) == (8, read)
    # A killed run leaves the answers in the store of requests alone.
    ours.forget_predictions()
    ours.ask()
    assert (ours.timing["sequences"], ours.timing["tokens"]) == (8, read)


def test_what_is_sent(serve: Servers, cell: Cells) -> None:
    server = serve()
    cell(server, 2, generation={"max_tokens": 7, "temperature": 0.5, "top_p": 0.9, "seed": 3}).ask()
    body = min(server.bodies, key=lambda each: str(each["messages"]))
    assert body["messages"] == [
        {"role": "system", "content": "Be short."},
        {"role": "user", "content": "Is 0 a number? Yes or No?"},
    ]
    wanted = {"model": "small", "max_completion_tokens": 7, "temperature": 0.5, "top_p": 0.9}
    assert wanted.items() <= body.items()
    assert len({each["seed"] for each in server.bodies}) == 2
    cell(server, 2, api="completions").ask()
    texts = {each["prompt"] for each in server.bodies if "prompt" in each}
    assert "Be short.\n\nIs 0 a number? Yes or No?" in texts


@pytest.mark.parametrize(
    "fault", ["429", "429 in 1", "500", "drop", "slow", "no json", "other json"]
)
def test_what_may_be_asked_again_is(serve: Servers, cell: Cells, fault: str) -> None:
    server = serve(fault=lambda prompt, attempt: fault if not attempt else None)
    said = cell(server, 6, timeout=1).ask()
    assert set(said["status"]) == {"ok"}
    assert set(server.tries.values()) == {2}
    assert set(server.answered.values()) == {1}


def test_failures_are_reported_and_asked_again_by_the_next_run(serve: Servers, cell: Cells) -> None:
    broken = {"Is 3 a", "Is 5 a"}
    server = serve(
        fault=lambda prompt, _: "400" if any(each in prompt for each in broken) else None
    )
    ours = cell(server, 12)
    with pytest.raises(
        ModelError,
        match=r"2 of 12 requests have no answer \(the last problem: 400 .*Something is wrong",
    ):
        ours.ask()
    assert not ours.out.exists()
    assert len(ours.lines) == 10
    broken.clear()
    server.answered.clear()
    assert len(ours.ask()) == 12
    assert sum(server.answered.values()) == 2


def test_a_server_that_only_fails_is_left_alone(serve: Servers, cell: Cells) -> None:
    server = serve(fault=lambda *_: "400")
    with pytest.raises(ModelError, match="200 of 200 requests have no answer"):
        cell(server, 200, attempts=1).ask()
    assert len(server.tries) < 60


def test_no_more_are_under_way_than_may_be(serve: Servers, cell: Cells) -> None:
    server = serve(seconds=0.02)
    cell(server, 60, concurrency=5).ask()
    assert 2 <= server.most <= 5


def test_limits_of_a_minute_hold(serve: Servers, cell: Cells) -> None:
    server = serve()
    ours = cell(server, 12, requests_per_minute=1200, tokens_per_minute=10**6)
    ours.ask()
    # The first one goes at once; each other one 50 ms after the one before it.
    assert ours.timing["seconds"] >= 11 * 0.05 * 0.9


def test_none_is_lost_and_none_asked_twice(serve: Servers, cell: Cells) -> None:
    misbehaves(serve, cell, 500)


@pytest.mark.long
def test_none_of_many_is_lost_and_none_asked_twice(serve: Servers, cell: Cells) -> None:
    misbehaves(serve, cell, 5000)


def misbehaves(serve: Servers, cell: Cells, count: int) -> None:
    faults = dict(enumerate(["429", "429 in 1", "500", "drop", "no json"]))

    def fault(prompt: str, attempt: int) -> str | None:
        number = int(prompt.split("Is ")[1].split()[0])
        return faults.get(number % 50) if not attempt else None

    server = serve(fault=fault)
    ours = cell(server, count, concurrency=64)
    said = ours.ask()
    assert len(said) == len(ours.lines) == count
    assert len({line["request"] for line in ours.lines}) == count
    assert Counter(server.answered.values()) == {1: count}
    assert set(said["status"]) == {"ok"}
