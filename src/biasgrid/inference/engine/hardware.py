"""What models are run on: the device, the precision in which it computes, and its memory."""

from __future__ import annotations

import ctypes
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from biasgrid.inference.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel


logger = logging.getLogger(__name__)


def choose_device(name: str) -> torch.device:
    """Returns the device: with `auto` the GPU where there is one.

    Raises:
        ModelError: a GPU is asked for and there is none.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
        if name == "cpu":
            logger.info("torch sees no GPU, so the CPU is used")
    if name == "cuda" and not torch.cuda.is_available():
        raise ModelError(
            "device cuda is set, but torch sees no GPU; expected one, or `device: auto` "
            "in the config"
        )
    return torch.device(name)


def device_name(device: torch.device) -> str:
    """Names a device: the GPU's model, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def gpu_peak_memory(device: torch.device) -> int | None:
    """Returns the most memory that this process has used on a GPU, in MB; None for a CPU."""
    if device.type != "cuda":
        return None
    peak: int = torch.cuda.max_memory_allocated(device)
    return peak // 2**20


def choose_precision(name: str, device: torch.device) -> str:
    """Returns the precision: with `auto` bfloat16 on GPUs and processors that multiply it, else
    float32.
    """
    if name != "auto":
        return name
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    capabilities = torch.cpu.get_capabilities()
    return (
        "bfloat16" if capabilities.get("avx512_bf16") or capabilities.get("amx_bf16") else "float32"
    )


def set_precision(model: PreTrainedModel, precision: str) -> None:
    """Turns a float32 model to a precision.

    Args:
        model: the model, all of whose weights are float32.
        precision: `float32`, `tf32`, `float16` or `bfloat16`; from the last two there is no way
            back. How products of float32 are computed
            on a GPU, exactly or in TF32, is set for the whole process.
    """
    backends: Any = torch.backends  # which makes some of its attributes as it runs
    # Left to itself, torch takes TF32 for convolutions and recurrent layers.
    for products in (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn):
        products.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    if precision in ("float16", "bfloat16"):
        # What a checkpoint does not hold, such as the frequencies of rotary positions, is computed,
        # and stays exact.
        for tensor in model.state_dict(keep_vars=True).values():
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(getattr(torch, precision))


SPARE_BYTES = 64 * 2**20
"""How much more than after the last time the process may hold: each time, the next batch finds its
pages anew.
"""
STATM = Path("/proc/self/statm")


class MemoryTrimmer:
    """Gives freed memory back whenever much of it is kept; does nothing where the C library is not
    glibc.
    """

    def __init__(self, spare_bytes: int = SPARE_BYTES) -> None:
        """Gives back what has been freed before."""
        self.spare_bytes = spare_bytes
        self.trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if not STATM.exists():
            self.trim = None
        self._give_back()

    def check(self) -> None:
        """Gives freed memory back if the process holds much more than after the last time."""
        if self.trim and resident_bytes() > self.least + self.spare_bytes:
            self._give_back()

    def _give_back(self) -> None:
        if self.trim:
            self.trim(0)
            self.least = resident_bytes()


def resident_bytes() -> int:
    """Returns how much memory the process holds, on Linux."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
