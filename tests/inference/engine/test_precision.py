"""The precision in which models compute."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from shards import Cell, hook_model
from tiny_checkpoints import TOKENIZERS
from transformers import AutoModelForMaskedLM

from biasgrid.inference.engine.hardware import set_precision
from biasgrid.tables.files import read_provenance

TASK = "fill-mask"


@pytest.mark.parametrize("task", [TASK, "question-answering"])
def test_auto_is_float32_for_models_that_do_not_write(
    cell: Callable[[str, str], Cell], task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.engine.hardware.multiplies_bfloat16", lambda _: True)
    ours = cell("bert", task)
    in_16_bits = copytree(ours.checkpoint, tmp_path / "in-16-bits")
    weights = in_16_bits / "model.safetensors"
    save_file({name: tensor.bfloat16() for name, tensor in load_file(weights).items()}, weights)
    for published in (ours, replace(ours, checkpoint=in_16_bits)):
        published.predict(precision="auto")
        assert read_provenance(published.out)["precision"] == "float32"


@pytest.mark.parametrize("multiplies", [True, False])
def test_a_processor_that_emulates_bfloat16_warns(
    cell: Callable[[str, str], Cell],
    multiplies: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(
        "biasgrid.inference.engine.hardware.multiplies_bfloat16", lambda _: multiplies
    )
    cell("bert", TASK).predict_anew(precision="bfloat16")
    assert ("which this processor only emulates" in caplog.text) is not multiplies


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
