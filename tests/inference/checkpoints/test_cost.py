import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from biasgrid.inference.checkpoints.cost import parameters


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
