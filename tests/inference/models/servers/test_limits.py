"""Limits that the documents promise: of time, of size, of tokens, of money, of where requests
go.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import pytest
from model_server import ModelServer
from servers import ServerCell, probed

from biasgrid.base.addresses import find_proxy, prepare_proxies
from biasgrid.base.faults import InputError, UserError
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.servers.usage import read_bill

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]
Body = dict[str, Any]
PRICE = {"input": 1000.0, "output": 2000.0}
PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("api", ["chat", "anthropic"])
def test_a_request_is_given_up_though_bytes_come(serve: Servers, cell: Cells, api: str) -> None:
    ours = cell(serve(says=lambda *_: b"DRIP" * 150), 2, timeout=1, attempts=1, api=api)
    before = time.monotonic()
    with pytest.raises(ModelError, match="no answer within 1 s"):
        ours.ask()
    # The answer would take 35 s.
    assert time.monotonic() - before < 15


@pytest.mark.parametrize("api", ["chat", "anthropic"])
def test_an_answer_without_end_is_cut_at_a_size(serve: Servers, cell: Cells, api: str) -> None:
    def says(body: Body, prompt: str, attempt: int) -> bytes:
        return b"ENDLESS"

    ours = cell(serve(says=says), 1, timeout=60, attempts=1, api=api)
    with pytest.raises(ModelError, match="a response of more than 32 MB"):
        ours.ask()


@pytest.mark.parametrize("api", ["chat", "completions", "anthropic"])
def test_a_redirect_to_another_server_is_refused(serve: Servers, cell: Cells, api: str) -> None:
    other = serve()
    server = serve(fault=lambda *_: f"to {other.url}/chat/completions")
    hosts = (
        rf"it redirects from 127.0.0.1:{server.port} to 127.0.0.1:{other.port}, and biasgrid does "
        r"not follow that"
    )
    with pytest.raises(ModelError, match=hosts):
        cell(server, 3, api=api).ask()
    assert other.bodies == []


def test_a_redirect_on_the_same_server_is_followed(serve: Servers, cell: Cells) -> None:
    server = serve(fault=lambda prompt, attempt: "to /v2/chat/completions" if not attempt else None)
    assert set(cell(server, 2).ask()["status"]) == {"ok"}
    assert "/v2/chat/completions" in server.paths


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
@pytest.mark.parametrize(
    "value", ["::::", "http://", "ftp://proxy:1", "socks9://proxy:1", "http://a b:1", "http://p:x"]
)
def test_a_proxy_that_is_none(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(
        InputError, match=rf"{variable}: does not name a usable proxy; expected an address such as"
    ):
        find_proxy("http://example.org/v1")
    assert find_proxy("http://127.0.0.1:8000/v1") is None


def test_libraries_that_read_the_environment_take_no_proxy_for_this_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    monkeypatch.setenv("no_proxy", "example.org")
    monkeypatch.setenv("NO_PROXY", "example.org")
    for _ in range(2):
        prepare_proxies()
    assert os.environ["NO_PROXY"] == os.environ["no_proxy"] == "example.org,localhost,127.0.0.1,::1"
    monkeypatch.setenv("ALL_PROXY", "::::")
    with pytest.raises(InputError, match="ALL_PROXY: does not name a usable proxy"):
        prepare_proxies()


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1.2.3", "localhost", "[::1]", "0.0.0.0", "here.localhost"]
)
@pytest.mark.parametrize("value", ["http://proxy:3128", "socks5://proxy:1"])
def test_requests_to_this_machine_take_no_proxy(
    monkeypatch: pytest.MonkeyPatch, host: str, value: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", value)
    assert find_proxy(f"http://{host}:8000/v1") is None
    found = find_proxy("http://example.org/v1")
    assert found is not None
    assert (found.address, found.variable) == (value, "ALL_PROXY")


@pytest.mark.parametrize(
    ("named", "host", "takes"),
    [
        ("example.org", "api.example.org", False),
        (".example.org", "api.example.org", False),
        ("example.org", "notexample.org", True),
        ("10.0.0.0/8", "10.1.2.3", False),
        ("10.0.0.0/8,odd/x", "11.1.2.3", True),
        ("*", "example.org", False),
        ("", "example.org", True),
    ],
)
def test_what_takes_no_proxy(
    monkeypatch: pytest.MonkeyPatch, named: str, host: str, takes: bool
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy:3128")
    monkeypatch.setenv("NO_PROXY", named)
    found = find_proxy(f"https://{host}/v1")
    assert (found is not None) == takes
    assert found is None or found.address == "http://proxy:3128"


def test_a_server_on_this_machine_is_asked_regardless_of_the_environment(
    serve: Servers, cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "::::")
    assert set(cell(serve(), 2).ask()["status"]) == {"ok"}


def test_a_proxy_is_used(serve: Servers, cell: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = serve()
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    ours = cell(proxy, 2)
    ours.section["endpoint"]["url"] = "http://example.invalid/v1"
    assert set(ours.ask()["status"]) == {"ok"}
    assert set(proxy.paths) == {"http://example.invalid/v1/chat/completions"}


def test_a_socks_proxy_without_its_package(cell: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy:1")
    server = ModelServer()
    ours = cell(server, 1)
    ours.section["endpoint"]["url"] = "http://example.invalid/v1"
    with pytest.raises(
        UserError,
        match=r"ALL_PROXY names a SOCKS proxy, which needs the package socksio; install it",
    ):
        ours.ask()


def without_usage(body: Body, prompt: str, attempt: int) -> Body:
    return {**body, "usage": None}


@pytest.mark.parametrize("usage", [None, [], {"prompt_tokens": -1000, "completion_tokens": -1000}])
def test_a_limit_of_cost_holds_over_runs_regardless_of_what_a_server_says(
    serve: Servers, cell: Cells, usage: Any
) -> None:
    server = serve(says=lambda body, *_: {**body, "usage": usage})
    limited = {"price": PRICE, "max_cost": 1.0, "generation": {"max_tokens": 50}}
    asked = []
    for _ in range(4):
        with pytest.raises(ModelError, match="max_cost 1: "):
            cell(server, 100, **limited).ask()
        asked.append(server.answered.total())
    assert 0 < asked[0] < 20
    assert set(asked) == {asked[0]}
    bill = read_bill(cell(server, 100, **limited).folder)
    assert 0.8 < (bill.tokens_in * 1000 + bill.tokens_out * 2000) / 1e6 <= 1


def test_answers_of_no_use_are_charged_too(serve: Servers, cell: Cells) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        body["choices"][0]["finish_reason"] = "error"
        return body

    server = serve(says=says)
    limited = {"price": PRICE, "max_cost": 0.2, "generation": {"max_tokens": 5}, "attempts": 2}
    for _ in range(30):
        with pytest.raises(ModelError):
            cell(server, 20, **limited).ask()
    # 0.2 buys about 13 requests of 13 tokens in and 2 out, and not 30 times as many.
    assert 5 <= server.answered.total() <= 14
    bill = read_bill(cell(server, 20, **limited).folder)
    assert (bill.tokens_in * 1000 + bill.tokens_out * 2000) / 1e6 <= 0.2


def test_a_longer_answer_than_was_allowed_is_charged_as_it_is(
    serve: Servers, cell: Cells, caplog: pytest.LogCaptureFixture
) -> None:
    def says(body: Body, prompt: str, attempt: int) -> Body:
        return {**body, "usage": {"prompt_tokens": 5, "completion_tokens": 900}}

    ours = cell(serve(says=says), 3, generation={"max_tokens": 7})
    assert ours.ask()["tokens_out"].to_list() == [900] * 3
    assert read_bill(ours.folder) == (3, 15, 2700)
    assert "3 of 3 answers are longer than max_tokens 7 (the longest: 900 tokens)" in caplog.text


@pytest.mark.parametrize("unknown", ["max_completion_tokens", "max_tokens"])
def test_a_limit_has_the_name_that_the_server_takes(
    serve: Servers, cell: Cells, unknown: str
) -> None:
    server = serve(unknown=unknown)
    known = next(name for name in ("max_completion_tokens", "max_tokens") if name != unknown)
    assert set(cell(server, 4, generation={"max_tokens": 7}).ask()["status"]) == {"ok"}
    answered = [body for body in server.bodies if unknown not in body]
    assert {body[known] for body in answered} == {7}
    assert found(server)["token_limit"] == known


@pytest.mark.parametrize("limit", ["max_completion_tokens", "max_tokens"])
def test_a_limit_that_a_server_ignores_is_found_out(serve: Servers, limit: str) -> None:
    assert found(serve(limit=limit))["token_limit"] == limit


def test_a_server_that_keeps_no_limit(serve: Servers, caplog: pytest.LogCaptureFixture) -> None:
    assert found(serve(limit="max_words"))["token_limit"] == "max_completion_tokens"
    assert "nothing limits its answers to `max_tokens`" in caplog.text


def found(server: ModelServer) -> dict[str, Any]:
    return probed({"url": server.url, "model": "small", "attempts": 1, "timeout": 5})
