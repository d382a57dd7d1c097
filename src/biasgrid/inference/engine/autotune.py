"""What fits the processor: how many tokens a batch has, and whose products are taken."""

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

from biasgrid.inference.engine.hardware import choose_precision
from biasgrid.inference.engine.one_dnn import linear, one_dnn_computes
from biasgrid.inference.engine.processor_findings import PROCESSOR, find_once
from biasgrid.inference.engine.settings import InferenceSettings

if TYPE_CHECKING:
    from transformers import PreTrainedModel


logger = logging.getLogger(__name__)

TIMED_TOKENS = 32
ROUNDS = 9
MUCH_FASTER = 1.15
"""From here on another library's products are taken: less may be chance."""
SMALLEST_BUDGET, LARGEST_BUDGET = 512, 65536
CACHE_BYTES_PER_TOKEN = 16 * 2**10
"""What a layer of bert-base's size reads and writes for a token in float32: 768 and 3072
numbers.
"""
GPU_BYTES_PER_TOKEN = 2**20
"""Of all memory, so that the model and logits over a vocabulary of 250,000 entries have room beside
them.
"""


def choose_token_budget(settings: InferenceSettings, device: torch.device) -> int:
    """Returns how many tokens a batch may have; of `auto` what the device says, and of a resumed
    shard what it had.
    """
    if settings.token_budget != "auto":
        return settings.token_budget
    folder = settings.shard_cache
    file = None if folder is None else folder / "batches.json"
    budget = int(
        find_once(file, lambda: {"token_budget": device_token_budget(device)})["token_budget"]
    )
    logger.info("a batch has up to %s tokens (token_budget: auto)", f"{budget:,}")
    return budget


def device_token_budget(device: torch.device) -> int:
    """Returns how many tokens a batch has: of a GPU decided by its memory, of a CPU by its largest
    cache.
    """
    if device.type == "cuda":
        return power_of_two(
            torch.cuda.get_device_properties(device).total_memory // GPU_BYTES_PER_TOKEN
        )
    return power_of_two(largest_cache() // CACHE_BYTES_PER_TOKEN)


def power_of_two(number: int) -> int:
    """Returns the largest power of two that is no larger, between the smallest budget and the
    largest one.
    """
    return 1 << (min(max(number, SMALLEST_BUDGET), LARGEST_BUDGET).bit_length() - 1)


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
    """Names the type of a device: the GPU's model, or the processor and what it multiplies."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    capabilities = sorted(name for name, has in torch.cpu.get_capabilities().items() if has is True)
    return " ".join([names[0] if names else platform.processor(), f"({', '.join(capabilities)})"])


def cached_tuning(
    model: PreTrainedModel,
    settings: InferenceSettings,
    find: Callable[[str], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Returns what fits a float32 model on this processor, found by the first shard of the cell
    that asks.

    Args:
        model: the model.
        settings: how it is run.
        find: finds it, given the precision that `auto` stands for here; `time_kernels` alone by
            default.
    """
    auto = choose_precision("auto", model.device)
    folder = settings.kept
    file = (
        None if folder is None else folder / tuning_file_name(model.device, model, settings.threads)
    )
    return find_once(file, lambda: find(auto) if find else time_kernels(model, auto))


def tuning_file_name(device: torch.device, model: PreTrainedModel, threads: int) -> str:
    """Names the file of what was found for a model on a type of processor."""
    layer = largest_layer(model)
    shape = None if layer is None else tuple(layer.weight.shape)
    setting = repr((processor_name(device), shape, threads))
    return f"{PROCESSOR}{sha256(setting.encode()).hexdigest()[:12]}.json"


def largest_layer(model: torch.nn.Module) -> torch.nn.Linear | None:
    """Returns the largest linear layer of a model but that over the vocabulary, None where it has
    none.
    """
    head = getattr(model, "get_output_embeddings", lambda: None)()
    layers = [
        layer
        for layer in model.modules()
        if isinstance(layer, torch.nn.Linear) and layer is not head
    ]
    return max(layers, key=lambda layer: layer.weight.numel(), default=None)


@torch.inference_mode()
def time_kernels(model: PreTrainedModel, other: str) -> dict[str, Any]:
    """Times the products of a float32 model's largest layer, for some tens of milliseconds.

    Args:
        model: the model.
        other: the precision that `auto` stands for on its device.

    Returns:
        The `processor`; the `layer`; `milliseconds` by the way to compute; `products`, the way that
        float32 takes (`torch` or `oneDNN`); and `auto_is_faster`, how often `other` is as fast as
        that.
    """
    layer, device = largest_layer(model), model.device
    found: dict[str, Any] = {
        "processor": processor_name(device),
        "products": "torch",
        "auto_is_faster": 1.0,
    }
    if layer is None:
        return found
    values, weight = (
        torch.randn(TIMED_TOKENS, layer.in_features, device=device),
        layer.weight.detach(),
    )
    ways: dict[str, Callable[[], object]] = {"torch": lambda: functional.linear(values, weight)}
    if one_dnn_computes(weight):
        ways["oneDNN"] = lambda: linear(values, weight)
    if other != "float32":
        fewer, smaller = (tensor.to(getattr(torch, other)) for tensor in (values, weight))
        ways[other] = lambda: functional.linear(fewer, smaller)
    times = {way: 1e3 * seconds for way, seconds in shortest_seconds(ways, device).items()}
    if times["torch"] > MUCH_FASTER * times.get("oneDNN", float("inf")):
        found["products"] = "oneDNN"
    fastest = times[found["products"]]
    found |= {
        "layer": list(weight.shape),
        "milliseconds": {way: round(each, 3) for way, each in times.items()},
    }
    return found | {"auto_is_faster": round(fastest / times.get(other, fastest), 2)}


def shortest_seconds(
    ways: dict[str, Callable[[], object]], device: torch.device, rounds: int = ROUNDS
) -> dict[str, float]:
    """Times ways to compute in rounds of all; returns the shortest time of each, on which others'
    work has no say.
    """
    times: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(rounds + 1):
        for way, compute in ways.items():
            before = time.perf_counter()
            compute()
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            # What a library sets up at its first call is not its speed.
            if turn:
                times[way].append(time.perf_counter() - before)
    return {way: min(each) for way, each in times.items()}
