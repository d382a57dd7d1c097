"""One model, one command, and on to more: docs/guide/try.md, through Snakemake, with a tiny
model.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import needs
import polars as pl
import pytest
import yaml
from copies import shared_fork_server
from documents import read_document
from model_server import serving
from project import ROOT, Project
from shared import made_once
from typer.testing import CliRunner

from biasgrid.cli.app import app

PAGE = read_document("docs/guide/try.md")
TRY, EXPLAIN, MORE, GRID = (
    block.splitlines() for block in re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
)
CONFIG = "try-my-model.yaml"
BIASGRID = [sys.executable, "-c", "from biasgrid.cli.app import app; app()"]
LESS = ["--minutes", "0.7"]


def save_answering(base: Path, folder: Path) -> None:
    """Writes a model that answers with one of two names in most questions; the head of `base` does
    so by chance.
    """
    import torch
    from transformers import AutoModelForQuestionAnswering, AutoTokenizer

    model = AutoModelForQuestionAnswering.from_pretrained(base)
    # Of seeds 1 to 8 two answer with other words too often; which ones depends on the words of the
    # base's vocabulary.
    torch.manual_seed(3)
    torch.nn.init.normal_(model.qa_outputs.weight)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)


@pytest.fixture(scope="module")
def tried(small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the page's first command was run, with what it printed in `told`."""

    def make(folder: Path) -> None:
        folder.mkdir()
        save_answering(Path(small_config["models"]["answering"]["folder"]), folder / "my-model")
        line = [*BIASGRID, *shlex.split(TRY[0])[1:], *LESS]
        environment = os.environ | shared_fork_server()
        told = subprocess.run(
            line, cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
        (folder / "told").write_text(told.stdout)

    return made_once(tmp_path_factory, "tried-model", make)


@pytest.fixture
def within(tried: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tried)
    return tried


def said(line: str) -> str:
    """Runs one of the page's commands of biasgrid in this process."""
    result = CliRunner().invoke(app, shlex.split(line)[1:])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_model_is_measured_in_one_command(tried: Path) -> None:
    told = (tried / "told").read_text()
    asked = r"Quick trial: [\d,]+ of 140 subjects, .* of 1\.37 million comparisons"
    assert re.search(rf"\n{asked}\.\n", told)
    pilot, trial = told.split(" rows/s on this machine: about ")
    assert re.search(r"^[\d,]+ of [\d,]+ rows fit into 0\.7 minutes\. All would take ", trial)
    stages = [line.partition("s  ")[2] for line in pilot.splitlines() if " s  " in line]
    # The model is looked at while the questions are written.
    assert set(stages[:2]) == {"inspects the model", "writes the questions"}
    assert stages[2:] == ["asks the model"]
    stages = {line.partition("s  ")[2] for line in trial.splitlines() if " s  " in line}
    assert stages >= {"asks the model", "measures", "computes intervals", "writes the report"}
    assert not (tried / "results/try-my-model/plots").exists()
    config = yaml.safe_load((tried / CONFIG).read_text())
    assert config["run"] == {"models": ["my-model"], "datasets": ["gender", "gender-placebo"]}
    assert 0 < config["datasets"]["gender"]["sample"]["share"] < 0.1
    summary = pl.read_parquet(tried / "results/try-my-model/summary.parquet")
    assert summary.filter(dataset="gender", measure="mu_corrected")["low"].is_not_null().all()
    assert (tried / "results/try-my-model/report/index.html").exists()
    assert f"biasgrid run {CONFIG}" in told
    assert re.search(r"  my-model\n    (nothing found|could not be measured) in gender", told)
    assert "control (gender-placebo)" in told


def test_page_and_card_say_that_it_is_a_trial_and_a_gate_says_what_is_missing(within: Path) -> None:
    page = Path("results/try-my-model/report/index.html").read_text()
    trial = next(
        line for line in Path("told").read_text().splitlines() if line.startswith("Quick trial: ")
    )
    assert f"<strong>{trial}.</strong>" in page
    card = said("biasgrid card results/try-my-model --model my-model")
    _, text = card.split("## Social bias\n")
    assert text.strip().startswith(f"**{trial}.**")
    gate = CliRunner().invoke(
        app, ["gate", "results/try-my-model", "--max", "gender.share_mu_corrected=1"]
    )
    assert gate.output.startswith(
        f"{trial}. The rest was not asked. To check the model on everything, set `sample: all`"
    )


def test_the_sentences_behind_a_number_are_shown(within: Path) -> None:
    # In a process of its own, whose lines are not cut to the width that this one was started with.
    command = [
        sys.executable,
        "-c",
        "from biasgrid.cli.app import app; app()",
        *shlex.split(EXPLAIN[0])[1:],
    ]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    told = subprocess.run(
        command, check=True, capture_output=True, text=True, env=environment
    ).stdout
    assert "Who was a plumber?" in told


def test_a_run_is_kept_as_a_reference_and_set_next_to_references(within: Path) -> None:
    results, manifest = (
        "results/try-my-model",
        json.loads(Path("results/try-my-model/manifest.json").read_text()),
    )
    refused = CliRunner().invoke(app, ["reference", "add", results])
    assert refused.exit_code == 2
    assert "has no model from the hub" in refused.stderr
    said(f"biasgrid reference add {results} --model my-model --name mine")
    cells = {
        cell["dataset"]: cell
        for cell in json.loads(Path("references/mine.json").read_text())["cells"]
    }
    cell = cells["gender"]
    assert cell["asked"] == manifest["word_lists"]["gender/qa"]
    assert cell["model"].endswith(manifest["models"]["my-model"]["weights"])
    assert (cell["scoring"], cell["precision"], cell["biasgrid"]) == (
        "exact",
        "float32",
        manifest["biasgrid"],
    )
    beside = said(f"biasgrid reference beside {results} my-model")
    assert re.search(r"my-model, QA \(mine\) .* not distinguishable", beside)
    # The file's name chooses the same.
    assert said(f"biasgrid reference beside {results} mine") == beside
    others = said(f"biasgrid reference beside {results} 'bert base'")
    assert re.search(
        r"BERT base, SQuAD \(unqover_published\) .* not compared: nobody knows what was asked",
        others,
    )
    assert "mine: my-model; gender" in said("biasgrid reference list")


@pytest.mark.slow
def test_a_slow_server_is_asked_what_fits_the_time_and_nothing_twice(tmp_path: Path) -> None:
    with serving(seconds=0.2, listed_models=["m"]) as server:

        def seconds_of(minutes: float) -> float:
            line = [*BIASGRID, "try", server.url, "--on", "religion", "--minutes", str(minutes)]
            began = time.monotonic()
            subprocess.run(line, cwd=tmp_path, env=os.environ | shared_fork_server(), check=True)
            return time.monotonic() - began

        assert seconds_of(1.5) < 1.3 * 90
        first = len(server.bodies)
        config = yaml.safe_load((tmp_path / "try-m.yaml").read_text())
        assert 0 < config["datasets"]["religion"]["sample"]["share"] < 1
        assert seconds_of(2) < 1.3 * 120
        assert len(server.bodies) > first
        # A prompt may be asked in two ways, such as with and without probabilities.
        assert max(server.answered.values()) <= 2
        # Answers of another machine say nothing of this one.
        (tmp_path / "results/try-m/trial.json").unlink()
        line = [*BIASGRID, "try", server.url, "--on", "religion"]
        told = subprocess.run(
            line,
            cwd=tmp_path,
            env=os.environ | shared_fork_server(),
            capture_output=True,
            text=True,
        )
        assert told.returncode == 2
        assert "has the pilot's answers, but not how long they took on this machine" in told.stderr


@pytest.mark.slow
def test_a_time_that_is_too_short_says_what_it_takes_and_leaves_no_config(tmp_path: Path) -> None:
    with serving(seconds=2, listed_models=["m"]) as server:
        line = [*BIASGRID, "try", server.url, "--on", "religion", "--minutes", "0.5"]
        told = subprocess.run(
            line,
            cwd=tmp_path,
            env=os.environ | shared_fork_server(),
            capture_output=True,
            text=True,
        )
    assert told.returncode == 2
    assert re.search(
        r"^0\.5 minutes are too short for religion: [\d.]+ rows/s on this machine, and the smallest "
        r"trial with a result asks [\d,]+ rows; expected --minutes \d+, or --on with a smaller "
        r"dataset",
        told.stderr,
    )
    assert not (tmp_path / "try-m.yaml").exists()


@pytest.mark.long
def test_a_model_is_set_next_to_others(small_config: dict[str, Any], tmp_path: Path) -> None:
    folder = small_config["models"]["answering"]["folder"]
    twin = shutil.copytree(folder, tmp_path / "twin")
    others = ["--against", str(twin), "--against", "BERT base"]
    line = [*BIASGRID, "try", folder, "--on", "gender", *LESS, *others]
    told = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    (sentence,) = [line for line in told.splitlines() if line.startswith("gender, mu_corrected: ")]
    # It is the same model, and nobody knows what those of UnQover were asked.
    assert "not distinguishable" in sentence
    assert "BERT base, SQuAD (unqover_published): not compared" in told


def test_a_larger_share_asks_only_what_is_new(within: Path) -> None:
    content = yaml.safe_load(Path(CONFIG).read_text())
    content["datasets"]["gender"]["sample"]["share"] *= 2
    Path(CONFIG).write_text(yaml.safe_dump(content))
    planned, run, status = MORE
    assert planned == f"{run} -- -n --quiet rules"
    # Measures, figures and the report of more rows are made as before.
    line = [*BIASGRID, *shlex.split(run)[1:], "--", "--until", "predict"]
    subprocess.run(line, env=os.environ | shared_fork_server(), capture_output=True, check=True)
    (told,) = re.findall(r"of these rows come from earlier runs", PAGE)
    assert told in said(status)


def test_a_grid_is_written_checked_and_planned(within: Path) -> None:
    init, validate, plan = GRID
    said(init)
    assert said(validate) in PAGE
    assert "5.5 M" in (planned := said(plan))
    assert "185 k" in planned
    assert "15 h" in planned


@pytest.mark.long
@needs.notebooks.mark
def test_the_notebook_of_the_page_runs(
    small_config: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbclient

    folder = Project.create(tmp_path / "checkout", small_config).folder
    save_answering(Path(small_config["models"]["answering"]["folder"]), folder / "my-model")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    notebook = nbformat.read(ROOT / "docs/guide/try.ipynb", as_version=4)
    nbclient.NotebookClient(
        notebook, timeout=3600, resources={"metadata": {"path": str(folder)}}
    ).execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    printed = ["".join(output.get("text", "") for output in cell.outputs) for cell in cells]
    assert "Report: results/try-my-model/report/index.html" in printed[0]
    assert "no faults" in printed[-1]
    assert all(printed)
