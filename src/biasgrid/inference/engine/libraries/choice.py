"""`engine: auto`: whether OpenVINO computes a model's encoder, found once a model by computing with
both.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch

from biasgrid.base.version import package_version
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.audit import drift_between
from biasgrid.inference.engine.autotune import MUCH_FASTER, find_tuning, processor_of, seconds_of
from biasgrid.inference.engine.device_rows import Batch
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.hardware import set_precision
from biasgrid.inference.engine.libraries.one_dnn import use_one_dnn
from biasgrid.inference.engine.libraries.openvino import OpenVinoEncoder, openvino_version

if TYPE_CHECKING:
    from transformers import PreTrainedModel

logger = logging.getLogger(__name__)

TORCH, OPENVINO, AUTO = "torch", "openvino", "auto"
"""The engines, and the word for the faster of them."""
LARGEST_DRIFT = 1e-5
"""How far float32 answers of OpenVINO may be from torch's; beyond, `auto` takes torch."""
TIMED_TOKENS = 512
TIMED_ROUNDS = 4


def typical_batch(rows: TokenRows, device: torch.device) -> Batch:
    """Returns a batch of rows of the median length, each as often as it takes for `TIMED_TOKENS`
    tokens.
    """
    length = int(np.sort(rows.lengths)[len(rows.lengths) // 2])
    some = np.resize(np.flatnonzero(rows.lengths == length), max(1, TIMED_TOKENS // length))
    return Batch(torch.from_numpy(some).to(device), length)


def find_engine(
    model: PreTrainedModel,
    precision: str,
    threads: int,
    audited: pl.DataFrame,
    answer: Callable[[], pl.DataFrame],
    run: Callable[[], object],
) -> dict[str, Any]:
    """Finds out which engine computes a model, whose forward pass and weights are others
    afterwards.

    Args:
        model: the model, float32 on the CPU.
        precision: what it shall compute in.
        threads: how many it computes with.
        audited: exact answers to a sample.
        answer: answers the same sample.
        run: answers a batch of the model's own shape.

    Returns:
        The `engine`, and the `reason` if it is torch without any timing; the `processor`,
        `precision`, `threads` and versions; the `drift` of OpenVINO's float32 answers from the
        audit's; and the shortest `milliseconds` of a batch by engine.
    """
    found: dict[str, Any] = {
        "engine": TORCH,
        "processor": processor_of(model.device),
        "precision": precision,
        "threads": threads,
        "biasgrid": package_version(),
        "torch": torch.__version__,
    }
    try:
        found["openvino"] = openvino_version()
        encoder = OpenVinoEncoder(model, threads)
        found["drift"] = drift = drift_between(answer(), audited)
        if not drift["largest_drift"] <= LARGEST_DRIFT:
            return found | {
                "reason": f"float32 answers of OpenVINO differ by {drift['largest_drift']:.2g}"
            }
        encoder.set_precision(precision)
        encoder.detach()
    except ModelError as error:
        return found | {"reason": str(error)}
    set_precision(model, precision)
    if precision == "float32" and find_tuning(model, precision)["products"] == "oneDNN":
        use_one_dnn(model)

    def by_openvino() -> None:
        encoder.attach()
        run()
        encoder.detach()

    seconds = seconds_of({TORCH: run, OPENVINO: by_openvino}, model.device, TIMED_ROUNDS)
    found["milliseconds"] = {engine: round(1e3 * each, 3) for engine, each in seconds.items()}
    if seconds[TORCH] > MUCH_FASTER * seconds[OPENVINO]:
        found["engine"] = OPENVINO
    return found
