import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from biasgrid.inference.checkpoints.cost import (
    ReadingMethod,
    RequestText,
    count_input_tokens,
    parameters,
    tokens_per_instance,
    words_per_instance,
)
from biasgrid.inference.checkpoints.fast_tokenizer import load_fast_tokenizer

Checkpoints = Callable[[str, str], Path]


def write_config(folder: Path, **content: int) -> None:
    (folder / "config.json").write_text(json.dumps(content))


def test_embeddings_and_the_projection_to_the_vocabulary_are_not_counted(tmp_path: Path) -> None:
    write_config(tmp_path, vocab_size=7)
    first = {
        "bert.embeddings.word_embeddings.weight": (7, 4),
        "layer.weight": (4, 5),
        "layer.scale": (),
    }
    second = {"head.decoder.weight": (7, 4), "head.decoder.bias": (7,), "head.bias": (3,)}
    for number, shapes in enumerate((first, second), start=1):
        tensors = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
        save_file(tensors, tmp_path / f"model-0000{number}-of-00002.safetensors")
    assert parameters(tmp_path) == 4 * 5 + 1 + 3


@pytest.mark.parametrize(
    "names",
    [("hidden_size", "num_hidden_layers", "intermediate_size"), ("dim", "n_layers", "hidden_dim")],
)
def test_of_pickled_weights_the_layers_of_the_config_are_counted(
    tmp_path: Path, names: tuple[str, str, str]
) -> None:
    write_config(tmp_path, **dict(zip(names, (768, 12, 3072), strict=True)))
    assert parameters(tmp_path) == 12 * 12 * 768**2


def test_facts_without_a_file_are_unknown(tmp_path: Path) -> None:
    assert parameters(tmp_path) is None
    write_config(tmp_path, hidden_size=768)
    assert parameters(tmp_path) is None
    for content in (
        "[]",
        "{",
        '{"hidden_size": "x", "num_hidden_layers": 2, "intermediate_size": [3]}',
    ):
        (tmp_path / "config.json").write_text(content)
        assert parameters(tmp_path) is None
    (tmp_path / "model.safetensors").write_bytes(b"cut off")
    assert parameters(tmp_path) is None


def test_a_tokenizer_is_loaded_without_the_padding_and_truncation_of_its_training(
    tmp_path: Path, tiny_checkpoint: Checkpoints
) -> None:
    backend = load_fast_tokenizer(tiny_checkpoint("bert", "fill-mask") / "tokenizer.json")
    assert backend is not None
    backend.enable_truncation(4)
    backend.enable_padding(length=90)
    backend.save(str(tmp_path / "tokenizer.json"))
    again = load_fast_tokenizer(tmp_path / "tokenizer.json")
    assert again is not None
    texts = [RequestText("Ann met Carl", "Who lied", ())]
    # [CLS] Who lied [SEP] Ann met Carl [SEP], and [CLS] Ann met Carl Who lied [SEP].
    assert tokens_per_instance(again, texts, ReadingMethod()) == 8
    assert tokens_per_instance(again, texts, ReadingMethod(is_joined=True)) == 7


def test_words_of_several_tokens_share_equal_inputs() -> None:
    assert count_input_tokens(9, []) == count_input_tokens(9, [[5], [6]]) == 9
    # Three masks, one token and two masks, two tokens and a mask; the second word differs in the
    # last of them.
    assert count_input_tokens(9, [[5], [5, 6, 7], [5, 8, 7]]) == 9 + 4 * (9 + 2)


def test_words_and_marks_count_as_tokens() -> None:
    texts = [RequestText("Ann met Carl.", "Who lied?", ["Ann", "Carl"]), RequestText("A", "B", [])]
    assert words_per_instance(texts[:1], ReadingMethod()) == 4 + 3 + 3
    assert words_per_instance(texts, ReadingMethod(is_joined=True)) == (7 + 2) / 2 + 2
