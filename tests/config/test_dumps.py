"""Models of a config that have dumps of predictions in place of weights."""

from pathlib import Path
from typing import Any

import pytest
from small_config import changed, faults_of

from biasgrid.config import load_word_lists, parse_config

pytestmark = pytest.mark.family("dumps are of underspecified questions")

README = Path(__file__).parents[2] / "README.md"
PAGE = README.parent / "docs/outputs.md"
DIGEST = "0123456789abcdef" * 4


def with_dump(dumps: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The config with a selected model that has dumps in place of weights."""
    content = changed("run/models", ["answers", "published"])
    model = {"task": "question-answering", "variant": "qa", "kind": "QA", "label": "published"}
    content["models"]["published"] = model | {"predictions": dumps} | changes
    return content


def test_an_imported_model_needs_no_instances_and_is_scored_as_its_dump_was() -> None:
    content = with_dump({"religion": {"url": "https://example.org/a.json", "sha256": DIGEST}})
    config = parse_config(content, "c.yaml")
    assert [*config.selected_variants] == [("religion", "qa")]
    assert config.question("published", "religion").settings["scoring"] == "unqover"
    assert config.question("answers", "religion").settings["scoring"] == "exact"
    content["models"]["published"]["predictions"]["religion"]["scoring"] = "exact"
    content["run"]["models"] = ["published"]
    config = parse_config(content, "c.yaml")
    assert config.question("published", "religion").settings["scoring"] == "exact"
    assert [*config.selected_variants] == []
    assert load_word_lists(parse_config(content | {"word_lists": "nowhere"}, "c.yaml")) == {}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            with_dump({}),
            (
                "models.published: has task, variant, kind, label, predictions; expected exactly "
                "one of"
            ),
        ),
        (
            with_dump({"religion": {}}),
            "predictions.religion: has no keys; expected either `file` or `url`",
        ),
        (
            with_dump({"religion": {"file": "a", "url": "https://b", "sha256": DIGEST}}),
            "predictions.religion: has file, url, sha256; expected either `file` or `url`",
        ),
        (
            with_dump({"religion": {"url": "https://b"}}),
            "predictions.religion: has url; expected `sha256` together with `url`",
        ),
        (
            with_dump({"religion": {"url": "ftp://me:secret@b/c?token=secret", "sha256": DIGEST}}),
            (
                "predictions.religion.url: 'ftp://b/c'; expected an address that begins with "
                "http:// or https:// and a host such as example.org, without white space"
            ),
        ),
        (
            with_dump({"religion": {"file": "a", "sha256": DIGEST[1:]}}),
            (
                f"predictions.religion.sha256: '{DIGEST[1:]}'; expected 64 hexadecimal digits, as "
                "`sha256sum` prints them"
            ),
        ),
        (
            with_dump({"religion": {"fil": "a"}}),
            (
                "predictions.religion.fil: unknown key (did you mean 'file'?); expected one of "
                "file, scoring, sha256, url"
            ),
        ),
        (
            with_dump({"religion": {"file": "nowhere.json"}}),
            (
                "predictions.religion.file: there is no file 'nowhere.json'; expected an "
                "output.json of UnQover"
            ),
        ),
        (
            with_dump({"religion": {"file": str(PAGE)}}) | {"results": str(PAGE.parent)},
            (
                "outputs.md' is in the folder of results, where files are removed and remade; "
                "expected a file outside that"
            ),
        ),
        (
            with_dump({"religion": {"file": str(README)}, "religon": {"file": "b"}}),
            (
                "published.predictions: unknown name 'religon' (did you mean 'religion'?); "
                "expected one of religion"
            ),
        ),
        (
            with_dump({"religion": {"file": str(README)}}, folder="x"),
            (
                "label, predictions, folder; expected exactly one of `checkpoint`, `folder`, "
                "`train`, `predictions` and `answers`"
            ),
        ),
        (
            with_dump({"religion": {"file": str(README)}}, variant="lm-bert"),
            "models.published.variant: 'lm-bert' is not for the task 'question-answering'",
        ),
    ],
)
def test_a_fault_of_a_dump_is_named(content: dict[str, Any], expected: str) -> None:
    (fault,) = faults_of(content)
    assert expected in fault


def test_a_selected_dataset_without_a_dump_is_a_fault() -> None:
    content = with_dump({"religion": {"file": str(README)}})
    content["datasets"]["faith"] = content["datasets"]["religion"]
    content["run"]["datasets"] = ["religion", "faith"]
    assert faults_of(content) == [
        (
            "c.yaml, models.published.predictions: no dump for the selected dataset 'faith', only "
            "for religion; expected one for each dataset"
        )
    ]
    content["run"]["models"] = ["answers"]
    parse_config(content, "c.yaml")
