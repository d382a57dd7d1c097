"""Who answers is part of the key under which an answer is kept: another server's answers stand for
nobody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer
from servers import ServerCell

from biasgrid.base.addresses import canonical_address
from biasgrid.base.faults import InputError
from biasgrid.inference.models.servers.identity import answering_server, server_digest
from biasgrid.inference.models.servers.section import Endpoint, Serve

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]
ENDPOINT = {"url": "https://host/v1", "model": "small"}
SERVE = {"command": "vllm serve {folder} --port {port}"}
RECORD = {"files": {"config.json": "aa", "model.safetensors": "bb"}}


def test_another_server_is_asked_everything(serve: Servers, cell: Cells) -> None:
    one, other = serve(), serve()
    ours = cell(one, 6)
    said = ours.ask()
    cell(other, 6).ask()
    assert other.answered.total() == 6
    # Both are kept, each under its own address.
    for server in (one, other):
        server.answered.clear()
    assert cell(one, 6).ask().equals(said)
    cell(other, 6).ask()
    assert one.answered.total() == other.answered.total() == 0


@pytest.mark.parametrize(
    "change",
    [
        {"url": "http://host/v1"},
        {"url": "https://host:8443/v1"},
        {"url": "https://other/v1"},
        {"url": "https://host/v2"},
        {"model": "large"},
        {"api": "completions"},
        {"provider": "bedrock"},
        {"provider": "azure", "api_version": "2024-10-21"},
    ],
    ids=str,
)
def test_what_decides_who_answers(change: dict[str, Any]) -> None:
    assert server_digest({"endpoint": {**ENDPOINT, **change}}) != server_digest(
        {"endpoint": ENDPOINT}
    )


@pytest.mark.parametrize(
    "change",
    [
        {"url": "https://HOST/v1/"},
        {"url": "https://host:443/v1"},
        {"url": "https://me:secret@host/v1"},
        {"url": "https://host/v1?key=secret"},
        {"key": "${A_KEY}"},
        {"timeout": 5, "attempts": 9, "concurrency": 1},
        {"price": {"input": 1, "output": 1}, "max_cost": 3},
        {"api": "chat", "provider": "openai", "api_version": None},
    ],
    ids=str,
)
def test_what_does_not(change: dict[str, Any]) -> None:
    assert server_digest({"endpoint": {**ENDPOINT, **change}}) == server_digest(
        {"endpoint": ENDPOINT}
    )


def test_versions_of_a_protocol_differ() -> None:
    azure = {**ENDPOINT, "provider": "azure"}
    one, other = ({**azure, "api_version": version} for version in ("2024-10-21", "2025-01-01"))
    assert server_digest({"endpoint": one}) != server_digest({"endpoint": other})


def test_a_variable_counts_by_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    section = {"endpoint": {**ENDPOINT, "url": "https://${HOST_OF_TESTS}/v1"}}
    digests, keys = [], []
    for host in ("host", "other"):
        monkeypatch.setenv("HOST_OF_TESTS", host)
        digests.append(server_digest(section))
        keys.append(Endpoint(**section["endpoint"]).deciding_keys())
    assert digests[0] == server_digest({"endpoint": ENDPOINT}) != digests[1]
    # A plan sees it, too.
    assert keys[0] != keys[1]
    monkeypatch.delenv("HOST_OF_TESTS")
    assert "server" not in Endpoint(**section["endpoint"]).deciding_keys()
    assert "server" not in Endpoint(**ENDPOINT).deciding_keys()
    monkeypatch.setenv("HOST_OF_TESTS", "a host:x")
    with pytest.raises(InputError, match="is not an address; expected one such as"):
        server_digest(section)


@pytest.mark.parametrize(("api", "maker"), [("anthropic", "ANTHROPIC"), ("chat", "OPENAI")])
def test_headers_that_the_environment_adds_count(
    monkeypatch: pytest.MonkeyPatch, api: str, maker: str
) -> None:
    section = {"endpoint": {**ENDPOINT, "api": api}}
    digests = {server_digest(section)}
    for headers in (
        "anthropic-beta: one",
        "anthropic-beta: two",
        "anthropic-beta: two\nx-api-key: secret",
    ):
        monkeypatch.setenv(f"{maker}_CUSTOM_HEADERS", headers)
        digests.add(server_digest(section))
    # What is a key decides nothing.
    assert len(digests) == 3


def test_a_server_of_ours_is_known_by_command_weights_and_name(tmp_path: Path) -> None:
    base = server_digest({"serve": SERVE})
    for change in (
        {"command": "vllm serve {folder} --port {port} --seed 2"},
        {"model": "m"},
        {"api": "completions"},
    ):
        assert server_digest({"serve": {**SERVE, **change}}) != base
    # Never by its port, which differs from job to job.
    fixed = [
        server_digest({"serve": {"command": f"vllm serve {{folder}} --port {port}", "port": port}})
        for port in (8000, 9000)
    ]
    assert fixed == [base, base]
    assert server_digest({"serve": {**SERVE, "minutes": 3, "health": "/ready", "gpus": 2}}) == base
    assert answering_server(base, RECORD) != answering_server(
        base, {"files": {**RECORD["files"], "config.json": "cc"}}
    )
    assert answering_server(base, {"keys": {}}) == base


def test_files_that_a_command_names_count(tmp_path: Path) -> None:
    template = tmp_path / "template.jinja"
    template.write_text("one")
    command = f"vllm serve {{folder}} --port {{port}} --chat-template={template}"
    before = server_digest({"serve": {"command": command}}), Serve(command=command).deciding_keys()
    template.write_text("two")
    after = server_digest({"serve": {"command": command}}), Serve(command=command).deciding_keys()
    assert before[0] != after[0]
    assert before[1] != after[1]
    assert "files" not in Serve(**SERVE).deciding_keys()


@pytest.mark.parametrize(
    ("address", "same"),
    [
        ("http://h", "http://[h]:80"),
        ("https://H./v1/", "https://[h]:443/v1"),
        ("https://[::1]:9/v1", "https://[::1]:9/v1"),
    ],
)
def test_an_address_has_one_spelling(address: str, same: str) -> None:
    assert canonical_address(address) == same
