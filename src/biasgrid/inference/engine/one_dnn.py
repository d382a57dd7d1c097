"""Matrix products of a model's linear layers on a CPU by oneDNN.

Its operators are those that torch's compiler calls; torch has no switch for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from biasgrid.inference.engine.hardware import multiplies_bfloat16

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class OneDnnLinear:
    """The forward pass of a linear layer by oneDNN, while its weight has the precision of now.

    In float32, torch uses MKL. On some processors MKL reaches half of oneDNN's speed, on others it
    is faster (`docs/benchmarks.md`): `autotune` measures it.

    In bfloat16, torch uses oneDNN, but puts the weight into the order in which the processor reads
    it for each product. Here that is done once: the packed copy is as large as the weight and stays
    as long as the layer, so the layers of a bfloat16 model take as much memory as in float32.

    Attributes:
        layer: the layer. Its weight may be replaced, but not changed in place.
        dtype: the type of its weight now. A weight of another type is multiplied by torch.
        source: the weight that `packed` was made of, kept so that no other one gets its memory.
            None until the first product in bfloat16.
        packed: the packed weight; None if `source` is.
    """

    def __init__(self, layer: torch.nn.Linear):
        """Computes nothing yet."""
        self.layer = layer
        self.dtype = layer.weight.dtype
        self.source: torch.Tensor | None = None
        self.packed: torch.Tensor | None = None

    def __call__(self, input: torch.Tensor) -> torch.Tensor:
        """Returns what the layer does, shape (..., outputs)."""
        weight, bias = self.layer.weight, self.layer.bias
        if weight.dtype != self.dtype:
            return functional.linear(input, weight, bias)
        if weight.dtype == torch.bfloat16:
            weight = self._packed_weight(weight)
        return linear(input, weight, bias)

    def _packed_weight(self, weight: torch.Tensor) -> torch.Tensor:
        """Returns the weight packed, anew if it is another tensor than before."""
        if self.packed is None or self.source is None or not weight.is_set_to(self.source):
            self.source = weight.detach()
            self.packed = pack(self.source)
        return self.packed


def linear(
    input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Returns the result of `torch.nn.functional.linear`, computed by oneDNN.

    Args:
        input: shape (..., inputs).
        weight: shape (outputs, inputs), as it is or packed.
        bias: shape (outputs,); None for none.
    """
    product: torch.Tensor = torch.ops.mkldnn._linear_pointwise(input, weight, bias, "none", [], "")
    return product


def pack(weight: torch.Tensor) -> torch.Tensor:
    """Returns a copy of a weight that only `linear` can read, packed for any number of rows."""
    packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight)
    return packed


def use_one_dnn(model: PreTrainedModel) -> None:
    """Has oneDNN compute a model's linear layers from now on, where `one_dnn_computes` them.

    Layers of other classes, and products with a weight outside of its layer, stay torch's.
    """
    for module in model.modules():
        # A subclass may compute something else.
        if type(module) is torch.nn.Linear:
            weight = module.weight
            if one_dnn_computes(weight.device, weight.dtype):
                layer: Any = module
                layer.forward = OneDnnLinear(module)


def one_dnn_computes(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether oneDNN can compute products: on a CPU, in float32 or native bfloat16."""
    if device.type != "cpu" or not has_one_dnn():
        return False
    return dtype == torch.float32 or (dtype == torch.bfloat16 and multiplies_bfloat16(device))


def untimed_products(precision: str, device: torch.device) -> str:
    """Returns the library for products, `torch` or `oneDNN`, in other precisions than float32.

    For float32 `autotune` measures it.
    """
    is_packed = precision == "bfloat16" and one_dnn_computes(device, torch.bfloat16)
    return "oneDNN" if is_packed else "torch"


def has_one_dnn() -> bool:
    """Whether this version of torch has the operators."""
    return hasattr(torch.ops.mkldnn, "_linear_pointwise")
