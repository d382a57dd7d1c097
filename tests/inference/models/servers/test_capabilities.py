"""What a server can do is found out by asking it, and not believed where it cannot be."""

from collections.abc import Callable
from typing import Any

import pytest
from model_server import ModelServer
from servers import probed

from biasgrid.base.faults import InputError
from biasgrid.inference.checkpoints.checkpoint import ModelError

Servers = Callable[..., ModelServer]
KEY = "sk-secret-of-somebody"


def found(server: ModelServer, **keys: Any) -> dict[str, Any]:
    endpoint = {"url": server.url, "model": "small", "attempts": 1, "timeout": 5, **keys}
    return probed(endpoint)


@pytest.mark.parametrize(
    ("knows", "api", "way", "reasons"),
    [
        ({"echo", "logprobs", "choice"}, "completions", "echo", {}),
        (
            {"false echo", "logprobs"},
            "completions",
            "top",
            {"echo": "it gives no log-probabilities"},
        ),
        ({"logprobs", "choice"}, "chat", "top", {}),
        ({"choice"}, "chat", "choice", {"top": "it gives no log-probabilities"}),
        (
            {"false logprobs", "choice"},
            "chat",
            "choice",
            {"top": "it gives two options the same score (1)"},
        ),
        (
            {"constant logprobs"},
            "completions",
            "parsed",
            {"top": "it gives different questions the same scores"},
        ),
        (
            set(),
            "chat",
            "parsed",
            {"choice": "it was told to answer quartz or basalt, but did not"},
        ),
    ],
)
def test_the_first_way_that_works_is_taken(
    serve: Servers, knows: set[str], api: str, way: str, reasons: dict[str, str]
) -> None:
    capabilities = found(serve(knows=knows), api=api)
    assert capabilities["scored_by"] == way
    assert capabilities["served_by"] == "small"
    assert reasons.items() <= capabilities["tried"].items()


def test_no_such_server() -> None:
    server = ModelServer(port=9)
    with pytest.raises(
        ModelError, match=r"http://127.0.0.1:9/v1: no answer \(.*\); expected a key, an address and"
    ):
        found(server)


def test_a_wrong_key_is_reported_without_it(
    serve: Servers, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(key="right")
    monkeypatch.setenv("KEY_OF_A_SERVER", KEY)
    with caplog.at_level("DEBUG"), pytest.raises(ModelError) as refused:
        found(server, key="${KEY_OF_A_SERVER}")
    assert "401" in str(refused.value)
    assert "Incorrect API key provided: ***" in str(refused.value)
    assert KEY not in str(refused.value) + caplog.text
    assert not refused.value.__cause__


def test_a_right_key_is_sent(serve: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_A_SERVER", KEY)
    assert found(serve(key=KEY), key="${KEY_OF_A_SERVER}")["scored_by"] == "top"


def test_a_key_of_the_environment_is_sent_to_nobody_else(
    serve: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = serve()
    found(server)
    assert KEY not in str(server.headers)


def test_a_variable_that_is_not_set(serve: Servers) -> None:
    with pytest.raises(
        InputError,
        match=r"variable NO_SUCH_KEY is not set; expected a value: run `export NO_SUCH_KEY=...`",
    ):
        found(serve(), key="${NO_SUCH_KEY}")


def test_a_model_that_the_server_lacks(serve: Servers) -> None:
    with pytest.raises(
        ModelError,
        match=r"404 .*The model small does not exist.*; expected a key, an address and a",
    ):
        found(serve(only="large"))


def test_a_server_that_speaks_something_else(serve: Servers) -> None:
    with pytest.raises(ModelError, match="an answer that is not JSON"):
        found(serve(fault=lambda *_: "no json"))
    with pytest.raises(ModelError, match="an answer that does not follow OpenAI's protocol"):
        found(serve(fault=lambda *_: "other json"))


@pytest.mark.parametrize("fault", ["429", "429 in 1", "500", "drop"])
def test_a_fault_that_passes_is_waited_for(serve: Servers, fault: str) -> None:
    server = serve(fault=lambda _, attempt: fault if not attempt else None)
    assert found(server, attempts=3)["scored_by"] == "top"
