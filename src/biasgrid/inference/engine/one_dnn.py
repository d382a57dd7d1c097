"""Matrix products of float32 models on a CPU by oneDNN, where torch would use MKL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class OneDnnLinear(TorchFunctionMode):
    """While it is active, oneDNN computes all linear layers, in float32 as before.

    torch uses oneDNN for bfloat16, but MKL for float32. On some processors MKL reaches half of
    oneDNN's speed, on others it is faster (`docs/benchmarks.md`): `autotune` measures it. torch has
    no switch for this; the operator used here is the one that its compiler calls.
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


def linear(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Returns the result of `torch.nn.functional.linear`, computed by oneDNN."""
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product


def use_one_dnn(model: PreTrainedModel) -> None:
    """Has oneDNN compute a model's linear layers from now on, if it is float32 on a CPU."""
    forward = model.forward
    if not one_dnn_computes(next(model.parameters())):
        return

    @wraps(forward)
    def by_one_dnn(*args: Any, **kwargs: Any) -> Any:
        with OneDnnLinear():
            return forward(*args, **kwargs)

    model.forward = by_one_dnn


def one_dnn_computes(weight: torch.Tensor) -> bool:
    """Whether oneDNN can compute products with some weights: only float32 on a CPU."""
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and has_one_dnn()


def has_one_dnn() -> bool:
    """Whether this version of torch has the operator."""
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")
