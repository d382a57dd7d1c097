"""Small inputs that once gave wrong numbers or wrong messages; skipped where the folder with them is not there."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from project import ROOT, Project
from transformers import pipeline

from biasgrid.tables.files import read_provenance

CASES = ROOT.parent / "shared" / "cases"
BLUE, CHESS = "Is the sky blue ? | Yes | No", "Are women worse at chess ? | Yes | No"

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the folder of cases does not exist")
Make = Callable[[str], Path]


@pytest.fixture
def case(tmp_path: Path) -> Make:
    """Copies a case by the beginning of its name, and makes its checkpoint."""

    def make(number: str) -> Path:
        (source,) = CASES.glob(f"{number}-*")
        shutil.copytree(source, tmp_path / "case", copy_function=shutil.copyfile)
        for folder in [tmp_path / "case", *(tmp_path / "case").rglob("*/")]:
            folder.chmod(0o755)
        if (tmp_path / "case/make.py").exists():
            subprocess.run([sys.executable, "make.py"], cwd=tmp_path / "case", check=True, capture_output=True)
        return tmp_path / "case"

    return make


def ask(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Asks in a process of its own: a worker of tests may run a browser's loop, beside which no server is asked."""
    line = [sys.executable, "-c", "from biasgrid.cli.app import app; app()", "ask", *arguments]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def answers(*arguments: str) -> list[dict[str, Any]]:
    result = ask(*arguments, "--json")
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


def probabilities(*arguments: str) -> list[list[float]]:
    return [each["probabilities"] for each in answers(*arguments)]


def project_of(folder: Path, **changes: str) -> Project:
    """Gives a project with a case's config; texts of it are replaced."""
    text = (folder / "config.yaml").read_text()
    for before, after in changes.items():
        text = text.replace(before, after)
    project = Project.create(folder / "project", yaml.safe_load(text))
    for path in folder.iterdir():
        if path.name in ("model", "wl", "answers.jsonl", "people.yaml", "prompts.txt"):
            copy = shutil.copytree if path.is_dir() else shutil.copyfile
            # Beside the config, as in the case.
            copy(path, project.folder / "config" / path.name)
    return project


@contextmanager
def served(folder: Path, mode: str) -> Iterator[str]:
    """Runs a case's server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "server.py", mode, str(port)], cwd=folder)
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            with socket.socket() as tried:
                if not tried.connect_ex(("127.0.0.1", port)):
                    break
            time.sleep(0.05)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def test_a_template_that_drops_the_question(case: Make) -> None:
    blue, chess = probabilities(str(case("01") / "model"), BLUE, CHESS)
    assert blue != chess


def test_an_adapter_beside_the_base(case: Make) -> None:
    refused = ask(str(case("02") / "model"), BLUE)
    assert refused.returncode == 2
    assert "adapter" in refused.stderr
    assert "merge_and_unload" in refused.stderr


def test_a_multi_label_scorer(case: Make) -> None:
    project = project_of(case("03"))
    project.run("results/scorers/predictions/letters/elsewhere/toxic.parquet")
    results = project.folder / "results/scorers"
    scores = pl.read_parquet(results / "predictions/letters/elsewhere/toxic.parquet")
    texts = pl.read_parquet(results / "instances/letters/elsewhere.parquet")["text"].cast(pl.String)
    classify = pipeline("text-classification", str(project.folder / "config/model"), top_k=None)
    wanted = [next(each["score"] for each in found if each["label"] == "toxic") for found in classify(texts.to_list())]
    assert scores["score"].to_list() == pytest.approx(wanted, abs=1e-6)


def test_thoughts_in_other_brackets(case: Make) -> None:
    (said,) = answers(str(case("04") / "model"), "Is the sky blue ?")
    assert (said["response"], said["status"]) == ("No", "ok")


@pytest.mark.parametrize(("number", "mode"), [("05", "list"), ("07", "broken")])
def test_answers_of_unusual_servers(case: Make, number: str, mode: str) -> None:
    folder, out = case(number), "results/predictions/s/hosted/1-of-1.parquet"
    with served(folder, mode) as at:
        project = project_of(folder, **{"127.0.0.1:18555": at, "concurrency: 4": "concurrency: 4, attempts: 2"})
        said = project.run("--retries", "0", "--", out, succeeds=mode == "list")
    store = (project.folder / "results/.answers/s/hosted/requests.jsonl").read_text().splitlines()
    kept = [line for line in map(json.loads, store) if "text" in line]
    if mode == "list":
        assert {line["text"] for line in kept} == {"Yes"}
        assert len(kept) == pl.read_parquet(project.folder / out).height == 16
    else:
        assert kept == []
        assert "it ended with 'error'" in said
        assert "16 of 16 requests have no answer" in said


def test_a_server_that_refuses_max_completion_tokens(case: Make) -> None:
    with served(case("06"), "strict") as at:
        (said,) = answers(f"http://{at}/v1", "--name", "m", "Is the sky blue? Yes or No? | Yes | No")
    assert said["scored_by"] == "parsed"


def test_a_model_that_also_takes_pictures(case: Make) -> None:
    folder = case("08")
    refused = ask(str(folder / "model"), BLUE)
    assert "8" in refused.stderr + refused.stdout
    project = project_of(folder)
    assert "expected at most 8 together" in project.run("results/predictions/s/pictures/1-of-1.parquet", succeeds=False)


def test_a_template_with_todays_date(case: Make) -> None:
    project = project_of(case("09"))
    out = project.folder / "results/predictions/s/dated/1-of-1.parquet"
    project.run(str(out.relative_to(project.folder)))
    assert "date" in json.dumps(read_provenance(out))
