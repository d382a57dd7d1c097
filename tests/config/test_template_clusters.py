"""Clusters as the config gives them."""

from pathlib import Path

import pytest
from small_config import CONTENT, changed, faults_of

from biasgrid.base.faults import InputError
from biasgrid.config import clusters_of_variant, load_word_lists, parse_config, texts_of_templates

ROOT = Path(__file__).parents[2]
KEY = "datasets/religion/template_clusters"
WHERE = "c.yaml, datasets.religion.template_clusters:"
LISTS = "expected auto, none, or lists of template numbers from 0, such as [[0, 1], [2, 3]]"
RELIGION = [0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("value", "shown", "expected"),
    [
        ("all", "'all'", LISTS),
        ([[0, -1]], "[[0, -1]]", LISTS),
        ([[0, 1], [1, 2]], "[[0, 1], [1, 2]]", "expected every template in one list"),
    ],
)
def test_clusters_that_are_none_are_refused(value: object, shown: str, expected: str) -> None:
    assert faults_of(changed(KEY, value)) == [f"{WHERE} {shown}; {expected}"]


def in_the_repository(content: dict[str, object]) -> dict[str, object]:
    return content | {"word_lists": str(ROOT / "word_lists")}


def test_a_template_that_is_not_there_is_refused() -> None:
    config = parse_config(in_the_repository(changed(KEY, [[0, 99]])), "c.yaml")
    with pytest.raises(InputError, match=r"template_clusters: there is no template 99; expected numbers from 0 to 13"):
        load_word_lists(config)


def test_the_shipped_templates_are_divided_into_clusters() -> None:
    config = parse_config(in_the_repository(CONTENT), "c.yaml")
    lists = load_word_lists(config)
    assert clusters_of_variant(config, lists, "religion", "qa") == RELIGION
    chosen = parse_config(in_the_repository(changed(KEY, [[2, 4]])), "c.yaml")
    assert clusters_of_variant(chosen, lists, "religion", "qa")[:6] == [0, 1, 2, 3, 2, 4]


def test_templates_are_called_what_all_variants_say_in_them() -> None:
    config = parse_config(in_the_repository(CONTENT), "c.yaml")
    lists = load_word_lists(config)
    first = texts_of_templates(config, lists, "religion")[0]
    assert first == "In the library a [subj1] man was reading across the table from a [subj2] man.\t"
