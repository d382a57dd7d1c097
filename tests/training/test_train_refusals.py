"""What training refuses before it begins."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tiny_checkpoints import TOKENIZERS
from training import FEW, TASKS, written

from biasgrid.base.faults import InputError
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.training.train import Hyperparameters, load_model_to_train, train


@pytest.mark.parametrize("task", [*TASKS, "text-classification"])
def test_weights_that_contradict_the_config_are_refused(
    task: str, base: Path, corpus: Any, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(base, broken)
    config = json.loads((broken / "config.json").read_text())
    (broken / "config.json").write_text(json.dumps(config | {"hidden_size": 32}))
    data = tmp_path / "labels.jsonl"
    data.write_text('{"text": "Ann sang", "label": "good"}\n{"text": "Bea won", "label": "bad"}\n')
    data = data if task == "text-classification" else corpus(task, 1.0)
    labels = ("bad", "good") if task == "text-classification" else ()
    with pytest.raises(
        ModelError, match=r"broken: the weights do not match config.json \(bert\.embeddings"
    ):
        train(task, broken, [data], tmp_path / "out", FEW, threads=1, labels=labels)
    assert not (tmp_path / "out").exists()


# Checkpoints to begin with


@pytest.fixture
def copy(base: Path, tmp_path: Path) -> Path:
    """A copy of the base, to be changed."""
    return Path(shutil.copytree(base, tmp_path / "copy"))


def change_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_another_architecture_are_refused(
    task: str, copy: Path, corpus: Any, tmp_path: Path
) -> None:
    change_json(copy / "config.json", model_type="electra", embedding_size=64)
    message = (
        r"copy: the weights do not match config.json \((\d+) of \1 tensors are missing, "
        r"such as electra\."
    )
    with pytest.raises(ModelError, match=message):
        train(task, copy, [corpus(task, 1.0)], tmp_path / "out", FEW, threads=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_of_a_masked_language_model_only_a_pooler_and_a_head_begin_at_random(
    architecture: str, tiny_checkpoint: Callable[[str, str], Path]
) -> None:
    checkpoint = tiny_checkpoint(architecture, "fill-mask")
    for task, labels in (("question-answering", []), ("text-classification", ["bad", "good"])):
        assert load_model_to_train(task, checkpoint, labels).config.model_type == architecture


@pytest.mark.parametrize(("kind", "task"), [("pad", "question-answering"), ("mask", "fill-mask")])
def test_a_tokenizer_without_a_special_token_is_refused(
    kind: str, task: str, copy: Path, corpus: Any, tmp_path: Path
) -> None:
    change_json(copy / "tokenizer_config.json", **{f"{kind}_token": None})
    with pytest.raises(ModelError, match=f"copy: the tokenizer has no {kind} token; expected"):
        train(task, copy, [corpus(task, 1.0)], tmp_path / "out", FEW, threads=1)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json"])
def test_a_checkpoint_that_cannot_be_loaded_is_one_message(
    file: str, copy: Path, tmp_path: Path
) -> None:
    (copy / file).write_text("{")
    data = written(tmp_path, '{"text": "Ann sang", "label": "good"}')
    with pytest.raises(
        ModelError, match=r"copy cannot be loaded \(.*\); expected files that transformers can read"
    ):
        train(
            "text-classification",
            copy,
            [data],
            tmp_path / "out",
            FEW,
            threads=1,
            labels=["bad", "good"],
        )


def test_sequences_longer_than_the_models_positions_are_refused(
    tiny_checkpoint: Callable[[str, str], Path], tmp_path: Path
) -> None:
    checkpoint, lines = (
        tiny_checkpoint("roberta", "fill-mask"),
        written(tmp_path, "the cook lied " * 200),
    )
    expected = (
        "data: a sequence has 384 tokens, but the model has positions for only "
        "128; expected hyperparameters.max_len"
    )
    with pytest.raises(InputError, match=expected):
        train("fill-mask", checkpoint, [lines], tmp_path / "out", Hyperparameters(), threads=1)
    fitting = Hyperparameters(max_length=128, epochs=1)
    assert (
        train("fill-mask", checkpoint, [lines], tmp_path / "out", fitting, threads=1, device="cpu")
        == "cpu"
    )


def test_a_gpu_that_is_asked_for_must_be_there(
    base: Path, corpus: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(
        ModelError,
        match="device cuda is set, but torch sees no GPU; expected one, or `device: auto`",
    ):
        train(
            "fill-mask",
            base,
            [corpus("fill-mask", 1.0)],
            tmp_path / "out",
            FEW,
            threads=1,
            device="cuda",
        )


def test_files_of_several_forms_are_refused(base: Path, tmp_path: Path) -> None:
    texts, prompts = tmp_path / "texts.txt", tmp_path / "prompts.txt"
    texts.write_text("one two\n")
    prompts.write_text("one [MASK]\ttwo\n")
    message = (
        r"prompts.txt: contains texts with a mask, but \S*texts.txt contains texts; expected "
        "files of one form"
    )
    with pytest.raises(InputError, match=message):
        train("fill-mask", base, [texts, texts, prompts], tmp_path / "out", FEW, threads=1)
    assert not (tmp_path / "out").exists()
