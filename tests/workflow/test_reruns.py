"""What runs again after a change, and what does not."""

import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from project import Project

AGGREGATES = Counter(summary=1, plot=1, report=1, manifest=1)


@pytest.fixture
def project(finished: Project, tmp_path: Path) -> Project:
    return finished.clone(tmp_path / "clone")


def edit(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after, 1))


def test_a_second_run_does_nothing(project: Project):
    assert project.planned() == {}


def test_fresh_file_times_and_comments_run_nothing_again(project: Project):
    for folder in ("src", "workflow", "rules", "word_lists", "config", "profiles"):
        for path in (project.folder / folder).rglob("*"):
            os.utime(path)
    os.utime(project.folder / "Snakefile")
    edit(
        project.folder / "src/biasgrid/inference/models/predict.py",
        "ROWS_IN_MEMORY =",
        "# A comment.\nROWS_IN_MEMORY =",
    )
    edit(
        project.folder / "workflow/scripts/predict.py",
        "from biasgrid.inference.engine",
        "# A comment.\nfrom biasgrid.inference.engine",
    )
    edit(project.folder / "word_lists/templates/gender-qa.txt", "\n", "\n# A comment.\n")
    assert project.planned() == {}


def test_moved_and_renamed_word_lists_run_nothing_again(project: Project):
    lists = project.folder / "word_lists"
    config = project.read_config()
    for entry in config["datasets"].values():
        for key in ("subjects", "attributes"):
            names = entry[key] if key == "subjects" else [entry[key]]
            for name in names:
                (lists / name).rename(lists / name.replace("/", "-"))
        entry["subjects"] = [name.replace("/", "-") for name in entry["subjects"]]
        entry["attributes"] = entry["attributes"].replace("/", "-")
    lists.rename(project.folder / "lists")
    project.write_config(config | {"word_lists": "lists"})
    assert project.planned() == {}


def test_other_files_in_a_models_folder_run_nothing_again(project: Project):
    config = project.read_config()
    folder = Path(config["models"]["answering"]["folder"])
    copy = shutil.copytree(folder, project.folder / "copy")
    config["models"]["answering"]["folder"] = str(copy)
    project.write_config(config)
    project.run("results/models/answering.json")
    before = project.planned("results/models/answering.json")
    (copy / "notes.txt").write_text("mine")
    (copy / "runs.old").mkdir()
    (copy / "pytorch_model.bin").write_text("not asked for beside safe weights")
    assert before == project.planned("results/models/answering.json") == {}
    (copy / "config.json").write_text((copy / "config.json").read_text() + " ")
    assert project.planned("results/models/answering.json") == {"fetch": 1}


def test_settings_of_speed_run_nothing_again(project: Project):
    config = project.read_config()
    config["inference"] |= {"token_budget": 256, "device": "auto"}
    project.write_config(config)
    assert project.planned("--cores", "1") == {}


def test_a_new_model_runs_its_cells_and_what_aggregates_them(project: Project):
    config = project.read_config()
    config["run"]["models"].append("spare")
    project.write_config(config)
    assert project.planned() == AGGREGATES + Counter(
        fetch=1, predict=3, measure=2, statistics=2, compare=2, plot=2
    )


def test_a_removed_model_runs_only_what_aggregates(project: Project):
    config = project.read_config()
    config["run"]["models"].remove("masked")
    project.write_config(config)
    assert project.planned() == AGGREGATES + Counter(compare=2, plot=2)


def test_changed_templates_run_only_their_dataset(project: Project):
    edit(project.folder / "word_lists/templates/religion-qa.txt", "library", "museum")
    assert project.planned() == AGGREGATES + Counter(
        expand=1, predict=1, measure=1, statistics=1, compare=1, plot=1
    )


def test_changed_inference_code_runs_inference_again_of_the_tasks_that_it_serves(project: Project):
    edit(
        project.folder / "src/biasgrid/inference/models/extractive/candidates.py",
        "DETERMINERS =",
        "UNUSED = 1\nDETERMINERS =",
    )
    assert project.planned() == AGGREGATES + Counter(
        predict=3, measure=2, statistics=2, compare=2, plot=2
    )
    edit(
        project.folder / "src/biasgrid/inference/engine/audit.py",
        "AUDIT_ROWS =",
        "UNUSED = 1\nAUDIT_ROWS =",
    )
    assert project.planned() == AGGREGATES + Counter(
        predict=6, measure=4, statistics=4, compare=2, plot=2
    )


def test_changed_precision_runs_inference_again(project: Project):
    config = project.read_config()
    config["inference"]["precision"] = "bfloat16"
    project.write_config(config)
    assert project.planned() == AGGREGATES + Counter(
        predict=6, measure=4, statistics=4, compare=2, plot=2
    )
