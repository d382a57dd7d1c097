"""The size of a model, read from a checkpoint's files without loading it."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.files import CONFIG, read_checkpoint_json


def parameters(folder: Path) -> int | None:
    """Counts the parameters that every token of an input passes through.

    Embeddings are only looked up, and the projection to the vocabulary is computed at the mask
    alone: neither counts, see `is_embedding`. Sizes are read from the headers of safetensors files.
    For pickled weights the number is estimated from config.json: 2 d L (2 d + f) for L layers of
    width d and inner width f (Kaplan et al. 2020, Scaling Laws for Neural Language Models, section
    2.1). Parameters that several layers share (ALBERT) count once.

    Returns:
        The number; None if neither file has the sizes.
    """
    from safetensors import SafetensorError, safe_open

    total = 0
    try:
        config = read_checkpoint_json(str(folder), folder / CONFIG)
        for file in sorted(folder.glob("model*.safetensors")):
            with safe_open(file, framework="numpy") as tensors:
                shapes = {name: tensors.get_slice(name).get_shape() for name in tensors.keys()}  # noqa: SIM118
            for name, shape in shapes.items():
                if not is_embedding(name, shape, config):
                    total += prod(shape)
    except (OSError, UserError, SafetensorError):
        return None
    return total or count_layer_parameters(config)


def is_embedding(name: str, shape: Sequence[int], config: dict[str, Any]) -> bool:
    """Whether a tensor is an embedding, or has a row for each entry of the vocabulary."""
    return "embed" in name or (len(shape) > 0 and shape[0] == config.get("vocab_size"))


def count_layer_parameters(config: dict[str, Any]) -> int | None:
    """Estimates the parameters of all layers by config.json; None if it lacks their sizes."""
    width = config.get("hidden_size", config.get("dim"))
    layers = config.get("num_hidden_layers", config.get("n_layers"))
    inner = config.get("intermediate_size", config.get("hidden_dim"))
    if not (isinstance(width, int) and isinstance(layers, int) and isinstance(inner, int)):
        return None
    return 2 * width * layers * (2 * width + inner)
