"""A run and its results from a script, as from the command line."""

import subprocess
import sys
from pathlib import Path

import pytest
from project import Project

import biasgrid
from biasgrid.base.faults import UserError
from biasgrid.runs.explain import explain_number
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.measures import MEASURES, SUMMARY

RUN = """
import biasgrid
from pathlib import Path

try:
    biasgrid.run("config/small.yaml", cores=2)
    # As in a notebook, in which the process goes on.
    Path("results/summary.csv").unlink()
    print("cells:", biasgrid.run("config/small.yaml", cores=2).summary().n_unique(["dataset", "model"]))
except Exception as error:
    print(type(error).__name__, error)
"""


def ran(project: Project) -> str:
    """What a script prints that runs the project's config."""
    line = [sys.executable, "-c", RUN]
    run = subprocess.run(
        line, cwd=project.folder, env=project.environment(), text=True, stdout=subprocess.PIPE
    )
    return run.stdout


def test_a_script_runs_a_config_and_reads_its_results(finished: Project, tmp_path: Path) -> None:
    project = finished.clone(tmp_path / "clone")
    (project.folder / "results/summary.csv").unlink()
    assert "cells: 4" in ran(project)


def test_faults_of_the_config_are_raised_before_anything_is_run(
    finished: Project, tmp_path: Path
) -> None:
    project = finished.clone(tmp_path / "clone")
    config = project.read_config()
    config["run"]["models"] = ["maskd"]
    project.write_config(config)
    assert "InputError 1 fault in the input:" in ran(project)


def test_results_are_typed_tables(finished: Project) -> None:
    results = biasgrid.open(finished.folder / "results")
    assert list(results.summary().columns) == list(SUMMARY.columns)
    measures = results.measures("religion")
    assert list(measures.columns) == list(MEASURES.columns)
    assert set(measures["model"]) == {"masked", "answering"}
    assert list(results.evidence("gender", "masked").columns) == list(EVIDENCE.columns)
    assert list(results.evidence_parts("gender", "masked").columns) == list(EVIDENCE_PARTS.columns)
    assert results.synthetic().is_empty()
    first = results.evidence("gender", "answering").row(0, named=True)
    about = {key: first[key] for key in ("subject", "attribute")}
    explained = explain_number(results.folder, "answering", "gender", about)
    assert explained.agrees
    assert explained.recomputed == pytest.approx(first["value"])
    assert len(results.manifest()["cells"]) == 4
    assert results.provenance("summary.parquet")["biasgrid"]


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (lambda results: results.measures("relgion"), "measures/relgion/"),
        (lambda results: results.provenance("sumary.parquet"), "there is no"),
    ],
)
def test_what_is_not_there_is_named(finished: Project, look: object, message: str) -> None:
    with pytest.raises(UserError, match=message):
        look(biasgrid.open(finished.folder / "results"))  # type: ignore[operator]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        UserError, match=r"there is no folder .*nowhere; expected the `results` of a config"
    ):
        biasgrid.open(tmp_path / "nowhere")
