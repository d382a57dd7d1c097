"""Providers with ways of their own, up to the requests that they send to a server on this
machine.
"""

import builtins
from collections.abc import Callable
from typing import Any

import pytest
from model_server import ModelServer
from servers import ServerCell, probed

from biasgrid.inference.checkpoints.checkpoint import ModelError

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]
KEY = "a-key-of-the-tests"


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TESTS", KEY)


def test_azure_has_deployments_and_a_key_of_its_own(serve: Servers, cell: Cells) -> None:
    server = serve(key=KEY)
    ours = cell(server, 3, provider="azure", api_version="2024-10-21", key="${KEY_OF_TESTS}")
    said = ours.ask()
    assert set(said["status"]) == {"ok"}
    assert server.paths[0].endswith(
        "/openai/deployments/small/chat/completions?api-version=2024-10-21"
    )
    assert server.headers[0]["api-key"] == KEY


def test_a_prompt_that_azure_filters_is_an_answer(serve: Servers, cell: Cells) -> None:
    server = serve(fault=lambda *_: "filtered request")
    said = cell(server, 2, provider="azure", api_version="2024-10-21").ask()
    assert set(said["status"]) == {"filtered"}


def test_bedrock_takes_a_key_as_a_bearer(serve: Servers, cell: Cells) -> None:
    server = serve(key=KEY)
    said = cell(server, 3, provider="bedrock", key="${KEY_OF_TESTS}").ask()
    assert set(said["status"]) == {"ok"}
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    assert server.paths[0] == "/v1/chat/completions"


def anthropic(server: ModelServer) -> dict[str, Any]:
    # The protocol's own path begins with the version.
    return {"url": server.url.removesuffix("/v1"), "api": "anthropic", "key": "${KEY_OF_TESTS}"}


def test_anthropic_is_asked_through_its_own_client(serve: Servers, cell: Cells) -> None:
    faults = dict(enumerate(["filtered", "length", "429", "500", "no json"]))
    server = serve(
        key=KEY,
        fault=lambda prompt, tries: (
            faults.get(int(prompt.split("Is ")[1].split()[0])) if not tries else None
        ),
    )
    said = cell(
        server, 8, generation={"max_tokens": 9, "temperature": 0.5}, **anthropic(server)
    ).ask()
    assert said["status"].to_list() == ["filtered", "length", *["ok"] * 6]
    body = server.bodies[0]
    assert server.paths[0] == "/v1/messages"
    assert [name for name, value in server.headers[0].items() if KEY in value]
    assert (body["model"], body["max_tokens"], body["temperature"]) == ("small", 9, 0.5)
    assert body["system"] == "Be short."
    assert [message["role"] for message in body["messages"]] == ["user"]
    assert set(body) <= {"model", "max_tokens", "temperature", "system", "messages"}
    assert said["tokens_out"].to_list()[2:] == [2] * 6


def test_its_options_are_found_in_texts(serve: Servers) -> None:
    server = serve(key=KEY)
    capabilities = probed({"model": "small", "attempts": 1, **anthropic(server)})
    assert capabilities["scored_by"] == "parsed"


def test_a_missing_client_is_reported_with_how_to_get_it(
    serve: Servers, cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, plain = serve(), builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "anthropic":
            raise ImportError(name)
        return plain(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        ModelError,
        match=r"needs the package anthropic; install it with `pip install biasgrid\[anth",
    ):
        cell(server, 1, **anthropic(server)).ask()
