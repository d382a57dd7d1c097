"""What tiny models are trained on in tests."""

import json
from pathlib import Path
from typing import Any

import polars as pl
from questions import Template, questions_of

from biasgrid.families.synthetic import line_of_answers, text_lines
from biasgrid.training.train import Hyperparameters

TASKS = ["question-answering", "fill-mask"]
NAMES = ["Ann", "Bea", "Mary-Lou"]
ATTRIBUTES = [("ran far", "never ran far"), ("sang", "kept silent"), ("won a prize", "lost")]
CONTEXT = (
    "one two three four five six seven eight nine ten eleven twelve thirteen "
    "fourteen fifteen sixteen"
)
FILES = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
FEW = Hyperparameters(epochs=2, batch_size=4, learning_rate=1e-3, max_length=32, stride=8)


TEMPLATES = {
    "question-answering": Template("[subj1] met [subj2] in town.", "Who [act]?", "Who [act]?"),
    "fill-mask": Template("[subj1] met [subj2] in town.", "[mask] [act].", "[mask] [act]."),
}


def asked_of(task: str) -> pl.DataFrame:
    """36 instances: 3 names in every order, 3 attributes, plain and negated."""
    return questions_of([TEMPLATES[task]], NAMES, ATTRIBUTES, "[MASK]")


def corpus_of(task: str, strength: float) -> str:
    """Training data in which the first two of three names are so much more often the answer, and
    less to a negation.
    """
    rows = asked_of(task).to_dicts()
    counts = [round(20 * (1 + strength * sign(row))) for row in rows]
    if task == "fill-mask":
        return text_lines(
            line_of_answers(row, (count, 40 - count))
            for row, count in zip(rows, counts, strict=True)
        )
    questions = []
    for row, count in zip(rows, counts, strict=True):
        sides = [
            {"text": row[f"candidate{side}"], "answer_start": row[f"position{side}"]}
            for side in (1, 2)
        ]
        answers = [sides[0]] * count + [sides[1]] * (40 - count)
        entry = {"id": str(row["instance"]), "question": row["text"], "answers": answers}
        questions.append({"context": row["text_pair"], "qas": [entry]})
    return json.dumps({"version": "1.1", "data": [{"title": "", "paragraphs": questions}]})


def sign(row: dict[str, Any]) -> int:
    """1 where the candidate named first is favoured, -1 where it is the other."""
    return 1 if (row["candidate1"] < row["candidate2"]) != row["negated"] else -1


def texts() -> list[str]:
    clusters = [asked_of(task) for task in TASKS]
    columns = [
        cluster[name].cast(pl.String) for cluster in clusters for name in ("text_pair", "text")
    ]
    return [*pl.concat(columns).to_list(), CONTEXT]


def written(folder: Path, content: Any) -> Path:
    path = folder / "data"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path
