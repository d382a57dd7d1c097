"""What models are run and trained on."""

from __future__ import annotations

import logging

import torch

from biasgrid.models.checkpoint import ModelError

logger = logging.getLogger(__name__)


def choose_device(name: str) -> torch.device:
    """Returns the device: with `auto` the GPU where there is one.

    Raises:
        ModelError: a GPU is asked for and there is none.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
        if name == "cpu":
            logger.info("there is no GPU that torch can use: the CPU is used")
    if name == "cuda" and not torch.cuda.is_available():
        raise ModelError("device cuda is set, but torch sees no GPU; expected one, or `device: auto` in the config")
    return torch.device(name)


def name_of_device(device: torch.device) -> str:
    """Names a device: the GPU's model, or `cpu`."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu"
