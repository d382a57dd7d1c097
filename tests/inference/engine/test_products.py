"""Products of linear layers on the CPU, by torch and by oneDNN."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
import torch
from shards import Cell, largest_difference
from tiny_checkpoints import HEADS
from torch.nn import functional

from biasgrid.inference.engine.one_dnn import one_dnn_computes, untimed_products, use_one_dnn
from biasgrid.tables.files import read_provenance

Cells = Callable[[str, str], Cell]
CPU = torch.device("cpu")
DTYPES = [torch.float32, torch.bfloat16, torch.float16]
SHAPES = {
    "a vector": torch.randn(8),
    "rows": torch.randn(3, 8),
    "no rows": torch.randn(0, 8),
    "texts": torch.randn(2, 3, 8),
    "transposed texts": torch.randn(2, 8, 3).transpose(1, 2),
}
ROUNDING = {"rtol": 0.02, "atol": 0.02}
"""Beyond the last of the three digits of bfloat16."""


class Shared(torch.nn.Module):
    """Has a layer that is used twice, one with the weight of an embedding, one of a class of its
    own, and a weight without a layer.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(20, 8)
        self.twice = torch.nn.Linear(8, 8)
        self.bare = torch.nn.Parameter(torch.randn(8, 8))
        self.doubled = Doubled(8, 8)
        self.head = torch.nn.Linear(8, 20, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        states = self.twice(self.twice(self.embedding(ids)))
        logits: torch.Tensor = self.head(self.doubled(functional.linear(states, self.bare)))
        return logits


class Doubled(torch.nn.Linear):
    """A layer of a class of its own."""

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(input)


def by_one_dnn(model: torch.nn.Module) -> Any:
    """A copy of a model whose layers oneDNN computes."""
    copy: Any = deepcopy(model)
    use_one_dnn(copy)
    return copy


def asks_one_dnn(model: torch.nn.Module, values: torch.Tensor) -> bool:
    with torch.profiler.profile() as calls:
        model(values)
    return "mkldnn::_linear_pointwise" in {call.name for call in calls.events()}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("name", SHAPES)
@torch.inference_mode()
def test_layers_compute_the_same_as_before(name: str, bias: bool, dtype: torch.dtype) -> None:
    layer, values = torch.nn.Linear(8, 5, bias=bias).to(dtype), SHAPES[name].to(dtype)
    before, after = layer(values), by_one_dnn(layer)(values)
    rounding = {"rtol": 1e-6, "atol": 1e-6} if dtype == torch.float32 else ROUNDING
    torch.testing.assert_close(after, before, **rounding)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_layers_go_through_one_dnn_where_it_computes_them(dtype: torch.dtype) -> None:
    layer, values = torch.nn.Linear(8, 5).to(dtype), torch.randn(3, 8, dtype=dtype)
    assert asks_one_dnn(by_one_dnn(layer), values) is one_dnn_computes(CPU, dtype)


def test_where_bfloat16_is_emulated_its_products_are_torchs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layer = torch.nn.Linear(8, 5).bfloat16()
    module = "biasgrid.inference.engine.one_dnn"
    monkeypatch.setattr(f"{module}.has_one_dnn", lambda: True)
    for is_native, products in ((True, "oneDNN"), (False, "torch")):
        monkeypatch.setattr(f"{module}.multiplies_bfloat16", lambda _, found=is_native: found)
        assert untimed_products("bfloat16", CPU) == products
        assert untimed_products("float16", CPU) == untimed_products("tf32", CPU) == "torch"
    assert not asks_one_dnn(by_one_dnn(layer), torch.randn(3, 8, dtype=torch.bfloat16))


@torch.inference_mode()
def test_a_weight_that_was_replaced_is_not_multiplied_any_more() -> None:
    layer, values = by_one_dnn(torch.nn.Linear(8, 5).bfloat16()), torch.randn(3, 8)
    own = layer.weight.data
    assert torch.equal(layer(values.bfloat16()), layer(values.bfloat16()))
    for weight in (torch.randn(5, 8).bfloat16(), own, 2 * own, own.float(), own):
        layer.weight.data, layer.bias.data = weight, layer.bias.data.to(weight.dtype)
        ours = layer(values.to(weight.dtype))
        theirs = functional.linear(values.to(weight.dtype), weight, layer.bias)
        torch.testing.assert_close(ours, theirs, **ROUNDING)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@torch.inference_mode()
def test_weights_may_be_shared_and_without_a_layer(dtype: torch.dtype) -> None:
    model, ids = Shared().to(dtype), torch.arange(20)
    before, after = model(ids), by_one_dnn(model)(ids)
    # Several roundings, one behind the other.
    difference = (after - before).abs().max() / before.abs().max()
    assert difference < (1e-5 if dtype == torch.float32 else 0.03)


@pytest.mark.parametrize("task", HEADS)
def test_answers_in_bfloat16_are_near_with_the_products_of_the_processor(
    cell: Cells, task: str
) -> None:
    ours = cell("bert", task)
    exact, rounded = ours.predict(), ours.predict(precision="bfloat16")
    assert 0 < largest_difference(exact, rounded) < 0.01
    (audit,) = read_provenance(ours.out)["audits"].values()
    assert audit["products"] == untimed_products("bfloat16", CPU)
