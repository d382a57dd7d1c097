"""Lets oneDNN multiply the matrices of float32 models on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class OneDnnLinear(TorchFunctionMode):
    """Gives all linear layers to oneDNN, in float32 as before.

    torch takes oneDNN for bfloat16, but MKL for float32, which on processors that are not Intel's reaches half of
    oneDNN's speed (`docs/benchmarks.md`). torch has no switch for it; this is the operator that its compiler calls.
    """

    def __torch_function__(
        self,
        function: Callable[..., Any],
        _types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if function is functional.linear:
            return linear(*args, **(kwargs or {}))
        return function(*args, **(kwargs or {}))


def linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    """Returns what `torch.nn.functional.linear` does, with its parameters, computed by oneDNN."""
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product


def fast_products(model: torch.nn.Module) -> AbstractContextManager[object]:
    """Returns the context in which a model's products are fastest: oneDNN's for float32 on the CPU, else torch's own.

    Args:
        model: all of its weights are of one type and on one device.
    """
    weight = next(model.parameters())
    if weight.device.type == "cpu" and weight.dtype == torch.float32 and hasattr(torch.ops.mkldnn, "_linear_pointwise"):
        return OneDnnLinear()
    return nullcontext()
