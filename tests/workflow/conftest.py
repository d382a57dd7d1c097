from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import needs
import pytest
import yaml
from golden_runs import golden_results
from installed import install_wheel
from project import ROOT, Project
from shared import made_once
from slurm_cluster import SlurmCluster, SlurmProject, slurm_cluster
from tiny_checkpoints import save_models_of_lists

from biasgrid.runs.results import Results


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks all tests of this folder: they need Snakemake."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.workflow)


def dataset(name: str, subjects: list[str], attributes: str, shards: int) -> dict[str, Any]:
    lists = [f"subjects/{subject}.txt" for subject in subjects]
    return {
        "title": name.capitalize(),
        "subjects": lists,
        "attributes": f"attributes/{attributes}.txt",
        "shards": shards,
        "limit": {"templates": 2, "subjects": 3, "attributes": 3},
        "variants": {
            "qa": {"templates": f"templates/{name}-qa.txt"},
            "lm-tiny": {"templates": f"templates/{name}-lm.txt"},
        },
    }


ALL_IS_VALID = {
    "equal_scores": 1,
    "improbable": 1,
    "neither_subject": 1,
    "accuracy": 0,
    "exchanged_labels": 1,
}
"""Limits that random models are within."""


@pytest.fixture(scope="session")
def small_config(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two tiny random models and two small datasets; subjects of the masked LM are filtered by its
    tokenizer.
    """
    lists = Path("word_lists").glob("*/*.txt")
    folder = made_once(tmp_path_factory, "small-checkpoints", partial(save_models_of_lists, lists))
    masked = {
        "task": "fill-mask",
        "variant": "lm-tiny",
        "kind": "LM",
        "label": "tiny",
        "folder": str(folder / "lm"),
    }
    answering = {
        "task": "question-answering",
        "variant": "qa",
        "kind": "QA",
        "label": "tiny",
        "folder": str(folder / "qa"),
    }
    return {
        "title": "A small grid",
        "inference": {"device": "cpu"},
        "validity": ALL_IS_VALID,
        "tokenizers": {"tiny": {"mask": "[MASK]", "folder": str(folder / "lm")}},
        "models": {
            "masked": masked,
            "answering": answering,
            "spare": answering | {"label": "spare"},
        },
        "datasets": {
            "gender": dataset("gender", ["female", "male"], "occupation", shards=2),
            "religion": dataset("religion", ["religion"], "religion", shards=1),
        },
        "run": {"models": ["masked", "answering"], "datasets": ["gender", "religion"]},
    }


@pytest.fixture(scope="session")
def biasgrid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an installed wheel."""
    return made_once(tmp_path_factory, "installed-wheel", install_wheel) / "venv/bin/biasgrid"


@pytest.fixture(scope="session")
def finished(small_config: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project whose grid has been run to the end; tests work on clones of it."""
    return Project.finished(tmp_path_factory, "finished", small_config)


@pytest.fixture(scope="session")
def failed(finished: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The finished grid, run again after the instances of one cell were damaged; tests work on
    clones of it.
    """
    return Project(made_once(tmp_path_factory, "failed", partial(run_with_damage, finished)))


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """What a run makes of all golden cells."""
    return golden_results(tmp_path_factory)


def run_with_damage(finished: Project, folder: Path) -> None:
    project = finished.clone(folder)
    results = project.folder / "results"
    (results / "predictions/religion/answering/1-of-1.parquet").unlink()
    (results / "instances/religion/qa.parquet").write_bytes(b"PAR1")
    project.run(succeeds=False)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """The SLURM on which each SlurmProject runs."""
    needs.slurm.require()
    needs.root.require()
    with slurm_cluster(tmp_path_factory.mktemp("slurm")) as running:
        SlurmProject.cluster = running
        yield running


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The demo, run to the end: what all families share is asked of it."""
    return finished_demo(tmp_path_factory, "demo")


@pytest.fixture(scope="session", params=["demo", pytest.param("demo-full", marks=pytest.mark.long)])
def either(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The demo, and in the long tests the full one, too."""
    return finished_demo(tmp_path_factory, request.param)


@pytest.fixture(scope="session")
def full_demo(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return finished_demo(tmp_path_factory, "demo-full")


def finished_demo(factory: pytest.TempPathFactory, name: str) -> Project:
    file = f"config/{name}.yaml"
    return Project.finished(factory, name, yaml.safe_load((ROOT / file).read_text()), file)
