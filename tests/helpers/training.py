"""What tiny models are trained on in tests."""

import json
from pathlib import Path
from typing import Any

import polars as pl
from small_tables import whole

from biasgrid.families.underspecified.expand import expand
from biasgrid.families.underspecified.pack import AttributeRow, QuestionTemplate, Subjects, WordLists
from biasgrid.training.train import Hyperparameters

TASKS = ["question-answering", "fill-mask"]
NAMES = ["Ann", "Bea", "Mary-Lou"]
ATTRIBUTES = [("ran far", "never ran far"), ("sang", "kept silent"), ("won a prize", "lost")]
CONTEXT = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
FEW = Hyperparameters(epochs=2, batch_size=4, learning_rate=1e-3, max_length=32, stride=8)


def instances_of(task: str) -> pl.DataFrame:
    """36 instances: 3 subjects in every order, 3 attributes, plain and negated."""
    question = ("[mask] [act].", "[mask] [act:neg].") if task == "fill-mask" else ("Who [act]?", "Who [act:neg]?")
    attributes = [AttributeRow({"[act]": plain, "[act:neg]": negated}, plain, None) for plain, negated in ATTRIBUTES]
    subjects = Subjects({"[subj]": NAMES}, [None] * 3)
    templates = [QuestionTemplate(1, "[subj1] met [subj2] in town.", *question)]
    return whole(expand(WordLists(templates, [subjects], {"[act]": attributes}, "", "[MASK]", {})))


def texts() -> list[str]:
    clusters = [instances_of(task) for task in TASKS]
    columns = [cluster[name].cast(pl.String) for cluster in clusters for name in ("text_pair", "text")]
    return [*pl.concat(columns).to_list(), CONTEXT]


def written(folder: Path, content: Any) -> Path:
    path = folder / "data"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path
