"""Datasets cut down to what a model answers in some time: fewer subjects and attributes first, then a sample."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from biasgrid.config import load_word_lists, parse_config
from biasgrid.runs.plan import CellPlan, MachineRate, make_plan

SIZES = (32, 24, 16, 12, 10, 8, 6, 4)
"""How many subjects of each list, and attributes of each type, are tried. All templates stay: clusters are what
intervals are over."""
CONTROL_TIME = 0.25
"""How long a control takes, of what a dataset takes."""
CONTROL_ATTRIBUTES = 8
"""How many attributes of each type a control keeps at least: of fewer its size is too uncertain to be a null."""
TIME_SHARE = 0.5
"""How much of what the largest products reach inference does, on processors that were tried."""
MOST_ROWS_IN_TIME = 3000.0
"""Instances in a second and core, however small the model."""
TOKENS = 512
"""Of a batch whose products are timed."""
REQUESTS = 5.0
"""Requests in a second that a server is taken to answer."""


def downsample_config(content: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Cuts the datasets of a config down.

    Args:
        content: the config, with whole datasets.
        seconds: how long the models shall answer, all datasets together.

    Returns:
        The config, with `limit` and `sample` where a dataset would take longer than its share of the time.
    """
    datasets = {name: deepcopy(section) for name, section in content["datasets"].items()}
    times = {name: CONTROL_TIME if "control_of" in section else 1.0 for name, section in datasets.items()}
    cores, tflops = os.cpu_count() or 1, measured_tflops()
    for name, section in datasets.items():
        each = seconds * times[name] / sum(times.values())
        fewest = CONTROL_ATTRIBUTES if "control_of" in section else 0
        for size in (None, *SIZES):
            if size is not None and "subjects" in section:
                section["limit"] = {"subjects": size, "attributes": max(size, fewest)}
            cells = plan_dataset(content, name, section)
            needed = sum(seconds_of_cell(cell, tflops, cores) for cell in cells)
            # A sample of half leaves each subject and attribute with enough; one of less would thin them out.
            if needed <= 2 * each or "subjects" not in section:
                break
        share = max(round(each / needed, 4), 0.0001) if needed > each else None
        section["sample"] = {"share": share, "seed": 1} if share else "all"
        # One job at a time asks a server.
        section["shards"] = 1 if any(cell.requests.value for cell in cells) else cores
    return {**content, "datasets": datasets}


def plan_dataset(content: Mapping[str, Any], name: str, section: Mapping[str, Any]) -> Sequence[CellPlan]:
    """Plans the cells of one dataset."""
    # Generative models must be told that a dataset is asked whole; what a control is set beside is not planned here.
    whole = {**section, "sample": "all", "control_of": None}
    config = parse_config({**content, "datasets": {name: whole}, "run": {**content["run"], "datasets": [name]}}, "try")
    return make_plan(config, load_word_lists(config), MachineRate()).cells


def seconds_of_cell(cell: CellPlan, tflops: float, cores: int) -> float:
    """Returns how long a cell takes, about."""
    rows = cell.instances.value or 0
    if cell.requests.value:
        return cell.requests.value / REQUESTS
    flop = cell.flop.value if cell.flop.value is not None else 0
    return max(flop * 1e-12 / (tflops * TIME_SHARE), rows / (MOST_ROWS_IN_TIME * cores))


def measured_tflops() -> float:
    """Times products as large as those of a model of middle size: 10^12 operations in a second, of all free cores.

    They are those of whichever library the engine would take, on one core, as each job has: products on several wait
    for the core that others keep busy.
    """
    import torch

    from biasgrid.inference.engine.autotune import seconds_of
    from biasgrid.inference.engine.hardware import linear, one_dnn_computes

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    values, weight = (torch.ones(*shape, device=device) for shape in ((TOKENS, 768), (3072, 768)))
    ways: dict[str, Callable[[], object]] = {"torch": lambda: torch.nn.functional.linear(values, weight)}
    if one_dnn_computes(weight):
        ways["oneDNN"] = lambda: linear(values, weight)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            fastest = min(seconds_of(ways, device).values())
    finally:
        torch.set_num_threads(threads)
    cores = 1 if device.type == "cuda" else free_cores()
    return cores * 2 * TOKENS * 768 * 3072 / fastest * 1e-12


def free_cores() -> float:
    """Returns how many cores are left for as many jobs as there are cores, beside what else wants them now."""
    cores = os.cpu_count() or 1
    return cores * cores / (cores + os.getloadavg()[0])
