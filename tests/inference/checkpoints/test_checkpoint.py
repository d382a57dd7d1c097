import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from tiny_checkpoints import TOKENIZERS

from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.checkpoint import (
    ModelError,
    checkpoint_name,
    load_recorded_model,
    load_recorded_tokenizer,
    local_folder,
    read_record,
)
from biasgrid.inference.checkpoints.fetch import make_record
from biasgrid.inference.models.masked.one_token import are_one_token

Checkpoints = Callable[[str, str], Path]


@pytest.fixture
def folder(tmp_path: Path, tiny_checkpoint: Checkpoints) -> Path:
    """A copy of a checkpoint, to be damaged."""
    return Path(shutil.copytree(tiny_checkpoint("bert", "fill-mask"), tmp_path / "checkpoint"))


def record_of(folder: Path, **choices: Any) -> dict[str, Any]:
    source = {"checkpoint": None, "folder": str(folder), "revision": None}
    return make_record(**source, **{"weights": True, "allow_pickle": False} | choices)


def test_a_record_that_was_written_leads_to_its_folder(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_text(json.dumps(record_of(folder)))
    record = read_record(tmp_path / "record.json")
    assert local_folder(record) == folder
    assert checkpoint_name(record) == str(folder)


def test_files_that_are_gone_are_named(folder: Path) -> None:
    record = record_of(folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(
        ModelError, match=r"checkpoint: it no longer has tokenizer.json; .* remove the record"
    ):
        local_folder(record)


def test_a_commit_that_is_not_in_this_machines_cache_is_named(folder: Path) -> None:
    record = record_of(folder) | {
        "checkpoint": "no/such-model",
        "folder": None,
        "revision": "0" * 40,
    }
    with pytest.raises(
        ModelError,
        match=r"no/such-model: this machine's cache of the hub, .* no longer has config.json, model",
    ):
        local_folder(record)


def test_models_are_loaded_in_float32_and_for_inference(folder: Path) -> None:
    model = load_recorded_model(
        record_of(folder), "fill-mask", "AutoModelForMaskedLM", torch.device("cpu")
    )
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    assert not model.training


def test_pickled_weights_are_loaded_only_where_the_record_has_them(folder: Path) -> None:
    weights = load_recorded_model(
        record_of(folder), "fill-mask", "AutoModelForMaskedLM", torch.device("cpu")
    ).state_dict()
    (folder / "model.safetensors").unlink()
    torch.save(weights, folder / "pytorch_model.bin")
    model = load_recorded_model(
        record_of(folder, allow_pickle=True),
        "fill-mask",
        "AutoModelForMaskedLM",
        torch.device("cpu"),
    )
    assert all(torch.equal(tensor, weights[name]) for name, tensor in model.state_dict().items())
    (folder / "model.safetensors").write_bytes(b"")
    with pytest.raises(
        ModelError,
        match=r"checkpoint cannot be loaded \(.*\); expected files that transformers can",
    ):
        load_recorded_model(
            record_of(folder), "fill-mask", "AutoModelForMaskedLM", torch.device("cpu")
        )


def test_code_is_neither_run_nor_asked_about_where_transformers_knows_the_model(
    folder: Path,
) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "new.NewConfig", "AutoModelForMaskedLM": "new.NewModel"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "new.py").write_text("raise SystemExit('this code was run')")
    record = record_of(folder)
    assert "new.py" not in record["files"]
    assert (
        type(
            load_recorded_model(record, "fill-mask", "AutoModelForMaskedLM", torch.device("cpu"))
        ).__name__
        == "BertForMaskedLM"
    )


def test_padding_and_truncation_of_a_tokenizers_training_are_dropped(folder: Path) -> None:
    tokenizer = load_recorded_tokenizer(record_of(folder))
    tokenizer.backend_tokenizer.enable_truncation(4)
    tokenizer.backend_tokenizer.enable_padding(length=9)
    tokenizer.backend_tokenizer.save(str(folder / "tokenizer.json"))
    backend = load_recorded_tokenizer(record_of(folder)).backend_tokenizer
    assert backend.encode("Ann met Carl and Ann met Carl.").tokens[-2:] == [".", "[SEP]"]
    assert len(backend.encode("Ann").ids) == 3


@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_one_token_words_are_distinguished_from_others(
    tiny_checkpoint: Checkpoints, architecture: str
) -> None:
    tokenizer = load_recorded_tokenizer(record_of(tiny_checkpoint(architecture, "fill-mask")))
    words = ["Ann", "Carl", "Zoë", "African-American", "Ann Carl", "日本", "cooked"]
    assert are_one_token(tokenizer, words) == [True] * 3 + [False] * 4


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    (tmp_path / "bert.json").write_text('{"files": ')
    with pytest.raises(
        UserError, match=r"bert.json: not a record of a checkpoint .*; remove it and run again"
    ):
        read_record(tmp_path / "bert.json")


def test_weights_that_changed_since_they_were_recorded_are_refused(folder: Path) -> None:
    record = record_of(folder)
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(
        ModelError, match=r"model.safetensors changed since the model.s record was made"
    ):
        load_recorded_model(record, "fill-mask", "AutoModelForMaskedLM", torch.device("cpu"))


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("hidden_size", 64, r"bert.embeddings.LayerNorm.bias is 32, not 64, .* and 37 more"),
        (
            "vocab_size",
            7,
            (
                r"bert.embeddings.word_embeddings.weight is \d+ x 32, not 7 x 32, "
                r"cls.predictions.bias .*"
            ),
        ),
        (
            "num_hidden_layers",
            3,
            r"bert.encoder.layer.2.attention.output.LayerNorm.bias is missing, .* and 14 more",
        ),
        (
            "num_hidden_layers",
            1,
            r"bert.encoder.layer.1.attention.output.LayerNorm.bias is left over, .* and 14 more",
        ),
        (
            "num_hidden_layers",
            -1,
            r"bert.encoder.layer.0.attention.output.LayerNorm.bias is left over, .* and 30 more",
        ),
    ],
)
def test_weights_of_another_model_than_the_config_describes_are_refused(
    folder: Path, key: str, value: int, problem: str
) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {key: value}))
    message = (
        rf"checkpoint: the weights do not match config.json \({problem}\); expected both from the "
        r"same model$"
    )
    with pytest.raises(ModelError, match=message):
        load_recorded_model(
            record_of(folder), "fill-mask", "AutoModelForMaskedLM", torch.device("cpu")
        )


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("hidden_size", "wide", r"Validation error for field 'hidden_size': .*'wide'\)"),
        ("id2label", ["yes", "no"], "'list' object has no attribute 'items'"),
        ("hidden_act", "nosuch", "there is no 'nosuch'"),
        ("vocab_size", 0, "index 0 is out of bounds for dimension 0 with size 0"),
        ("pad_token_id", 9999, "Padding_idx must be within num_embeddings"),
        ("dtype", "nosuch", "module 'torch' has no attribute 'nosuch'"),
        ("num_attention_heads", 0, "integer modulo by zero"),
    ],
)
def test_a_config_with_an_impossible_value_is_named(
    folder: Path, key: str, value: object, problem: str
) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {key: value}))
    message = (
        rf"checkpoint cannot be loaded \({problem}\); expected files that transformers can read$"
    )
    with pytest.raises(ModelError, match=message):
        load(folder)


def load(folder: Path) -> None:
    record = record_of(folder)
    load_recorded_tokenizer(record)
    load_recorded_model(record, "fill-mask", "AutoModelForMaskedLM", torch.device("cpu"))


@pytest.mark.parametrize(
    ("file", "content"),
    [("tokenizer.json", "{}"), ("tokenizer.json", "[]"), ("tokenizer_config.json", "[]")],
)
def test_a_damaged_tokenizer_is_named(folder: Path, file: str, content: str) -> None:
    (folder / file).write_text(content)
    with pytest.raises(
        ModelError,
        match=r"checkpoint cannot be loaded \(.*\); expected files that transformers can read$",
    ):
        load_recorded_tokenizer(record_of(folder))


def test_a_tokenizer_without_mask_token_cannot_filter_subjects(folder: Path) -> None:
    tokenizer = load_recorded_tokenizer(record_of(folder))
    tokenizer.mask_token = None
    with pytest.raises(
        ModelError,
        match="the tokenizer has no mask token; expected the tokenizer of a masked language model",
    ):
        are_one_token(tokenizer, ["Ann"])
