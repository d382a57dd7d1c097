"""The precision in which models compute."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def choose_precision(name: str, device: torch.device) -> str:
    """Returns the precision: with `auto` bfloat16 on GPUs and processors that multiply it, else float32."""
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    capabilities = torch.cpu.get_capabilities()
    return "bfloat16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "float32"


def set_precision(model: PreTrainedModel, precision: str) -> None:
    """Turns a float32 model to a precision.

    Args:
        model: the model, all of whose weights are float32.
        precision: `float32`, `tf32`, `float16` or `bfloat16`. How products of float32 are computed on a GPU, exactly or
            in TF32, is set for the whole process.
    """
    backends: Any = torch.backends  # which makes some of its attributes as it runs
    # Left to itself, torch takes TF32 for convolutions and recurrent layers.
    for products in (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn):
        products.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    if precision in ("float16", "bfloat16"):
        # What a checkpoint does not hold, such as the frequencies of rotary positions, is computed, and stays exact.
        for tensor in model.state_dict(keep_vars=True).values():
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(getattr(torch, precision))
