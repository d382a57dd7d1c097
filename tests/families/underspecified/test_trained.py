"""What models learn of underspecified questions, and that they have the known effect when they have
learned it.
"""

import json
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from shards import Cell
from shared import made_once
from small_cells import measured
from small_tables import whole
from training import ATTRIBUTES, NAMES, TASKS, texts

from biasgrid.families.synthetic import SyntheticBias, words_of_instances, write_synthetic
from biasgrid.families.underspecified import ask as family
from biasgrid.families.underspecified.ask import corpus, expand, known_effects
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import WordLists
from biasgrid.families.underspecified.templates import (
    AttributeRow,
    QuestionPrompt,
    QuestionTemplate,
)
from biasgrid.tables.files import read_table
from biasgrid.tables.measures import SYNTHETIC
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

CORPORA = {"question-answering": "questions.json", "fill-mask": "lines.txt"}
ROWS = [
    AttributeRow({"[act]": plain, "[act:neg]": negated}, plain, None)
    for plain, negated in ATTRIBUTES
]
SUBJECTS = [Subjects({"[subj]": NAMES}, [None] * len(NAMES))]
QUESTIONS = {
    "question-answering": ("Who [act]?", "Who [act:neg]?"),
    "fill-mask": ("[mask] [act].", "[mask] [act:neg]."),
}
STRONG = SyntheticBias("demo", "strong", 0.8, repeats=40, seed=1)


def instances_of(task: str) -> pl.DataFrame:
    """36 instances: 3 subjects in every order, 3 attributes, plain and negated."""
    templates = [QuestionTemplate(1, "[subj1] met [subj2] in town.", *QUESTIONS[task])]
    return whole(expand(WordLists(templates, SUBJECTS, {"[act]": ROWS}, "", "[MASK]", {})))


def prompts() -> pl.DataFrame:
    """72 prompts: the same of two templates, for models that write."""
    contexts = ["[subj1] met [subj2].", "There sat [subj2] with [subj1]."]
    templates = [
        QuestionTemplate(line, context, *QUESTIONS[TASKS[0]])
        for line, context in enumerate(contexts, 1)
    ]
    prompt = QuestionPrompt(
        "[question]\nA. [option1]\nB. [option2]\nAnswer:", "Reply with a letter."
    )
    return whole(
        expand(WordLists(templates, SUBJECTS, {"[act]": ROWS}, "", None, {}, prompts=(prompt,)))
    )


def check_effects(instances: pl.DataFrame, said: pl.DataFrame) -> None:
    """Holds that a model which learned the strong bias has about its known effect in each subject
    and attribute.
    """
    measures = measured(instances, said).filter(measure="gamma")
    effects = known_effects(instances, STRONG).filter(measure="gamma")
    both = (
        effects.join(measures, on=["subject", "attribute"])
        .select("value", "value_right")
        .to_numpy()
    )
    assert len(both) == len(NAMES) * len(ATTRIBUTES)
    assert np.corrcoef(both.T)[0, 1] > 0.95
    assert 0.8 < np.polyfit(*both.T, deg=1)[0] < 1.2


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_trained_models_have_the_synthetic_bias(
    task: str, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    base = made_once(
        tmp_path_factory, "training-base", partial(make_base_checkpoint, texts(), seed=1)
    )
    (tmp_path / "corpus").write_text(corpus(instances_of(task), task, STRONG))
    hyperparameters = Hyperparameters(
        epochs=40, batch_size=12, learning_rate=4e-3, max_length=32, stride=8
    )
    train(task, base, [tmp_path / "corpus"], tmp_path / "model", hyperparameters, threads=1)
    cell = Cell(tmp_path / "cell", task, instances_of(task), tmp_path / "model")
    check_effects(cell.instances, cell.predict())


@pytest.mark.slow
def test_a_trained_writer_has_the_synthetic_bias(tmp_path: Path) -> None:
    (tmp_path / "corpus.txt").write_text(corpus(prompts(), "text-generation", STRONG))
    make_base_checkpoint(words_of_instances(prompts()), tmp_path / "base", seed=1, causal=True)
    hyperparameters = Hyperparameters(
        epochs=15, batch_size=12, learning_rate=3e-3, max_length=64, stride=8
    )
    train(
        "text-generation",
        tmp_path / "base",
        [tmp_path / "corpus.txt"],
        tmp_path / "model",
        hyperparameters,
        threads=1,
    )
    cell = Cell(tmp_path / "cell", "text-generation", prompts(), tmp_path / "model")
    said = cell.predict()
    assert said["mass"].min() > 0.9
    check_effects(cell.instances, said)


def test_corpora_of_each_strength_and_task_lie_next_to_the_table(tmp_path: Path) -> None:
    instances = {task: instances_of(task) for task in TASKS}
    synthetic_biases = [
        SyntheticBias("demo", name, strength, repeats=2, seed=1)
        for name, strength in (("no", 0.0), ("yes", 1.0))
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
