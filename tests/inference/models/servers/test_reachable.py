"""What one request of a server's list of models says, before anything else is asked."""

from __future__ import annotations

from typing import Any

import pytest
from model_server import ModelServer, serving

from biasgrid.base.faults import InputError, UserError
from biasgrid.inference.models.servers.section import Endpoint
from biasgrid.inference.models.sources.reachable import check_endpoint

KEY = "sk-a-secret-of-the-tests"


def check(server: ModelServer, model: str = "small", **keys: Any) -> None:
    check_endpoint(Endpoint.model_validate({"url": server.url, "model": model, **keys}))


def test_a_model_in_the_list_is_asked_nothing() -> None:
    with serving(listed_models=["small", "large"]) as server:
        check(server)
        assert (server.listings, server.bodies) == (1, [])


def test_a_name_that_is_not_listed_is_refused_with_the_listed_ones() -> None:
    with serving(listed_models=["small", "large"]) as server:
        with pytest.raises(
            UserError,
            match=r"no model 'smal' there \(did you mean 'small'\?\): it is not in the server's "
            r"list. The server lists: small, large; expected a listed name, or --name-as-is \(in a "
            r"config `name_as_is: true`\)",
        ):
            check(server, "smal")
        # Servers that ignore the name would answer.
        assert server.bodies == []


def test_a_name_that_is_asked_for_as_it_is() -> None:
    with serving(listed_models=["small"]) as server:
        check(server, "small:latest", name_as_is=True)
        assert len(server.bodies) == 1
        server.only = "small"
        with pytest.raises(
            UserError,
            match=r"no model 'smal' there .*: 404 The model smal does not exist. "
            "The server lists: small$",
        ):
            check(server, "smal", name_as_is=True)


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_servers_without_a_list_are_left_to_their_jobs(api: str) -> None:
    with serving(only="another") as server:
        check(server, api=api)
        assert server.bodies == []


def test_a_key_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(listed_models=["small"], key=KEY) as server:
        with pytest.raises(
            UserError, match=r"401 No key was given; expected a key: name the environment variable"
        ):
            check(server)
        for value, state in ((None, "not set"), ("", "empty"), (" ", "empty")):
            monkeypatch.delenv("A_KEY", raising=False)
            if value is not None:
                monkeypatch.setenv("A_KEY", value)
            with pytest.raises(
                InputError,
                match=f"variable A_KEY is {state}; expected a value: run `export A_KEY=...`",
            ):
                check(server, key="${A_KEY}")
        monkeypatch.setenv("A_KEY", "sk-a-wrong-one")
        with pytest.raises(UserError, match="401 No key was given; expected a different key"):
            check(server, key="${A_KEY}")
        monkeypatch.setenv("A_KEY", KEY)
        check(server, key="${A_KEY}")
