"""Datasets cut down to what a model answers in some time: fewer subjects and attributes first, then a sample."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from biasgrid.config import load_word_lists, parse_config
from biasgrid.runs.plan import CellPlan, Rate, make_plan

SIZES = (32, 24, 16, 12, 10, 8, 6, 4)
"""How many subjects of each list, and attributes of each type, are tried. All templates stay: frames are what
intervals are over."""
SHARE = 0.5
"""How much of what the largest products reach inference does, on processors that were tried."""
MOST_ROWS = 3000.0
"""Instances in a second and core, however small the model."""
REQUESTS = 5.0
"""Requests in a second that a server is taken to answer."""


def cut(content: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Cuts the datasets of a config down.

    Args:
        content: the config, of one model, with whole datasets.
        seconds: how long the model shall answer, all datasets together.

    Returns:
        The config, with `limit` and `sample` where a dataset would take longer than its share of the time.
    """
    datasets = {name: deepcopy(section) for name, section in content["datasets"].items()}
    each = seconds / len(datasets)
    cores, tflops = os.cpu_count() or 1, measured_tflops()
    for name, section in datasets.items():
        for size in (None, *SIZES):
            if size is not None and "subjects" in section:
                section["limit"] = {"subjects": size, "attributes": size}
            needed = seconds_of(planned(content, name, section), tflops, cores)
            # A sample of half leaves each subject and attribute with enough; one of less would thin them out.
            if needed <= 2 * each or "subjects" not in section:
                break
        share = max(round(each / needed, 4), 0.0001) if needed > each else None
        section["sample"] = {"share": share, "seed": 1} if share else "all"
        section["shards"] = 1 if is_served(content) else cores
    return {**content, "datasets": datasets}


def planned(content: Mapping[str, Any], name: str, section: Mapping[str, Any]) -> CellPlan:
    """Plans the cell of one dataset."""
    # Generative models must be told that a dataset is asked whole.
    whole = {**section, "sample": "all"}
    config = parse_config({**content, "datasets": {name: whole}, "run": {**content["run"], "datasets": [name]}}, "try")
    return make_plan(config, load_word_lists(config), Rate()).cells[0]


def seconds_of(cell: CellPlan, tflops: float, cores: int) -> float:
    """Returns how long a cell takes, about."""
    rows = cell.instances.value or 0
    if cell.requests.value:
        return cell.requests.value / REQUESTS
    flop = cell.flop.value if cell.flop.value is not None else 0
    return max(flop * 1e-12 / (tflops * SHARE), rows / (MOST_ROWS * cores))


def measured_tflops() -> float:
    """Times products as large as those of a model of middle size: 10^12 operations in a second, of all cores."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    one, other = (torch.ones(*shape, device=device) for shape in ((1024, 768), (768, 3072)))
    fastest = min(timed(lambda: float((one @ other)[0, 0])) for _ in range(10))
    return 2 * 1024 * 768 * 3072 / fastest * 1e-12


def timed(work: Any) -> float:
    """Returns how many seconds some work takes."""
    before = time.perf_counter()
    work()
    return time.perf_counter() - before


def is_served(content: Mapping[str, Any]) -> bool:
    """Says whether a server answers, which one job at a time asks."""
    return any("endpoint" in model for model in content["models"].values())
