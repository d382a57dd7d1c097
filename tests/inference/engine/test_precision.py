"""The precision in which models compute."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from shards import Cell, hook_model
from tiny_checkpoints import TOKENIZERS
from transformers import AutoModelForMaskedLM

from biasgrid.inference.engine.hardware import set_precision
from biasgrid.tables.files import read_provenance

TASK = "fill-mask"


def test_auto_is_float32_for_models_that_do_not_write(cell: Callable[[str, str], Cell]) -> None:
    ours = cell("bert", TASK)
    ours.predict(precision="auto")
    assert read_provenance(ours.out)["precision"] == "float32"


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
@pytest.mark.parametrize("architecture", TOKENIZERS)
def test_half_precision_matches_transformers(
    tiny_checkpoint: Callable[[str, str], Path], architecture: str, precision: str
) -> None:
    folder = tiny_checkpoint(architecture, TASK)
    ours = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32)
    set_precision(ours, precision)
    theirs = tensors(AutoModelForMaskedLM.from_pretrained(folder, dtype=getattr(torch, precision)))
    assert tensors(ours).keys() == theirs.keys()
    for name, tensor in tensors(ours).items():
        assert tensor.dtype == theirs[name].dtype, name
        assert torch.equal(tensor, theirs[name]), name


def tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    return dict(model.named_parameters()) | dict(model.named_buffers())


def test_the_audit_is_exact_on_a_gpu_and_the_run_in_its_own_precision(
    cell: Callable[[str, str], Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    used: list[tuple[int, set[str]]] = []
    backends: Any = torch.backends

    def note(ids: torch.Tensor) -> None:
        kinds = backends.cuda.matmul, backends.cudnn.conv, backends.cudnn.rnn
        used.append((len(ids), {kind.fp32_precision for kind in kinds}))

    hook_model(monkeypatch, note)
    for precision, expected in (("tf32", {"tf32"}), ("float32", {"ieee"})):
        used.clear()
        ours.predict(precision=precision)
        assert used[0] == (1, {"ieee"})
        assert used[-1][1] == expected
