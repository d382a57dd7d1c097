import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from tiny_checkpoints import TOKENIZERS

from biasgrid.models.checkpoint import (
    ModelError,
    folder_of,
    load_model,
    load_tokenizer,
    locate,
    make_record,
    name_of,
    read_record,
)
from biasgrid.models.one_token import are_one_token

Checkpoints = Callable[[str, str], Path]


@pytest.fixture
def folder(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Path:
    """A copy of a checkpoint, to be damaged."""
    return Path(shutil.copytree(tiny_checkpoint("bert", "fill-mask"), tmp_path / "checkpoint"))


def record_of(folder: Path, weights: bool = True, allow_pickle: bool = False) -> dict[str, object]:
    return make_record(None, str(folder), None, weights, allow_pickle)


def test_a_record_has_the_digest_of_each_file_that_counts(folder: Path, tmp_path: Path) -> None:
    (folder / "README.md").write_text("does not count")
    record = record_of(folder)
    files = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"]
    assert record["files"] == {name: sha256((folder / name).read_bytes()).hexdigest() for name in files}
    (tmp_path / "record.json").write_text(json.dumps(record))
    assert read_record(tmp_path / "record.json") == record
    assert folder_of(read_record(tmp_path / "record.json")) == folder
    assert name_of(record) == str(folder)


def test_a_record_changes_with_content_and_not_with_time(folder: Path) -> None:
    before = record_of(folder)
    (folder / "config.json").touch()
    assert record_of(folder) == before
    (folder / "config.json").write_text((folder / "config.json").read_text() + " ")
    assert record_of(folder) != before


def test_a_tokenizers_record_needs_no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    assert "model.safetensors" not in record_of(folder, weights=False)["files"]  # type: ignore[operator]
    with pytest.raises(ModelError, match=r"has none of the files model\.safetensors.*expected at least one$"):
        record_of(folder)


def test_pickled_weights_are_taken_only_where_they_are_allowed(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"or set allow_pickle: true"):
        record_of(folder)
    assert "pytorch_model.bin" in record_of(folder, allow_pickle=True)["files"]  # type: ignore[operator]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"there is no folder .*nowhere; expected a checkpoint with config.json"):
        record_of(tmp_path / "nowhere")


def test_a_checkpoint_that_is_not_in_the_cache_is_named() -> None:
    with pytest.raises(ModelError, match=r"no/such-model at revision main cannot be downloaded .*or set `folder`"):
        locate("no/such-model", None, "main", ["config.json"], offline=True)


def test_models_are_loaded_in_float32_and_for_inference(folder: Path) -> None:
    model = load_model(record_of(folder), "fill-mask", torch.device("cpu"))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert not model.training


def test_padding_and_truncation_of_a_tokenizers_training_are_dropped(folder: Path) -> None:
    tokenizer = load_tokenizer(record_of(folder))
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    backend = load_tokenizer(record_of(folder)).backend_tokenizer
    assert backend.encode("Ann met Carl and Ann met Carl.").tokens[-2:] == [".", "[SEP]"]
    assert len(backend.encode("Ann").ids) == 3


@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_one_token_words_are_told_from_others(tiny_checkpoint: Checkpoints, architecture: str) -> None:
    tokenizer = load_tokenizer(record_of(tiny_checkpoint(architecture, "fill-mask")))
    words = ["Ann", "Carl", "Zoë", "African-American", "Ann Carl", "日本", "cooked"]
    assert are_one_token(tokenizer, words) == [True] * 3 + [False] * 4
