"""What is written of a synthetic dataset."""

import json
from pathlib import Path

import polars as pl
from training import TASKS, instances_of

from biasgrid.families.synthetic import SyntheticBias, line_of_answers, words_of_instances, write_synthetic
from biasgrid.families.underspecified import synthetic as family
from biasgrid.tables.files import read_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.training.corpora import words_for

CORPORA = {"question-answering": "questions.json", "fill-mask": "lines.txt"}


def test_corpora_of_each_strength_and_task_lie_beside_the_table(tmp_path: Path) -> None:
    instances = {task: instances_of(task) for task in TASKS}
    synthetic_biases = [
        SyntheticBias("demo", name, strength, repeats=2, seed=1) for name, strength in (("no", 0.0), ("yes", 1.0))
    ]
    path = tmp_path / "synthetic.parquet"
    write_synthetic(family, instances, synthetic_biases, CORPORA, path, {})
    files = {str(file.relative_to(tmp_path)) for file in tmp_path.rglob("*") if file.is_file()}
    corpora = {f"{strength}/{name}" for strength in ("no", "yes") for name in CORPORA.values()}
    assert files == {"synthetic.parquet", "words.json"} | corpora
    synthetic = read_table(path, SYNTHETIC)
    assert synthetic["strength"].unique(maintain_order=True).to_list() == ["no", "yes"]
    assert synthetic.filter(strength="no")["value"].abs().max() == 0
    assert len(json.loads((tmp_path / "no/questions.json").read_text())["data"]) == 1
    assert (tmp_path / "no/lines.txt").read_text() != (tmp_path / "yes/lines.txt").read_text()
    words = json.loads((tmp_path / "words.json").read_text())
    assert list(words) == TASKS
    assert all(of_task == sorted(set(of_task)) for of_task in words.values())
    common = {"Ann", "Mary-Lou", "town."}
    assert common | {"Who", "far?"} <= set(words["question-answering"])
    assert common | {"[MASK]", "far."} <= set(words["fill-mask"])


def test_models_know_what_models_of_their_sort_are_asked() -> None:
    words = json.dumps(
        {"question-answering": ["Who", "Ann"], "fill-mask": ["Ann", "[MASK]"], "text-generation": ["A."]}
    )
    assert words_for("question-answering", words) == words_for("fill-mask", words) == ["Ann", "Who", "[MASK]"]
    assert words_for("text-generation", words) == ["A."]


def test_system_texts_and_answers_are_known_and_written() -> None:
    row = {"system": "Be brief.", "text_pair": None, "text": "True\nor not?", "candidate1": "Yes", "candidate2": "No"}
    instances = pl.DataFrame([row], schema_overrides={"text_pair": pl.String})
    assert words_of_instances(instances) == ["Be", "No", "True", "Yes", "brief.", "not?", "or"]
    assert line_of_answers(row, (1, 2)) == "Be brief. True or not?\tYes\tNo\tNo"
