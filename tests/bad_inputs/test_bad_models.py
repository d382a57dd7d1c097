"""What is typed in place of a model, a server or its key is answered in one message."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from model_server import serving
from typer.testing import CliRunner

from biasgrid.base.addresses import page_of_hub, whole_address
from biasgrid.cli.app import app

RUNNER = CliRunner()
SECRET = "sk-abcdef123456"


class QuietHandler(BaseHTTPRequestHandler):
    """Refuses every request, and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


def refusal(*line: str) -> str:
    """What a command prints that exits with 2, without a traceback and without a new file."""
    before = {*Path.cwd().rglob("*")}
    result = RUNNER.invoke(app, line)
    assert result.exit_code == 2, (result.output, result.exception)
    assert {*Path.cwd().rglob("*")} == before
    assert "Traceback" not in result.output
    return result.output


@pytest.mark.slow
@pytest.mark.parametrize("key", [SECRET, "hf_AbCdEf0123456789", "", "EMPTY_ONE", "${A_KEY}"])
@pytest.mark.parametrize("command", ["try", "ask"])
def test_a_key_in_place_of_its_variable_is_not_shown(
    command: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMPTY_ONE", " ")
    with serving(listed_models=["small"]) as server:
        printed = refusal(command, server.url, "--name", "small", "--key", key)
        assert (server.listings, server.bodies) == (0, [])
    assert len(printed.splitlines()) == 1
    assert "--key: a value that is not shown" in printed
    assert "export OPENAI_API_KEY=" in printed
    assert not key or key not in printed


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (["http://a b/v1", "--name", "small"], ["url: 'http://a b/v1'", "without white space"]),
        (["http://127.0.0.1:1/v1", "--name", ""], ["model: ''", "1 or more characters"]),
    ],
)
@pytest.mark.parametrize("command", ["try", "ask"])
def test_what_is_typed_is_checked_as_in_a_config(
    command: str, line: list[str], says: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    printed = refusal(command, *line)
    assert [words for words in says if words not in printed] == [], printed
    assert "the command line" in printed


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("127.0.0.1:18931", "expected http://127.0.0.1:18931"),
        ("localhost:8000/v1", "expected http://localhost:8000/v1"),
        ("localhost/v1", "expected http://localhost/v1"),
        ("my-server:8000/v1/chat/completions", "expected https://my-server:8000/v1/chat"),
        ("api.openai.com/v1", "expected https://api.openai.com/v1"),
        ("host.org/openai/v1", "expected https://host.org/openai/v1"),
        (
            "https://huggingface.co/org/name",
            "page of the hub; expected the name of the model: org/",
        ),
        ("https://huggingface.co/org/name/tree/main?x=1", "the name of the model: org/name"),
        ("huggingface.co/org/name", "the name of the model: org/name"),
        ("https://hf.co/gpt2", "the name of the model: gpt2"),
    ],
)
def test_an_address_that_is_none_is_answered_with_the_right_one(
    typed: str, expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (printed,) = refusal("try", typed, "--name", "small").splitlines()
    assert expected in printed


@pytest.mark.parametrize("typed", ["org/name-1.5", "org/v1", "01-ai/yi.v1", "gpt2"])
def test_names_on_the_hub_are_no_addresses(typed: str) -> None:
    assert whole_address(typed) is page_of_hub(typed) is None


@pytest.mark.slow
def test_https_in_place_of_http_is_answered_with_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), QuietHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        host = f"127.0.0.1:{server.server_port}/v1"
        (printed,) = refusal("try", f"https://{host}", "--name", "small").splitlines()
        server.shutdown()
    assert printed.endswith(f"The server does not speak https; expected http://{host}")


@pytest.mark.parametrize("line", [["try"], ["init", "--models"]])
def test_a_folder_whose_name_a_config_cannot_have_is_refused(
    line: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    labels = {"0": "negative", "1": "positive"}
    config = {"architectures": ["BertForSequenceClassification"], "id2label": labels}
    name = "a" * 120
    (tmp_path / name).mkdir()
    (tmp_path / name / "config.json").write_text(json.dumps(config))
    printed = refusal(*line, name)
    assert "of at most 100 characters" in printed
