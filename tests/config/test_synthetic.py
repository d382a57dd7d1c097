"""Models of a config that learn the known effect in datasets."""

from typing import Any

import pytest
from small_config import changed, faults_of

from biasgrid.config import parse_config
from biasgrid.families.family import Grid, Question
from biasgrid.families.statement.family import Statements

pytestmark = pytest.mark.family("what models learn is made by built-in families alone")

LABELS = ["negative", "positive"]
OWN = {label: label for label in LABELS}


def with_classifier(
    datasets: tuple[str, ...] = ("religion", "sentiment"), **changes: Any
) -> dict[str, Any]:
    """The config with a selected model that is trained on the cases of a dataset, beside one of
    another task.
    """
    content = changed("run/models", ["answers", "strong"])
    train = {"synthetic": "strong", "dataset": "sentiment"}
    model = {
        "task": "text-classification",
        "kind": "sentiment",
        "label": "strong",
        "labels": OWN,
        "train": train,
    }
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
    training = config.model_record_arguments("strong")["training"]
    assert training["dataset"] == "sentiment"
    assert training["synthetic"]["strengths"] == {"strong": 0.9}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"train": {"synthetic": "strong", "dataset": "sentment"}},
            (
                "models.strong.train.dataset: unknown name 'sentment' (did you mean "
                "'sentiment'?); expected one of again, sentiment (datasets of text-classification)"
            ),
        ),
        (
            {"train": {"synthetic": "strong", "dataset": "words"}},
            (
                "models.strong.train.dataset: unknown name 'words'; expected one of again, "
                "sentiment (datasets of text-classification)"
            ),
        ),
        (
            {"train": {"synthetic": "strong"}},
            (
                "models.strong.train.dataset: missing; expected one of again, sentiment (datasets "
                "of text-classification)"
            ),
        ),
        (
            {"labels": {"negative": "NEG", "positive": "POS"}},
            (
                "models.strong.labels: {'negative': 'NEG', 'positive': 'POS'}, but the corpus "
                "has the classes of 'sentiment'; expected {'negative': "
                "'negative', 'positive': 'positive'}"
            ),
        ),
        (
            {"train": {"base": {"folder": "f"}, "data": "d", "dataset": "sentiment"}},
            (
                "models.strong.train: has base, data, dataset; expected `dataset` only together "
                "with `synthetic`"
            ),
        ),
    ],
)
def test_a_corpus_that_is_none_is_a_fault(changes: dict[str, Any], expected: str) -> None:
    assert faults_of(with_classifier(**changes)) == [f"c.yaml, {expected}"]


def masked_learner() -> dict[str, Any]:
    """The config with a masked language model that learns the known effect, and is not selected."""
    content = changed("run/models", ["answers"])
    del content["models"]["masked"]["checkpoint"], content["models"]["masked"]["revision"]
    content["models"]["masked"]["train"] = {"synthetic": "strong"}
    return content


def test_what_is_learned_does_not_hang_on_what_is_selected() -> None:
    content = with_classifier(("religion", "again"))
    content["models"]["masked"] = masked_learner()["models"]["masked"]
    religion = content["datasets"]["religion"]
    religion["variants"]["lm-bert"]["subjects"] = religion["subjects"]
    content["datasets"]["age"] = religion
    content["run"]["models"] = ["trained", "strong"]
    config = parse_config(content, "c.yaml")
    assert (
        config.training_datasets("trained")
        == config.training_datasets("masked")
        == ["religion", "age"]
    )
    assert config.training_datasets("strong") == ["sentiment"]
    assert config.training_datasets("answers") == []
    assert config.synthetic_variants("age") == {"question-answering": "qa", "fill-mask": "lm-bert"}
    assert config.synthetic_variants("sentiment") == {"text-classification": "cases"}
    assert [*config.selected_variants] == [("religion", "qa"), ("again", "cases")]
    of_corpora = {(name, variant) for name in ("religion", "age") for variant in ("qa", "lm-bert")}
    assert set(config.needed_variants) == {("again", "cases"), ("sentiment", "cases")} | of_corpora


def test_a_strength_has_parts() -> None:
    parts = {"group": 0.4, "name": 0.1}
    training = parse_config(
        changed("synthetic/strengths/strong", parts), "c.yaml"
    ).training_settings("trained")
    assert training is not None
    assert training["synthetic"]["strengths"] == {
        "strong": {"unread_negation": 0.0, "mass": 1.0} | parts
    }


@pytest.mark.parametrize(
    ("strength", "expected"),
    [
        ({"group": 1.4}, "synthetic.strengths.strong.group: 1.4; expected a number of at most 1"),
        ({"mass": 0}, "synthetic.strengths.strong.mass: 0; expected a number greater than 0"),
        (
            {"group": 0.7, "name": 0.6},
            (
                "synthetic.strengths.strong: has group, name; expected the sum of `group` and "
                "`name` to be at most 1"
            ),
        ),
        (
            {"groups": 0.7},
            (
                "synthetic.strengths.strong.groups: unknown key (did you mean 'group'?); expected "
                "one of group, mass, name, unread_negation"
            ),
        ),
        ("much", "synthetic.strengths.strong: 'much'; expected a number, such as 0.001 or 1.0e-3"),
    ],
)
def test_parts_that_are_none_are_faults(strength: Any, expected: str) -> None:
    assert faults_of(changed("synthetic/strengths/strong", strength)) == [f"c.yaml, {expected}"]


def test_the_spread_fits_both_parts() -> None:
    content = changed("synthetic/strengths/strong", {"group": 0.7, "name": 0.2})
    content["synthetic"]["spread"] = 0.2
    expected = (
        "c.yaml, synthetic.spread: 0.2; expected at most 0.1: strength 'strong' is 0.9, and the "
        "two add up to at most 1"
    )
    assert faults_of(content) == [expected]


def test_of_a_task_one_corpus_is_made() -> None:
    content = changed("run/models", ["answers"])
    content["datasets"]["religion"]["variants"]["qa-newsqa"] = {
        "templates": "templates/religion-qa.txt"
    }
    content["models"]["news"] = content["models"]["trained"] | {"variant": "qa-newsqa"}
    assert faults_of(content) == [
        (
            "c.yaml, models.news.variant: 'qa-newsqa', but other synthetic models of the task "
            "answer 'qa'; expected the same variant for all synthetic models of a task"
        )
    ]


def test_the_same_is_synthetic_for_all_models() -> None:
    assert faults_of(masked_learner()) == [
        (
            "c.yaml, datasets.religion.variants.lm-bert.subjects: None, but 'masked' is trained "
            "on synthetic bias; expected the subjects of the dataset, ['subjects/religion.txt']"
        )
    ]


def test_a_model_that_learns_nothing_is_a_fault() -> None:
    content = changed("run/models", ["answers", "trained"])
    content["models"]["trained"]["label"] = "another"
    del content["models"]["trained"]["variant"]
    expected = (
        "c.yaml, models.trained.train.synthetic: 'trained' is trained on the synthetic bias of "
        "underspecified datasets but answers none of them; expected a `variant` of one "
        "of the datasets"
    )
    assert expected in faults_of(content)


def test_cases_are_synthetic_for_classifiers_only() -> None:
    train = {"synthetic": "strong", "dataset": "sentiment"}
    assert faults_of(changed("models/trained/train", train)) == [
        (
            "c.yaml, models.trained.train.dataset: 'sentiment', for the task "
            "'question-answering'; expected this key only for text-classification"
        )
    ]


def with_statements() -> dict[str, Any]:
    """The config with a generative model that learns statements."""
    content = changed("run/datasets", ["religion", "said"])
    content["models"]["writes"] = {
        "task": "text-generation", "kind": "LLM", "label": "strong", "train": {"synthetic": "strong"},
    }  # fmt: skip
    statements = {"family": "statement", "title": "S", "templates": "s.csv", "domains": "d"}
    content["datasets"] |= {"said": statements, "again": statements}
    content["run"]["models"].append("writes")
    return content


def test_generative_models_may_learn_statements_alone() -> None:
    content = with_statements()
    config = parse_config(content, "c.yaml")
    assert config.training_datasets("writes") == ["said", "again"]
    assert config.training_datasets("trained") == ["religion"]
    assert config.synthetic_variants("said") == {"text-generation": "statements"}
    del content["datasets"]["said"], content["datasets"]["again"]
    content["run"]["datasets"].remove("said")
    expected = (
        "c.yaml, run.models: 'writes' answers none of the selected datasets; expected a model "
        "with a `variant` of the underspecified datasets"
    )
    assert faults_of(content) == [expected]


def test_what_models_learn_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rule of the plan wants to know, and some families read files for it."""
    asked: list[tuple[str, str]] = []
    question = Statements.question

    def counted(family: Statements, grid: Grid, dataset: str, model: str) -> Question | None:
        asked.append((dataset, model))
        return question(family, grid, dataset, model)

    monkeypatch.setattr(Statements, "question", counted)
    config = parse_config(with_statements(), "c.yaml")
    for _ in range(2):
        assert config.training_datasets("writes") == ["said", "again"]
        assert list(config.synthetic_variants("said")) == ["text-generation"]
    assert ("said", "writes") in asked
    assert len(asked) == len(set(asked))
