"""What a user reads when something is wrong, through Snakemake."""

from pathlib import Path
from typing import Any

from project import Project


def test_a_typo_in_the_config_names_key_value_and_nearest_name(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(tmp_path / "project", small_config)
    config = project.read_config()
    config["run"]["models"] = ["maskd"]
    config["inference"]["precison"] = "float32"
    project.write_config(config)
    output = project.run("--dry-run", succeeds=False)
    assert "config/small.yaml, inference.precison: unknown key (did you mean 'precision'?)" in output
    assert "Traceback" not in output


def test_faulty_word_lists_are_reported_before_any_work(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(tmp_path / "project", small_config)
    templates = project.folder / "word_lists/templates/religion-qa.txt"
    templates.write_text(templates.read_text().replace("\tWho", " Who", 1))
    subjects = project.folder / "word_lists/subjects/religion.txt"
    subjects.write_text(subjects.read_text() + "[subj] Amish\n")
    output = project.run(succeeds=False)
    assert "religion-qa.txt, line" in output
    assert "2 tab-separated fields; expected 3" in output
    assert "subject 'Amish' stands already in line" in output
    assert not (project.folder / "results").exists()


def test_a_missing_folder_of_a_model_fails_with_its_name(small_config: dict[str, Any], tmp_path: Path):
    project = Project.create(tmp_path / "project", small_config)
    config = project.read_config()
    config["models"]["masked"]["folder"] = "nowhere"
    project.write_config(config)
    output = project.run("results/models/masked.json", succeeds=False)
    assert "there is no folder nowhere; expected a checkpoint" in output


def test_snakemake_writes_its_own_report(finished: Project, tmp_path: Path):
    project = finished.clone(tmp_path / "clone")
    project.run("--report", "report.html")
    assert "Bias intensity mu of every model" in (project.folder / "report.html").read_text()
