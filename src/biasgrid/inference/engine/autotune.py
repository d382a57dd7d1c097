"""Chooses the number of tokens in a batch, and the library for matrix products, by the hardware."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from biasgrid.inference.engine.hardware import multiplies_bfloat16
from biasgrid.inference.engine.one_dnn import linear, one_dnn_computes, pack
from biasgrid.inference.engine.processor_findings import PROCESSOR, find_once
from biasgrid.inference.engine.settings import InferenceSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel


logger = logging.getLogger(__name__)

TIMED_TOKENS = 32
ROUNDS = 9
MUCH_FASTER = 1.15
"""How many times as fast another library must be to be used: less may be chance."""
SMALLEST_BUDGET, LARGEST_BUDGET = 512, 65536
CACHE_BYTES_PER_TOKEN = 16 * 2**10
"""Memory that a layer of bert-base's size (768 and 3072 wide) reads and writes for a token."""
GPU_BYTES_PER_TOKEN = 2**20
"""Share of all memory for a token: it leaves room for the model, and for logits over a vocabulary
of 250,000 entries.
"""


def choose_token_budget(settings: InferenceSettings, device: torch.device) -> int:
    """Returns the largest number of tokens in a batch.

    With `token_budget: auto` the device decides, and a resumed shard keeps its budget: other
    batches would give other last digits.
    """
    if settings.token_budget != "auto":
        return settings.token_budget
    folder = settings.shard_cache
    file = None if folder is None else folder / "batches.json"
    findings = find_once(file, lambda: {"token_budget": device_token_budget(device)})
    budget = int(findings["token_budget"])
    logger.info("a batch has up to %s tokens (token_budget: auto)", f"{budget:,}")
    return budget


def device_token_budget(device: torch.device) -> int:
    """Returns the token budget that fits a GPU's memory, or a CPU's largest cache."""
    if device.type == "cuda":
        memory = torch.cuda.get_device_properties(device).total_memory
        return power_of_two(memory // GPU_BYTES_PER_TOKEN)
    return power_of_two(largest_cache() // CACHE_BYTES_PER_TOKEN)


def power_of_two(tokens: int) -> int:
    """Rounds a token budget down to a power of two, from `SMALLEST_BUDGET` to `LARGEST_BUDGET`."""
    limited = min(max(tokens, SMALLEST_BUDGET), LARGEST_BUDGET)
    return 1 << (limited.bit_length() - 1)


def largest_cache(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """Returns the size of a CPU's largest cache in bytes; 32 MB if the system has no such files."""
    sizes = []
    for path in folder.glob("index*/size"):
        # Linux writes sizes such as `512K` and `32M`.
        text = path.read_text().strip()
        unit = 2**10 if text.endswith("K") else 2**20
        sizes.append(int(text[:-1]) * unit)
    return max(sizes, default=32 * 2**20)


def processor_name(device: torch.device) -> str:
    """Names the type of a device: the GPU's model, or the CPU's with its instruction sets."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    model = models[0] if models else platform.processor()
    capabilities = torch.cpu.get_capabilities().items()
    instructions = sorted(name for name, has in capabilities if has is True)
    return f"{model} ({', '.join(instructions)})"


def cached_tuning(
    model: PreTrainedModel,
    settings: InferenceSettings,
    find: Callable[[], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns the findings of `time_kernels`, from a file if a shard of the cell has made it.

    Args:
        model: the model, in float32.
        settings: its settings.
        find: returns the findings; by default those of `time_kernels`.
    """
    file = None
    if settings.cell_cache is not None:
        file = settings.cell_cache / tuning_file_name(model.device, model, settings.threads)
    return find_once(file, find or (lambda: time_kernels(model)))


def tuning_file_name(device: torch.device, model: PreTrainedModel, threads: int) -> str:
    """Names the file of findings: by processor, shape of the largest layer, and threads."""
    layer = largest_layer(model)
    shape = None if layer is None else tuple(layer.weight.shape)
    setting = repr((processor_name(device), shape, threads))
    return f"{PROCESSOR}{sha256(setting.encode()).hexdigest()[:12]}.json"


def largest_layer(model: torch.nn.Module) -> torch.nn.Linear | None:
    """Returns the largest linear layer of a model, without the one over the vocabulary.

    None for a model without linear layers.
    """
    head = getattr(model, "get_output_embeddings", lambda: None)()
    layers = [
        layer
        for layer in model.modules()
        if isinstance(layer, torch.nn.Linear) and layer is not head
    ]
    return max(layers, key=lambda layer: layer.weight.numel(), default=None)


@torch.inference_mode()
def time_kernels(model: PreTrainedModel) -> dict[str, Any]:
    """Times matrix products of a float32 model's largest layer, for some tens of milliseconds.

    Returns:
        `processor`, its name; `products`, the library for float32 (`torch` or `oneDNN`); and
        `bfloat16_is_faster`, the speed of bfloat16 divided by that of `products`, 1 where the
        device only emulates it. For a model with linear layers also `layer`, the shape of the
        largest one, and `milliseconds` by kernel.
    """
    layer, device = largest_layer(model), model.device
    findings: dict[str, Any] = {
        "processor": processor_name(device),
        "products": "torch",
        "bfloat16_is_faster": 1.0,
    }
    if layer is None:
        return findings
    values = torch.randn(TIMED_TOKENS, layer.in_features, device=device)
    weight = layer.weight.detach()
    kernels: dict[str, Callable[[], object]] = {"torch": lambda: functional.linear(values, weight)}
    if one_dnn_computes(device, torch.float32):
        kernels["oneDNN"] = lambda: linear(values, weight)
    if multiplies_bfloat16(device):
        kernels["bfloat16"] = bfloat16_kernel(values, weight)
    seconds = shortest_seconds(kernels, device)
    times = {kernel: 1e3 * shortest for kernel, shortest in seconds.items()}
    if times["torch"] > MUCH_FASTER * times.get("oneDNN", float("inf")):
        findings["products"] = "oneDNN"
    fastest = times[findings["products"]]
    findings["layer"] = list(weight.shape)
    findings["milliseconds"] = {kernel: round(shortest, 3) for kernel, shortest in times.items()}
    findings["bfloat16_is_faster"] = round(fastest / times.get("bfloat16", fastest), 2)
    return findings


def bfloat16_kernel(values: torch.Tensor, weight: torch.Tensor) -> Callable[[], torch.Tensor]:
    """Returns the product of a float32 layer as it is computed with `precision: bfloat16`."""
    inputs, own_weight = values.bfloat16(), weight.bfloat16()
    if one_dnn_computes(weight.device, torch.bfloat16):
        packed = pack(own_weight)
        return lambda: linear(inputs, packed)
    return lambda: functional.linear(inputs, own_weight)


def shortest_seconds(
    kernels: dict[str, Callable[[], object]], device: torch.device, rounds: int = ROUNDS
) -> dict[str, float]:
    """Returns the shortest time of each kernel: other work on the machine can only add to it.

    Args:
        kernels: the kernels, timed in turns.
        device: the device that they compute on.
        rounds: the number of times that each kernel is timed.
    """
    times: dict[str, list[float]] = {name: [] for name in kernels}
    for turn in range(rounds + 1):
        for name, compute in kernels.items():
            before = time.perf_counter()
            compute()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            # A library sets itself up in its first call, which is not timed.
            if turn:
                times[name].append(time.perf_counter() - before)
    return {name: min(seconds) for name, seconds in times.items()}
