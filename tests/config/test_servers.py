"""Sections of models behind servers: what they need, what decides answers, and keys that are in no
message.
"""

from typing import Any

import pytest
from small_config import OF_ALL

from biasgrid.base.faults import InputError
from biasgrid.config import parse_config
from biasgrid.config.sections import Config

pytestmark = pytest.mark.usefixtures("general")
HOSTED = {"url": "https://host/v1", "model": "large", "key": "${OPENAI_API_KEY}"}
SERVED = {"command": "vllm serve {folder} --port {port}"}


def config(**keys: Any) -> dict[str, Any]:
    model = {"task": "text-generation", "variant": "llm", "kind": "API", "label": "Hosted", **keys}
    return {
        "models": {"hosted": model},
        "run": {"models": ["hosted"], "datasets": ["religion"]},
    } | OF_ALL


def read(**keys: Any) -> Config:
    return parse_config(config(**keys), "c.yaml")


def faults(**keys: Any) -> str:
    with pytest.raises(InputError) as refused:
        read(**keys)
    return str(refused.value)


def test_what_decides_answers_is_in_the_record_and_nothing_else() -> None:
    grid = read(
        endpoint={**HOSTED, "concurrency": 3, "price": {"input": 1, "output": 2}, "max_cost": 5}
    )
    record = grid.model_record_arguments("hosted")["keys"]
    expected = {
        "url": "https://host/v1",
        "model": "large",
        "api": "chat",
        "provider": "openai",
        "api_version": None,
    }
    assert record["endpoint"] == expected
    assert set(record) == {"endpoint", "generation"}
    assert grid.deciding_settings("hosted", "religion") == {}
    assert grid.models["hosted"].source.gpus == 0


def test_a_served_model_is_a_checkpoint() -> None:
    grid = read(serve={**SERVED, "gpus": 4}, checkpoint="some/where", revision="main")
    assert grid.model_record_arguments("hosted")["checkpoint"] == "some/where"
    assert grid.deciding_settings("hosted", "religion")["serve"] == {
        **SERVED,
        "model": "{folder}",
        "api": "chat",
    }
    assert grid.models["hosted"].source.gpus == 4
    assert grid.back_end_entry("hosted").path.endswith("servers.back_end:Server")


def test_jobs_take_turns_at_an_endpoint_and_at_a_served_cell() -> None:
    hosted, served = (
        read(endpoint=HOSTED),
        read(serve=SERVED, checkpoint="some/where", revision="main"),
    )
    assert (
        hosted.exclusive_resource("hosted", "religion")
        == hosted.exclusive_resource("hosted", "others")
        == hosted.exclusive_resource("hosted")
    )
    assert served.exclusive_resource("hosted", "religion") != served.exclusive_resource(
        "hosted", "others"
    )
    assert read(random={"seed": 1}).exclusive_resource("hosted", "religion") is None


def test_a_key_in_the_config_is_refused_and_not_shown() -> None:
    told = faults(endpoint={**HOSTED, "key": "sk-secret"})
    assert (
        "models.hosted.endpoint.key: a value that is not shown, because it may be a secret; "
        "expected the name of the environment"
    ) in told
    assert "sk-secret" not in told


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"max_cost": 3}, "expected `price` together with `max_cost`"),
        ({"provider": "azure"}, "expected `api_version` if `provider` is azure, and only then"),
        (
            {"provider": "bedrock", "api": "anthropic"},
            "expected no `provider` together with `api: anthropic`",
        ),
        ({"url": "host/v1"}, "endpoint.url: 'host/v1'; expected an address that begins with http"),
        ({"concurency": 3}, "endpoint.concurency: unknown key (did you mean 'concurrency'?)"),
    ],
)
def test_keys_of_an_endpoint_that_do_not_go_together(keys: dict[str, Any], message: str) -> None:
    assert message in faults(endpoint={**HOSTED, **keys})


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"command": "vllm serve {folder}"},
            "expected {folder} in `command`, and either {port} or the key `port`",
        ),
        ({"command": "vllm serve --port {port}"}, "expected {folder} in `command`"),
        (
            {"command": "vllm {folder} {port} {what}"},
            "expected no placeholders other than {folder}, {port} and {gpus}",
        ),
        ({"command": "vllm '{folder} {port}"}, "expected a valid command (No closing quotation)"),
        ({**SERVED, "port": 8000}, "either {port} or the key `port`"),
        ({**SERVED, "api": "anthropic"}, "expected `api: chat` or `completions`"),
        ({**SERVED, "health": "health"}, "expected a path that begins with /"),
    ],
)
def test_keys_of_a_server_of_ours_that_do_not_go_together(
    keys: dict[str, Any], message: str
) -> None:
    assert message in faults(serve=keys, folder="x")


def test_a_server_of_ours_needs_a_checkpoint() -> None:
    assert "expected a `checkpoint`, `folder` or `train` together with `serve`" in faults(
        serve=SERVED, random={"seed": 1}
    )
    assert "expected exactly one of" in faults(serve=SERVED)
