"""Files: the config's own, and those that it names."""

import os
from pathlib import Path

import numpy as np
import pytest
import yaml
from safetensors.numpy import save_file
from small_config import GENERAL, changed, faults_of

from biasgrid.base.faults import InputError
from biasgrid.config import load_config, load_word_lists, parse_config, read_config

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("general")


def test_a_config_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    config = tmp_path / os.fsdecode(b"\xff.yaml")
    config.write_text("title: x\n")
    with pytest.raises(
        InputError,
        match=r"udcff.yaml': the name is not UTF-8; expected a name in UTF-8: rename the f",
    ):
        read_config(config)


def faults_of_file(file: Path, **given: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load_config(file, given)
    return [str(fault).removeprefix(f"{file.parent}/") for fault in caught.value.faults]


def test_faults_of_keys_name_their_lines(tmp_path: Path) -> None:
    text = yaml.safe_dump(GENERAL, sort_keys=False)
    lines = text.split("\n")
    (file := tmp_path / "c.yaml").write_text(
        text.replace("  masked:", "  mas ked:").replace("kind: LM", "kimd: LM", 1)
    )
    masked = lines.index("  masked:") + 1
    kind = next(number for number, line in enumerate(lines, 1) if line.endswith("kind: LM"))
    found = faults_of_file(file)
    assert any(
        one.startswith(f"c.yaml, line {masked}, models: the key 'mas ked'; expected a name")
        for one in found
    )
    assert any(
        one.startswith(f"c.yaml, line {kind}, models.") and "kimd: unknown key" in one
        for one in found
    )
    file.write_text(text.replace("models:\n  - ", "models:\n  - un", 1))
    (fault,) = faults_of_file(file)
    run = max(number for number, line in enumerate(lines, 1) if line == "  models:")
    assert fault.startswith(f"c.yaml, line {run}, run.models: unknown name 'un")


def test_what_is_not_in_the_file_has_no_line(tmp_path: Path) -> None:
    (file := tmp_path / "c.yaml").write_text(
        yaml.safe_dump({key: GENERAL[key] for key in GENERAL if key != "run"})
    )
    assert faults_of_file(file) == ["c.yaml, run: missing; expected the key 'run'"]
    file.write_text(yaml.safe_dump(GENERAL | {"scoring": "exact"}))
    assert faults_of_file(file, scoring="loose")[0].startswith(
        "c.yaml, scoring: 'loose'; expected one of"
    )


def test_a_selected_model_needs_a_folder_with_a_checkpoint(tmp_path: Path) -> None:
    model = {"task": "question-answering", "variant": "qa", "kind": "QA", "label": "local"}
    content = changed("models/local", model | {"folder": str(tmp_path / "none")}, GENERAL)
    parse_config(content, "c.yaml")
    content["run"]["models"] = ["local"]
    expected = "expected a folder with a checkpoint: config.json, weights and tokenizer"
    assert faults_of(content) == [
        f"c.yaml, models.local.folder: '{tmp_path}/none' is not a folder; {expected}"
    ]
    content["models"]["local"]["folder"] = str(tmp_path)
    assert faults_of(content) == [
        f"c.yaml, models.local.folder: '{tmp_path}' contains no config.json; {expected}"
    ]
    content["models"]["local"] = model | {
        "train": {"base": {"folder": str(tmp_path)}, "data": "squad.json"}
    }
    assert faults_of(content)[:1] == [
        f"c.yaml, models.local.train.base.folder: '{tmp_path}' contains no config.json; {expected}"
    ]


@pytest.mark.parametrize("path", ["../models/bert", "./bert", "/models/bert", "~/bert"])
def test_a_path_is_no_repository_of_the_hub(path: str) -> None:
    expected = "expected a repository on the hub, or `folder` for a path"
    fault = f"c.yaml, models.answers.checkpoint: {path!r} is a path; {expected}"
    assert faults_of(changed("models/answers/checkpoint", path, GENERAL)) == [fault]


def test_a_selected_model_needs_its_data(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "vocab.txt").touch()
    save_file({"weight": np.zeros(2, np.float32)}, tmp_path / "model.safetensors")
    data = tmp_path / "squad.json"
    train = {"base": {"folder": str(tmp_path)}, "data": str(data)}
    content = changed("models/answers", GENERAL["models"]["trained"] | {"train": train}, GENERAL)
    assert faults_of(content) == [
        (
            f"c.yaml, models.answers.train.data: there is no file '{data}'; expected a file with "
            "training data for question-answering"
        )
    ]
    data.mkdir()
    assert len(faults_of(content)) == 1
    data.rmdir()
    data.touch()
    assert parse_config(content, "c.yaml").run.models == ["answers", "masked"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"none.yaml: cannot be read \(No such file.*; expected a config in YAML"
    ):
        read_config(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"run: [a\nmodels: {}", r"c.yaml, line 2: not YAML \(.*\); expected a config in YAML"),
        (
            b"title: 2020-13-45",
            (
                r"c.yaml: contains an invalid date \(month must be in 1..12\); expected a config "
                r"in YAML"
            ),
        ),
        (
            b"run: &x {models: *x}",
            "c.yaml: contains an alias that refers to itself; expected a config in YAML",
        ),
        (b"run: \xff", r"c.yaml.*not (YAML|UTF-8).*; expected"),
        (b"- a\n- b", r"c.yaml: not a mapping; expected keys such as models"),
        (b"", r"c.yaml: not a mapping; expected keys such as models"),
    ],
)
def test_what_is_not_a_config_is_a_fault(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "c.yaml").write_bytes(text)
    with pytest.raises(InputError, match=message):
        read_config(tmp_path / "c.yaml")


def test_repeated_keys_are_faults(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "run: &run {models: [a], models: [b]}\n"
        "models:\n"
        "  a: {kind: x}\n"
        "  b: *run\n"
        "  a:\n"
        "    kind: z\n"
        "run: {}\n"
    )
    with pytest.raises(InputError) as caught:
        read_config(path)
    assert [str(fault).removeprefix(f"{path}, ") for fault in caught.value.faults] == [
        "line 1: the key 'models' is already in line 1; expected each key once",
        "line 5: the key 'a' is already in line 3; expected each key once",
        "line 7: the key 'run' is already in line 1; expected each key once",
    ]


def test_keys_that_replace_merged_ones_are_no_faults(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: &a {x: 1, y: 2}\nb: &b {<<: *a, x: 3}\nc: {<<: *b, y: 4}\n")
    assert read_config(path) == {
        "a": {"x": 1, "y": 2},
        "b": {"x": 3, "y": 2},
        "c": {"x": 3, "y": 4},
    }


def test_a_missing_folder_of_word_lists_is_named(tmp_path: Path) -> None:
    config = parse_config(GENERAL | {"word_lists": str(tmp_path / "none")}, "c.yaml")
    message = (
        "none'; expected a folder of word lists: set `word_lists` in the config, or give it on the "
        "command line: --config word_lists=FOLDER with snakemake, --word-lists FOLDER with biasgrid"
    )
    with pytest.raises(InputError, match=message):
        load_word_lists(config)
