"""Products of float32 models on the CPU."""

import pytest
import torch
from torch.nn import functional

from biasgrid.inference.engine.one_dnn import OneDnnLinear, use_one_dnn

INPUTS = {
    "a vector": torch.randn(8),
    "rows": torch.randn(3, 8),
    "no rows": torch.randn(0, 8),
    "texts": torch.randn(2, 3, 8),
    "transposed texts": torch.randn(2, 8, 3).transpose(1, 2),
}


@pytest.mark.parametrize("bias", [True, False], ids=["bias", "no bias"])
@pytest.mark.parametrize("name", INPUTS)
def test_layers_compute_the_same_as_before(name: str, bias: bool) -> None:
    layer = torch.nn.Linear(8, 5, bias=bias)
    before = layer(INPUTS[name])
    with OneDnnLinear():
        after, by_name = (
            layer(INPUTS[name]),
            functional.linear(INPUTS[name], weight=layer.weight, bias=layer.bias),
        )
    torch.testing.assert_close(after, before, rtol=1e-6, atol=1e-6)
    assert torch.equal(after, by_name)
    assert after.dtype == torch.float32


def test_layers_in_float32_go_through_one_dnn_and_others_as_torch_wants() -> None:
    for dtype, expected in ((torch.float32, True), (torch.bfloat16, False)):
        layer = torch.nn.Linear(8, 5).to(dtype)
        use_one_dnn(layer)  # type: ignore[arg-type]
        with torch.profiler.profile() as calls:
            layer(torch.randn(3, 8, dtype=dtype))
        assert (
            "mkldnn::_linear_pointwise" in {call.name for call in calls.events()}
        ) is expected, dtype
