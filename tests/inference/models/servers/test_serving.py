"""Servers that live as long as a job, started without a shell, and ended however it ends."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from project import ROOT
from shards import Cell, asked
from tiny_writers import CHAT_TEMPLATE, STATEMENTS, save_writer

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.checkpoints.fetch import make_record
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.servers.back_end import warn_about_date
from biasgrid.inference.models.servers.section import Serve
from biasgrid.inference.models.servers.serving import is_well, run_server

pytestmark = pytest.mark.slow

HELPER = ROOT / "tests/helpers/model_server.py"
PYTHON = sys.executable


def section(command: str, **keys: Any) -> Serve:
    return Serve(command=f"{PYTHON} {command}", **{"health": "/health", "minutes": 1, **keys})


def start(tmp_path: Path, command: str, **keys: Any) -> Any:
    return run_server(section(command, **keys), "somewhere", tmp_path / "job.server.log")


def test_a_server_lives_as_long_as_the_context(tmp_path: Path) -> None:
    with start(tmp_path, f"{HELPER} {{port}} {{folder}}") as url:
        port = int(url.split(":")[2].split("/")[0])
        assert url == f"http://127.0.0.1:{port}/v1"
        (child,) = [one for one in psutil.Process().children() if str(port) in one.cmdline()]
        assert child.cmdline()[-1] == "somewhere"
    assert not child.is_running()
    with socket.socket() as tried:
        assert tried.connect_ex(("127.0.0.1", port)) != 0


def test_a_command_that_ends(tmp_path: Path) -> None:
    told = "import sys; print('no such flag', file=sys.stderr); sys.exit(3)"
    with (
        pytest.raises(
            ModelError,
            match=r"ended with 3 before it was ready; its last lines:\n  no such flag\nexpected",
        ),
        start(tmp_path, f'-c "{told}" {{folder}} {{port}}'),
    ):
        pass
    assert "no such flag" in (tmp_path / "job.server.log").read_text()


def test_a_server_that_never_gets_healthy(tmp_path: Path) -> None:
    command = '-c "import time; time.sleep(600)" {folder} {port}'
    with (
        pytest.raises(ModelError, match=r"was not ready after 0.01 minutes"),
        start(tmp_path, command, minutes=0.01),
    ):
        pass
    assert not [
        one for one in psutil.Process().children() if "time.sleep(600)" in " ".join(one.cmdline())
    ]


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    serve = Serve(command="no-such-server {folder} {port}")
    with (
        pytest.raises(
            ModelError,
            match=r"'no-such-server' cannot be started \(No such file or directory\); expected",
        ),
        run_server(serve, "somewhere", tmp_path / "server.log"),
    ):
        pass


def test_a_port_in_use(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with (
            pytest.raises(
                ModelError,
                match=rf"port {port} is not available \(Address already in use\); expected a",
            ),
            start(tmp_path, "{folder}", port=port),
        ):
            pass


JOB = """
import sys, time
from pathlib import Path
from biasgrid.inference.models.servers.back_end import warn_about_date
from biasgrid.inference.models.servers.section import Serve
from biasgrid.inference.models.servers.serving import is_well, run_server
with run_server(Serve(command=sys.argv[1]), "somewhere", Path(sys.argv[2])) as url:
    print(url, flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_a_server_ends_with_a_job_that_is_killed(tmp_path: Path, end: signal.Signals) -> None:
    command = f"{PYTHON} {HELPER} {{port}} {{folder}}"
    line = [PYTHON, "-c", JOB, command, str(tmp_path / "server.log")]
    job = subprocess.Popen(
        line, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}
    )
    assert job.stdout is not None
    port = int(job.stdout.readline().split(":")[2].split("/")[0])
    job.send_signal(end)
    job.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) != 0:
                return
        time.sleep(0.05)
    pytest.fail("the server is still there")


def serving_cell(folder: Path, checkpoint: Path, rows: list[dict[str, Any]]) -> Cell:
    return Cell(folder, "text-generation", asked(rows), checkpoint, "serve")


@pytest.mark.parametrize("api", ["chat", "completions"])
def test_the_tokenizer_of_a_served_model_counts(tmp_path: Path, api: str) -> None:
    checkpoint = save_writer(tmp_path / "writer", "llama", CHAT_TEMPLATE)
    positions = json.loads((checkpoint / "config.json").read_text())["max_position_embeddings"]
    long = {"system": None, "text": " ".join(["no"] * (positions + 1))}
    there = serving_cell(
        tmp_path / "served", checkpoint, [{"system": "Be short.", "text": STATEMENTS[0]}, long]
    )
    serve = {"command": f"{PYTHON} {HELPER} {{port}} {{folder}}", "api": api}
    keys = {"section": {"serve": serve}, "log": tmp_path / "job.log"}
    with pytest.raises(
        ModelError, match=rf"the prompt of instance 1 has \d+ tokens.*at most {positions} together"
    ):
        there.predict(
            answer="text", model="served", **keys, generation=Generation().model_dump(), serve={}
        )
    assert not there.answers.joinpath("requests.jsonl").exists() or not there.parts


def test_texts_of_a_served_model_match_the_same_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    checkpoint = save_writer(tmp_path / "writer", "llama", CHAT_TEMPLATE)
    # Servers draw as the checkpoint suggests where a request does not say otherwise, such as with
    # its penalties.
    (checkpoint / "generation_config.json").write_text('{"bos_token_id": 0, "eos_token_id": 1}')
    rows = [{"system": "Be short.", "text": text} for text in STATEMENTS]
    generation = Generation(max_tokens=8, temperature=0).model_dump()
    local = Cell(tmp_path / "local", "text-generation", asked(rows), checkpoint)
    here = local.predict(answer="text", generation=generation)
    command = (
        f"{PYTHON} -m transformers.cli.transformers serve {{folder}} --host 127.0.0.1 --port "
        f"{{port}} --device cpu"
    )
    serve = {"command": command, "concurrency": 2, "minutes": 5, "timeout": 120}
    there = serving_cell(tmp_path / "served", checkpoint, rows)
    keys = {"section": {"serve": serve, "generation": generation}, "log": tmp_path / "job.log"}
    choices = {
        "generation": generation,
        "serve": {"command": command, "model": "{folder}", "api": "chat"},
    }
    said = there.predict(answer="text", model="served", **keys, **choices)
    assert said["response"].to_list() == here["response"].to_list()
    assert said["status"].to_list() == here["status"].to_list()
    assert (tmp_path / "job.server.log").stat().st_size
    assert there.answers.joinpath("requests.jsonl").exists()


DATED = CHAT_TEMPLATE + "{% if strftime_now is defined %}{{ strftime_now('%d') }}{% endif %}"


@pytest.mark.parametrize(
    ("template", "more", "warns"),
    [
        (CHAT_TEMPLATE, "", False),
        (DATED, "", True),
        (DATED, " --chat-template=mended.jinja", False),
        (DATED, " --chat-template mended.jinja", False),
        (DATED, " --chat-template-content-format openai", True),
    ],
)
def test_a_template_that_writes_the_date_is_warned_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, template: str, more: str, warns: bool
) -> None:
    record = make_record(
        checkpoint=None,
        folder=str(save_writer(tmp_path, "llama", template)),
        revision=None,
        weights=True,
        allow_pickle=False,
    )
    warn_about_date(record, Serve(command=f"vllm serve {{folder}} --port {{port}}{more}"), "served")
    assert ("model served: its chat template contains today's date" in caplog.text) == warns


def test_answers_of_a_served_model_match_its_weights(tmp_path: Path) -> None:
    """Each job has another port; a fixed one in the command may change, too."""
    checkpoint = save_writer(tmp_path / "writer", "llama", CHAT_TEMPLATE)
    rows = [{"system": "Be short.", "text": text} for text in STATEMENTS]
    generation = Generation(max_tokens=8).model_dump()

    def asked_of(serve: dict[str, Any]) -> int:
        """Asks all again, and returns how many answers are kept by then."""
        choices = {"generation": generation, "serve": Serve(**serve).deciding_keys()}
        keys = {"section": {"serve": serve, "generation": generation}, "log": tmp_path / "job.log"}
        there = serving_cell(tmp_path / "served", checkpoint, rows)
        there.predict_anew(answer="text", model="served", **keys, **choices)
        return len((there.answers / "requests.jsonl").read_text().splitlines()) - 1

    any_port = {"command": f"{PYTHON} {HELPER} {{port}} {{folder}}"}
    count = len(set(STATEMENTS))
    assert asked_of(any_port) == asked_of(any_port) == count
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        assert asked_of({"command": f"{PYTHON} {HELPER} {port} {{folder}}", "port": port}) == count
    assert asked_of({**any_port, "model": "another"}) == 2 * count
    (checkpoint / "generation_config.json").write_text('{"eos_token_id": 1}')
    assert asked_of(any_port) == 3 * count


def answer_once(listening: socket.socket, content: bytes) -> None:
    connection, _ = listening.accept()
    with connection:
        connection.recv(4096)
        connection.sendall(content)


@pytest.mark.parametrize(
    ("content", "is_up"),
    [(b"HTTP/1.0 200 OK\r\n\r\n", True), (b"SSH-2.0-OpenSSH_9.2\r\n", False), (b"", False)],
)
def test_a_port_that_speaks_no_http_is_no_server_that_is_up(content: bytes, is_up: bool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer_once, args=(listening, content))
        thread.start()
        port = listening.getsockname()[1]
        assert is_well(f"http://127.0.0.1:{port}/health") is is_up
        thread.join()
