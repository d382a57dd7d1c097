"""Sections of cases in a config: what is wrong with them in plain words."""

from typing import Any

import pytest
from small_config import changed, faults_of

from biasgrid.config import parse_config
from biasgrid.config.registry import BUILT_IN

F1 = {"score": "f1", "distance": "absolute", "comparison": "pairwise"}
FAMILIES = ", ".join(sorted(BUILT_IN.families))
MEASURE_KEYS = "expected a section of keys such as score, argument, distance, comparison"


def with_moods(without: tuple[str, ...] = (), **changes: Any) -> dict[str, Any]:
    """The config with a counterfactual dataset, or one without some of its keys."""
    moods = {
        "family": "counterfactual",
        "title": "M",
        "task": "text-classification",
        "labels": ["bad", "good"],
    }
    moods |= {"templates": "m.json", "groups": "g.json"} | changes
    return changed(
        "datasets/moods", {key: value for key, value in moods.items() if key not in without}
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (with_moods(bias_types=[]), "bias_types: []; expected 1 or more entries"),
        (
            with_moods(family="counterfactaul"),
            "family: 'counterfactaul' (did you mean 'counterfactual'?); expected one",
        ),
        (with_moods(family=["x"]), f"family: ['x']; expected one of {FAMILIES}"),
        (with_moods(labels=["a", "a"]), "labels: ['a', 'a']; expected labels that differ"),
        (with_moods(labels="a"), "labels: 'a'; expected a list, such as [a, b]"),
        (with_moods(labels=["a", False]), "labels[1]: false; expected text, in quotes"),
        (
            with_moods(("labels",)),
            (
                "labels: []; expected the names of the classes, because the "
                "task is text-classification"
            ),
        ),
        (
            with_moods(task="fill-mask"),
            "labels: ['bad', 'good']; expected no `labels`, because the task is fill-mask",
        ),
        (
            with_moods(task="fill-masks"),
            "task: 'fill-masks' (did you mean 'fill-mask'?); expected one of fill-mask",
        ),
        (with_moods(measures=["f1"]), f"measures[0]: 'f1'; {MEASURE_KEYS}"),
        (with_moods(measures=[F1, None]), f"measures[1]: null; {MEASURE_KEYS}"),
        *(
            (
                with_moods(measures=[F1 | {"argument": argument}]),
                f"measures[0].argument: {shown}; expected text or a whole number",
            )
            for argument, shown in ((True, "true"), (1.5, "1.5"), (["macro"], "['macro']"))
        ),
    ],
)
def test_a_wrong_value_of_a_counterfactual_dataset_is_one_fault(
    content: dict[str, Any], expected: str
) -> None:
    (fault,) = faults_of(content)
    assert fault.startswith(f"c.yaml, datasets.moods.{expected}")


def test_a_counterfactual_dataset_must_name_its_family() -> None:
    has, expected = (
        "c.yaml, datasets.moods: has title, task, labels, templates",
        "expected `family: counterfactual`",
    )
    assert faults_of(with_moods(("family",))) == [f"{has}, groups; {expected} together with them"]
    assert faults_of(with_moods(("family", "groups"), templats="x")) == [
        f"{has}, templats; {expected} together with them"
    ]


def test_an_index_is_an_argument() -> None:
    measure = {
        "score": "class_probability",
        "argument": 1,
        "distance": "wasserstein",
        "comparison": "pairwise",
    }
    config = parse_config(with_moods(measures=[measure]), "c.yaml")
    assert config.datasets["moods"].measures[0].argument == 1  # type: ignore[index]
