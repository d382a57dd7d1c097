"""Wrong values in a config are told in plain words, each once and at its key."""

from datetime import date
from typing import Any

import pytest
from small_config import GENERAL, changed, faults_of

from biasgrid.config.registry import BUILT_IN

RELIGION = "datasets/religion"
FAMILIES = ", ".join(sorted([*BUILT_IN.families, "greetings"]))
pytestmark = pytest.mark.usefixtures("general")
NAME = "expected a name of letters, digits, `_`, `.` and `-` that begins with a letter or digit"
VARIANT = (
    "expected `qa`, `lm` or `llm`, or one of them with a hyphen and more letters, such as "
    "`qa-newsqa` or `lm-bert`"
)
NUMBER = "expected a number, such as 0.001 or 1.0e-3"
TASKS = (
    "expected one of feature-extraction, fill-mask, "
    "multiple-choice, question-answering, text-classification"
)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        # Numbers and truth values.
        (f"{RELIGION}/shards", 0, "datasets.religion.shards: 0; expected a number of at least 1"),
        (
            f"{RELIGION}/shards",
            300,
            "datasets.religion.shards: 300; expected a number of at most 256",
        ),
        (f"{RELIGION}/shards", "two", "datasets.religion.shards: 'two'; expected a whole number"),
        (f"{RELIGION}/shards", "2", "datasets.religion.shards: '2'; expected a whole number"),
        (f"{RELIGION}/shards", 1.5, "datasets.religion.shards: 1.5; expected a whole number"),
        (f"{RELIGION}/shards", True, "datasets.religion.shards: true; expected a whole number"),
        (
            "synthetic/strengths/strong",
            1.5,
            "synthetic.strengths.strong: 1.5; expected a number of at most 1",
        ),
        (
            "inference/token_budget",
            0,
            "inference.token_budget: 0; expected a whole number of at least 1, or auto",
        ),
        (
            "inference/time_limit",
            float("inf"),
            "inference.time_limit: inf; expected a finite number",
        ),
        (
            "models/masked/allow_pickle",
            "yes",
            "models.masked.allow_pickle: 'yes'; expected true or false",
        ),
        (
            "models/trained/train/hyperparameters",
            {"mask_probability": 1},
            (
                "models.trained.train.hyperparameters.mask_probability: 1; expected a number less "
                "than 1"
            ),
        ),
        (
            "models/trained/train/hyperparameters",
            {"epochs": "two"},
            f"models.trained.train.hyperparameters.epochs: 'two'; {NUMBER}",
        ),
        (
            "models/trained/train/hyperparameters",
            {"batch_size": 1.5},
            "models.trained.train.hyperparameters.batch_size: 1.5; expected a whole number",
        ),
        # Texts.
        (
            "results",
            "",
            (
                "results: ''; expected a folder whose name contains none of { } < > and no "
                "control characters"
            ),
        ),
        (
            "results",
            "{model}",
            (
                "results: '{model}'; expected a folder whose name contains none of { } < > "
                "and no control characters"
            ),
        ),
        ("models/answers/variant", "newsqa", f"models.answers.variant: 'newsqa'; {VARIANT}"),
        (
            "models/answers/revision",
            1234567,
            "models.answers.revision: 1234567; expected text, in quotes",
        ),
        (
            "models/answers/revision",
            date(2024, 1, 31),
            "models.answers.revision: 2024-01-31; expected text, in quotes",
        ),
        ("models/answers/label", ["QA", None], "models.answers.label: ['QA', null]; expected text"),
        (
            "models/answers/label",
            {"a": "b" * 200},
            f"models.answers.label: {{'a': '{'b' * 90}...; expected text",
        ),
        ("models/answers/task", 3, f"models.answers.task: 3; {TASKS}"),
        # Lists, mappings and sections.
        ("run/models", "answers", "run.models: 'answers'; expected a list, such as [a, b]"),
        ("run/models", [], "run.models: []; expected 1 or more entries"),
        ("run/models", ["answers", 5], "run.models[1]: 5; expected text, in quotes"),
        (
            "run",
            ["answers"],
            "run: ['answers']; expected a section of keys such as models, datasets",
        ),
        ("models", ["answers"], "models: ['answers']; expected a mapping of names to values"),
        ("datasets", {}, "datasets: {}; expected 1 or more entries"),
        (
            "datasets/religion",
            "religion",
            "datasets.religion: 'religion'; expected the keys of a dataset",
        ),
        # Keys.
        ("tokenizers/my bert", {"mask": "m"}, f"c.yaml, tokenizers: the key 'my bert'; {NAME}"),
        (
            "synthetic",
            {"strengths": {"strong": 1}, 7: 1},
            "c.yaml, synthetic.7: unknown key; expected one of repeats",
        ),
    ],
)
def test_a_wrong_value_is_one_fault_in_plain_words(path: str, value: object, expected: str) -> None:
    (fault,) = faults_of(changed(path, value, GENERAL))
    assert expected in fault


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("inference", "inference: null; expected a section of keys such as precision"),
        ("models", "models: null; expected a mapping of names to values"),
        ("models/answers", "models.answers: null; expected a section of keys such as task"),
        ("models/answers/task", f"models.answers.task: null; {TASKS}"),
        ("models/answers/label", "models.answers.label: null; expected text"),
        (
            "models/answers/checkpoint",
            "models.answers: has task, variant, kind, label, revision; expected exactly one of",
        ),
        ("datasets/religion", "datasets.religion: null; expected the keys of a dataset"),
        (
            f"{RELIGION}/family",
            f"datasets.religion.family: null; expected one of {FAMILIES}",
        ),
        (f"{RELIGION}/shards", "datasets.religion.shards: null; expected a whole number"),
        ("run/models", "run.models: null; expected a list, such as [a, b]"),
    ],
)
def test_a_key_without_a_value_is_one_fault(path: str, expected: str) -> None:
    content = changed(path, "", GENERAL)
    *sections, key = path.split("/")
    section = content
    for part in sections:
        section = section[part]
    section[key] = None
    (fault,) = faults_of(content)
    assert expected in fault


@pytest.mark.parametrize(
    ("task", "labels", "expected"),
    [
        (
            "text-classification",
            {},
            (
                "models.masked.labels: {}; expected the names of the classes, because the task "
                "is text-classification"
            ),
        ),
        (
            "fill-mask",
            {"bad": "NEG"},
            (
                "models.masked.labels: {'bad': 'NEG'}; expected no `labels`, because the task "
                "is fill-mask"
            ),
        ),
        ("fill-mask", {"bad": 0}, "models.masked.labels.bad: 0; expected text, in quotes"),
    ],
)
def test_wrong_labels_of_a_model_are_one_fault(
    task: str, labels: dict[str, Any], expected: str
) -> None:
    content = changed("models/masked/labels", labels, GENERAL)
    content["models"]["masked"]["task"] = task
    assert faults_of(content) == [f"c.yaml, {expected}"]
