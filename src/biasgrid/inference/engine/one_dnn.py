"""Matrix products of float32 models by oneDNN in place of MKL, which torch takes for them."""

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
    """Gives all linear layers to oneDNN, in float32 as before.

    torch takes oneDNN for bfloat16, but MKL for float32, which on some processors reaches half of
    oneDNN's speed and on others is faster (`docs/benchmarks.md`): `fit` finds out. torch has no
    switch for it; this is the operator that its compiler calls.
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
    """Returns what `torch.nn.functional.linear` does, with its parameters, computed by oneDNN."""
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product


def use_one_dnn(model: PreTrainedModel) -> None:
    """Makes a model's products oneDNN's where these are float32 on the CPU."""
    forward = model.forward
    if not one_dnn_computes(next(model.parameters())):
        return

    @wraps(forward)
    def by_one_dnn(*args: Any, **kwargs: Any) -> Any:
        with OneDnnLinear():
            return forward(*args, **kwargs)

    model.forward = by_one_dnn


def one_dnn_computes(weight: torch.Tensor) -> bool:
    """Whether oneDNN may compute the products with some weights: it may those of float32 on the
    CPU.
    """
    return weight.device.type == "cpu" and weight.dtype == torch.float32 and has_one_dnn()


def has_one_dnn() -> bool:
    """Whether this torch can give single layers to oneDNN."""
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")
