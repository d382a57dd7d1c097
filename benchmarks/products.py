"""The product of a layer of bert-base's size with a batch of tokens, by library and precision, on
one core.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from statistics import median

import torch
from stopwatch import print_table
from torch.nn import functional

from biasgrid.inference.engine.one_dnn import linear, pack

INPUTS, OUTPUTS = 768, 3072
ROUNDS = 15
PACKED = "bfloat16, oneDNN with packed weights"
WAYS: dict[str, tuple[torch.dtype, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
    "float32, as torch does it": (torch.float32, functional.linear),
    "float32, oneDNN": (torch.float32, linear),
    "bfloat16, as torch does it": (torch.bfloat16, functional.linear),
    PACKED: (torch.bfloat16, linear),
}


def speeds(tokens: int) -> dict[str, float]:
    """Returns the median GFLOP/s of every way, in rounds of all ways."""
    values, weights = torch.randn(tokens, INPUTS), torch.randn(OUTPUTS, INPUTS)
    repeats = max(1, 4096 // tokens)
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(ROUNDS):
        for way, (dtype, multiply) in WAYS.items():
            one, other = values.to(dtype), weights.to(dtype)
            if way == PACKED:
                other = pack(other)
            start = time.process_time()
            for _ in range(repeats):
                multiply(one, other)
            seconds = time.process_time() - start
            found[way].append(2 * tokens * INPUTS * OUTPUTS * repeats / seconds / 1e9)
    return {way: median(each) for way, each in found.items()}


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    lines = []
    with torch.inference_mode():
        for tokens in (16, 32, 64, 512, 4096, 16384):
            found = speeds(tokens)
            base = found["float32, as torch does it"]
            lines.append(
                [f"{tokens:,}", *(f"{speed:.0f} ({speed / base:.1f})" for speed in found.values())]
            )
    print_table(["tokens", *WAYS], lines)


if __name__ == "__main__":
    main()
