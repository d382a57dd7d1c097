"""The device that a model runs on, the precision that it computes in, and its memory."""

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

BFLOAT16_INSTRUCTIONS = ("amx_bf16", "avx512_bf16", "bf16")
"""Instructions to multiply bfloat16 numbers, as torch names them; the last one is Arm's."""


def choose_device(name: str) -> torch.device:
    """Returns the device of a setting: `cpu`, `cuda`, or `auto` for a GPU if there is one.

    Raises:
        ModelError: the setting is `cuda`, and there is no GPU.
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
    """Returns the name of a device: the GPU's model, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"


def gpu_peak_memory(device: torch.device) -> int | None:
    """Returns the most memory that this process has used on a GPU, in MB; None for a CPU."""
    if device.type != "cuda":
        return None
    peak: int = torch.cuda.max_memory_allocated(device)
    return peak // 2**20


def multiplies_bfloat16(device: torch.device) -> bool:
    """Whether a device has instructions to multiply bfloat16 numbers."""
    if device.type == "cuda":
        is_native: bool = torch.cuda.is_bf16_supported(including_emulation=False)
        return is_native
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name) for name in BFLOAT16_INSTRUCTIONS)


def warn_if_emulated(precision: str, device: torch.device, model: str) -> None:
    """Warns if a device computes in bfloat16 slowly, without instructions for it."""
    if precision == "bfloat16" and not multiplies_bfloat16(device):
        logger.warning(
            "%s: answered in bfloat16, which this processor only emulates; `precision: float32` "
            "would be faster here",
            model,
        )


def set_precision(model: PreTrainedModel, precision: str) -> None:
    """Turns a float32 model, in place, to a precision.

    For a GPU it also sets, for the whole process, whether float32 products are exact or in TF32.

    Args:
        model: the model; all of its weights must be float32.
        precision: `float32`, `tf32`, `float16` or `bfloat16`. The last two cannot be undone.
    """
    # Any: torch creates some of these attributes at run time.
    backends: Any = torch.backends
    # By default, torch uses TF32 for convolutions and recurrent layers.
    for products in (backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn):
        products.fp32_precision = "tf32" if precision == "tf32" else "ieee"
    if precision in ("float16", "bfloat16"):
        # Tensors that are not in a checkpoint, such as the frequencies of rotary positions, are
        # not in the state dict, and stay exact.
        for tensor in model.state_dict(keep_vars=True).values():
            if tensor.is_floating_point():
                tensor.data = tensor.data.to(getattr(torch, precision))


SPARE_BYTES = 64 * 2**20
"""Memory that the process may hold beyond its size after the last trim. Each trim is a cost: the
next batch has to get its pages from the system again.
"""
STATM = Path("/proc/self/statm")


class MemoryTrimmer:
    """Returns freed memory to the system; works on Linux with glibc, and does nothing elsewhere.

    Attributes:
        spare_bytes: how far the process may grow before memory is returned again.
        trim: glibc's `malloc_trim`; None without it.
        trimmed_bytes: the size of the process after the last trim.
    """

    def __init__(self, spare_bytes: int = SPARE_BYTES) -> None:
        """Returns the memory that was freed before."""
        self.spare_bytes = spare_bytes
        self.trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if not STATM.exists():
            self.trim = None
        self._release()

    def check(self) -> None:
        """Returns freed memory if the process has grown by more than `spare_bytes`."""
        if self.trim and resident_bytes() > self.trimmed_bytes + self.spare_bytes:
            self._release()

    def _release(self) -> None:
        if self.trim:
            self.trim(0)
            self.trimmed_bytes = resident_bytes()


def resident_bytes() -> int:
    """Returns the memory that the process holds, in bytes; on Linux only."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
