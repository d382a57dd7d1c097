"""How classifiers are trained on lines of JSON."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shards import Cell, asked
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from biasgrid.base.faults import InputError
from biasgrid.training.class_data import class_data
from biasgrid.training.tiny import make_base_checkpoint
from biasgrid.training.train import Hyperparameters, train

TASK = "text-classification"
LABELS = ["bad", "good"]
RIGHT = {
    "bad": ["It rained on {}.", "{} lost a hat."],
    "good": ["{} won a prize.", "The sun shone on {}."],
}
ROWS = [
    {"text": text.format(name), "label": label}
    for label, texts in RIGHT.items()
    for text in texts
    for name in ("Ann", "Bea", "Carl")
]
FEW = Hyperparameters(epochs=2, batch_size=4, learning_rate=1e-3, max_length=12)


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    make_base_checkpoint([row["text"] for row in ROWS], folder, seed=1)
    return folder


def written(folder: Path, rows: list[Any]) -> Path:
    path = folder / "data.jsonl"
    path.write_text(
        "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows) + "\n\n"
    )
    return path


def train_on(
    rows: list[Any], base: Path, folder: Path, labels: list[str] = LABELS, **changes: Any
) -> Path:
    folder.mkdir(exist_ok=True)
    hyperparameters = Hyperparameters(**(vars(FEW) | changes))
    data = [written(folder, rows)]
    train(
        TASK, base, data, folder / "model", hyperparameters, threads=1, device="cpu", labels=labels
    )
    return folder / "model"


def probabilities(model: Path, rows: list[dict[str, Any]], labels: list[str]) -> np.ndarray:
    """What a checkpoint says of texts, shape (rows, classes)."""
    texts = [{name: row[name] for name in row if name != "label"} for row in rows]
    said = Cell(model.parent / "cell", TASK, asked(texts), model).predict(labels=labels)
    return np.array(said["probabilities"].to_list())


def test_classes_are_learned_and_named_in_the_checkpoint(base: Path, tmp_path: Path) -> None:
    model = train_on(ROWS, base, tmp_path, epochs=7, learning_rate=3e-3)
    assert AutoConfig.from_pretrained(model).id2label == {0: "bad", 1: "good"}
    said = probabilities(model, ROWS, LABELS)
    assert (said.argmax(axis=1) == [LABELS.index(row["label"]) for row in ROWS]).all()


def test_pairs_are_distinguished_by_their_second_text(base: Path, tmp_path: Path) -> None:
    pairs = [
        {"text": "Ann won a prize.", "text_pair": row["text"], "label": row["label"]}
        if row["text"] != "Ann won a prize."
        else {"text": row["text"], "text_pair": None, "label": "good"}
        for row in ROWS
    ]
    said = probabilities(train_on(pairs, base, tmp_path, epochs=20), pairs, LABELS)
    assert (said.argmax(axis=1) == [LABELS.index(row["label"]) for row in pairs]).all()


def test_several_labels_of_a_text_count_alike(base: Path, tmp_path: Path) -> None:
    rows = [row | {"label": [row["label"]] * 3 + ["good"]} for row in ROWS]
    said = probabilities(
        train_on(rows, base, tmp_path, epochs=20, learning_rate=3e-3), ROWS, LABELS
    )
    expected = [1.0 if row["label"] == "good" else 0.25 for row in ROWS]
    assert said[:, 1] == pytest.approx(expected, abs=0.08)


def test_training_is_repeatable_to_the_byte(base: Path, tmp_path: Path) -> None:
    folders = [
        train_on(ROWS, base, tmp_path / name, seed=seed)
        for name, seed in (("one", 1), ("two", 1), ("x", 2))
    ]
    one, two, other = ((folder / "model.safetensors").read_bytes() for folder in folders)
    assert one == two
    assert one != other


def test_a_checkpoint_keeps_the_order_of_classes_that_it_has_already(
    base: Path, tmp_path: Path
) -> None:
    first = train_on(ROWS, base, tmp_path / "first", epochs=5)
    again = train_on(
        ROWS, first, tmp_path / "again", labels=["good", "bad"], epochs=0.1, learning_rate=1e-9
    )
    assert AutoConfig.from_pretrained(again).id2label == {0: "bad", 1: "good"}
    assert probabilities(again, ROWS, LABELS) == pytest.approx(
        probabilities(first, ROWS, LABELS), abs=1e-4
    )


def test_a_classifier_of_other_classes_gets_a_new_head(base: Path, tmp_path: Path) -> None:
    first = train_on(ROWS, base, tmp_path / "first")
    rows = [{"text": row["text"], "label": label} for row in ROWS for label in ("a", "b", "c")]
    again = train_on(rows, first, tmp_path / "again", labels=["a", "b", "c"], epochs=5)
    model = AutoModelForSequenceClassification.from_pretrained(again)
    assert model.config.id2label == {0: "a", 1: "b", 2: "c"}
    assert model.classifier.weight.shape[0] == 3


@pytest.mark.parametrize("architecture", ["bert", "roberta"])
def test_long_texts_are_cut_off(
    architecture: str, tiny_checkpoint: Callable[[str, str], Path], tmp_path: Path
) -> None:
    tokenizer = AutoTokenizer.from_pretrained(tiny_checkpoint(architecture, "fill-mask"))
    rows = [
        {"text": "the cook " * 20, "text_pair": "He lied.", "label": "good"},
        {"text": "Who?", "label": "bad"},
    ]
    data = class_data(tokenizer, written(tmp_path, rows), 12, LABELS)
    long, short = data.rows
    assert (len(long["input_ids"]), long["labels"], short["labels"]) == (12, [1], [0])
    assert short["input_ids"] == tokenizer("Who?")["input_ids"]
    whole = tokenizer("the cook " * 20, "He lied.", truncation=True, max_length=12)
    assert long["input_ids"] == whole["input_ids"]


@pytest.mark.parametrize(
    ("rows", "messages"),
    [
        ([], ["has no text"]),
        (
            ["", "{"],
            [
                (
                    "line 2: not JSON (EOF while parsing an object, column 1); expected one JSON "
                    "object per line"
                )
            ],
        ),
        (
            [{"text": "a", "label": "bad"}, "3"],
            ["line 2: 3; expected a section of keys such as text, text_pair"],
        ),
        (
            [{"label": "bad"}, {"text": "a"}],
            ["line 1, text: missing; expected", "line 2, label: missing"],
        ),
        ([{"text": 3, "label": "bad"}], ["line 1, text: 3; expected text, in quotes"]),
        (
            [{"text": "a", "text_pair": ["b"], "label": "bad"}],
            ["line 1, text_pair: ['b']; expected text"],
        ),
        ([{"text": "a", "label": []}], ["line 1, label: []; expected 1 or more entries"]),
        (
            [{"text": "a", "label": 1}],
            ["line 1, label: 1; expected the name of a class, or a list of names"],
        ),
        ([{"text": "a", "label": ["bad", 1]}], ["line 1, label[1]: 1; expected text, in quotes"]),
        (
            [{"text": "a", "text_pairs": "b", "label": "bad"}],
            [
                (
                    "line 1, text_pairs: unknown key (did you mean 'text_pair'?); expected one of "
                    "label, text, text_pair"
                )
            ],
        ),
        (
            [{"text": "a", "label": "goood"}, {"text": "a", "label": ["x", "bad", "x"]}],
            [
                "line 1: unknown label 'goood' (did you mean 'good'?); expected one of bad, good",
                "line 2: unknown label 'x'; expected one of bad, good",
            ],
        ),
    ],
)
def test_bad_lines_are_named(
    rows: list[Any], messages: list[str], base: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        train_on(rows, base, tmp_path)
    assert len(caught.value.faults) == len(messages)
    for fault, message in zip(caught.value.faults, messages, strict=True):
        assert str(fault).startswith(str(tmp_path / "data.jsonl"))
        assert message in str(fault)


def test_a_missing_file_is_named(base: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere: cannot be read"):
        train(TASK, base, [tmp_path / "nowhere"], tmp_path / "model", FEW, threads=1, labels=LABELS)
