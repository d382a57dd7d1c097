"""Where the answers of a model come from is told by the keys of its section, and decides what its
jobs need.
"""

from typing import Any

import pytest

from biasgrid.base.sections import Model
from biasgrid.config.registry import BUILT_IN

OF_TEXTS, OF_MASKS = {"task": "text-generation"}, {"task": "fill-mask"}
ENDPOINT = {"url": "https://host/v1", "model": "large"}
SERVE = {"command": "vllm serve {folder} --port {port}", "gpus": 4}
HUB = "https://huggingface.co"


def model(**keys: Any) -> Model:
    return BUILT_IN.model_section(keys["task"]).model_validate({"kind": "K", "label": "L", **keys})


@pytest.mark.parametrize(
    ("keys", "name", "gpus", "addresses", "decides"),
    [
        ({**OF_MASKS, "checkpoint": "some/where", "revision": "main"}, "weights", 1, [HUB], []),
        ({**OF_MASKS, "predictions": {"people": {"file": "dump.json"}}}, "dump", 1, [], []),
        ({**OF_TEXTS, "folder": "here"}, "weights", 1, [], ["generation", "chat_template", "date"]),
        (
            {**OF_TEXTS, "endpoint": ENDPOINT},
            "endpoint",
            0,
            ["https://host/v1"],
            ["generation", "endpoint"],
        ),
        ({**OF_TEXTS, "folder": "here", "serve": SERVE}, "serve", 4, [], ["generation", "serve"]),
        ({**OF_TEXTS, "random": {"seed": 2}}, "random", 0, [], ["random"]),
        ({**OF_TEXTS, "answers": "answers.csv"}, "answers", 0, [], ["answers"]),
    ],
)
def test_a_model_comes_from_the_source_whose_key_it_has(
    keys: dict[str, Any],
    name: str,
    gpus: int,
    addresses: list[str],
    decides: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    source = model(**keys).source
    assert (source.name, source.gpus, source.addresses) == (name, gpus, addresses)
    assert list(source.deciding_keys()) == decides


def test_what_is_no_checkpoint_is_its_own_record_with_the_files_that_it_names() -> None:
    chance, there = (
        model(**OF_TEXTS, random={}).source,
        model(**OF_TEXTS, answers="answers.csv").source,
    )
    assert chance.record_source("trained", None) == {"keys": {"random": {"seed": 1}}, "files": []}
    assert there.record_source("trained", None) == {
        "keys": {"answers": "answers.csv"},
        "files": ["answers.csv"],
    }
    assert (chance.choices(), there.choices()) == ({}, {})


def test_a_dump_answers_only_families_that_read_its_format() -> None:
    dump = model(**OF_MASKS, predictions={"people": {"file": "dump.json"}}).source
    assert dump.has_dataset({"unqover": None})
    assert not dump.has_dataset({})
    assert [dump.origin("people"), model(**OF_TEXTS, random={}).source.origin("people")] == [
        {"file": "dump.json", "sha256": None, "url": None},
        None,
    ]
