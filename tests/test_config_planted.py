"""Models of a config that learn planted group effects."""

# ruff: noqa: E501 - messages stand here as users see them
from typing import Any

import pytest
from small_config import changed, faults_of

from biasgrid.config import parse_config

LABELS = ["negative", "positive"]
OWN = {label: label for label in LABELS}


def with_classifier(datasets: tuple[str, ...] = ("religion", "sentiment"), **changes: Any) -> dict[str, Any]:
    """The config with a selected model that is trained on the cases of a dataset, beside one of another task."""
    content = changed("run/models", ["answers", "strong"])
    train = {"planted": "strong", "dataset": "sentiment"}
    model = {"task": "text-classification", "kind": "sentiment", "label": "strong", "labels": OWN, "train": train}
    cases = {"family": "counterfactual", "title": "S", "templates": "s.json", "groups": "g.json"}
    content["datasets"] |= {
        "sentiment": cases | {"task": "text-classification", "labels": LABELS},
        "again": cases | {"task": "text-classification", "labels": LABELS},
        "words": cases | {"task": "fill-mask"},
    }
    content["models"]["strong"] = model | changes
    content["run"]["datasets"] = list(datasets)
    return content


def test_a_classifier_is_trained_on_the_cases_of_a_dataset() -> None:
    config = parse_config(with_classifier(("religion", "sentiment", "again")), "c.yaml")
    assert config.cells() == [("answers", "religion"), ("strong", "sentiment"), ("strong", "again")]
    training = config.source_of_model("strong")["training"]
    assert training["dataset"] == "sentiment"
    assert training["planted"]["strengths"] == {"strong": 0.9}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"train": {"planted": "strong", "dataset": "sentment"}},
            "models.strong.train.dataset: unknown name 'sentment' (did you mean 'sentiment'?); expected one of again, sentiment (datasets of text-classification)",
        ),
        (
            {"train": {"planted": "strong", "dataset": "words"}},
            "models.strong.train.dataset: unknown name 'words'; expected one of again, sentiment (datasets of text-classification)",
        ),
        (
            {"train": {"planted": "strong"}},
            "models.strong.train.dataset: missing; expected one of again, sentiment (datasets of text-classification)",
        ),
        (
            {"labels": {"negative": "NEG", "positive": "POS"}},
            "models.strong.labels: {'negative': 'NEG', 'positive': 'POS'}, but the corpus has the classes of 'sentiment'; expected {'negative': 'negative', 'positive': 'positive'}",
        ),
        (
            {"train": {"base": {"folder": "f"}, "data": "d", "dataset": "sentiment"}},
            "models.strong.train: has base, data, dataset; expected `dataset` only beside `planted`",
        ),
    ],
)
def test_a_corpus_that_is_none_is_a_fault(changes: dict[str, Any], expected: str) -> None:
    assert faults_of(with_classifier(**changes)) == [f"c.yaml, {expected}"]


def test_a_corpus_is_made_of_a_dataset_that_is_selected() -> None:
    assert faults_of(with_classifier(("religion", "again"))) == [
        "c.yaml, run.datasets: 'strong' is trained on the cases of 'sentiment', which is not selected; expected 'sentiment' among them"
    ]


def test_cases_are_planted_for_classifiers_only() -> None:
    train = {"planted": "strong", "dataset": "sentiment"}
    assert faults_of(changed("models/trained/train", train)) == [
        "c.yaml, models.trained.train.dataset: 'sentiment', for the task 'question-answering'; expected no such key but for text-classification"
    ]
