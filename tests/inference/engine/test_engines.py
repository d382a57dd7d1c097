"""Encoders by OpenVINO: torch's answers to rounding, under a key of their own, and the choice
between both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from shards import Cell, audited, count_rows, interrupt, largest_difference
from small_config import GENERAL, changed, faults_of
from small_tables import check_alike

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.hardware import choose_precision
from biasgrid.inference.engine.libraries.openvino import import_openvino
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.models.extractive.back_end import QuestionAnswering
from biasgrid.jobs.progress import Progress
from biasgrid.tables.files import read_provenance

Cells = Callable[[str, str], Cell]
CaseCells = Callable[..., Cell]
TASK = "question-answering"
LABELS = ["entailment", "neutral", "contradiction"]
TEXTS = [
    {"text": "The cook sat by Ann.", "text_pair": "Ann sat."},
    {"text": "The old man lied."},
    {"text": "Zoë"},
]


def engine_of(cell: Cell) -> str | None:
    return read_provenance(cell.out).get("engine")


def choices_of(cell: Cell) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in (cell.folder / "engines").glob("*.json")]


@pytest.mark.parametrize(
    ("architecture", "task"),
    [("bert", "fill-mask"), ("modernbert", "fill-mask"), ("roberta", TASK), ("albert", TASK)],
)
def test_answers_are_those_of_torch(cell: Cells, architecture: str, task: str) -> None:
    ours = cell(architecture, task)
    by_torch = ours.predict()
    assert engine_of(ours) is None
    assert largest_difference(ours.predict(engine="openvino"), by_torch) < 1e-5
    assert engine_of(ours) == f"openvino {sys.modules['openvino'].__version__.split('-')[0]}"
    assert 0 < ours.audit["largest_drift"] < 1e-5


@pytest.mark.parametrize("task", ["text-classification", "feature-extraction"])
def test_classes_and_vectors_are_those_of_torch(case_cell: CaseCells, task: str) -> None:
    ours = case_cell("distilbert", task, TEXTS)
    choices = {"labels": LABELS} if task == "text-classification" else {"max_tokens": None}
    by_torch = ours.predict(**choices)
    assert largest_difference(ours.predict(engine="openvino", **choices), by_torch) < 1e-5


def test_sentences_that_need_attentions_stay_with_torch(case_cell: CaseCells) -> None:
    ours = case_cell("bert", "fill-mask", TEXTS[1:])
    for scoring, engine in (("aula", None), ("aul", "openvino")):
        by_torch = ours.predict(answer="likelihood", scoring=scoring)["score"]
        again = ours.predict(answer="likelihood", scoring=scoring, engine="openvino")["score"]
        assert (again - by_torch).abs().max() < 1e-5  # type: ignore[operator]
        assert (engine_of(ours) or "").split()[:1] == [engine] * (engine is not None)


def test_half_precision_is_openvinos_own(cell: Cells) -> None:
    ours = cell("bert", TASK)
    exact = ours.predict()
    if choose_precision("auto", torch.device("cpu")) == "bfloat16":
        rounded = ours.predict(engine="openvino", precision="bfloat16")
        assert 1e-5 < largest_difference(rounded, exact) < 0.05
    else:
        with pytest.raises(
            ModelError, match="OpenVINO computes in f32 on this processor in place of bf16"
        ):
            ours.predict(engine="openvino", precision="bfloat16")
    with pytest.raises(
        ModelError, match="OpenVINO does not compute in float16; expected `engine: torch` or `auto`"
    ):
        ours.predict(engine="openvino", precision="float16")


def test_engines_have_stores_of_their_own_and_nothing_is_asked_twice(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    ours.predict()
    by_torch, folder = ours.out.read_bytes(), read_provenance(ours.out)["store"]
    ours.predict(engine="openvino")
    assert read_provenance(ours.out)["store"] != folder
    counts = count_rows(monkeypatch)
    ours.predict(engine="torch")
    assert ours.out.read_bytes() == by_torch
    assert counts == []


def test_an_interrupted_shard_goes_on_with_its_engine_and_ends_the_same(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 16)
    ours = cell("bert", TASK)
    uninterrupted = ours.predict(engine="openvino")
    interrupt(ours, 2, monkeypatch, engine="openvino")
    counts = count_rows(monkeypatch)
    check_alike(ours.predict(engine="openvino"), uninterrupted)
    # A sample is computed by both.
    assert sum(counts) == 2 * audited(48) + 16


@pytest.mark.parametrize(("openvino", "chosen"), [(0.5, "openvino"), (0.95, "torch")])
def test_auto_takes_what_is_much_faster_once_a_model(
    cell: Cells, openvino: float, chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, timed = cell("bert", TASK), []

    def seconds_of(ways: dict[str, Callable[[], object]], *_: Any) -> dict[str, float]:
        for compute in ways.values():
            compute()
        timed.append(list(ways))
        return {"torch": 1.0, "openvino": openvino}

    monkeypatch.setattr("biasgrid.inference.engine.libraries.choice.seconds_of", seconds_of)
    by_torch = ours.predict()
    for shard in (1, 2):
        ours.predict(shard, 2, engine="auto")
        assert (engine_of(ours) or "torch").split()[0] == chosen
    assert largest_difference(ours.predict_anew(engine="auto"), by_torch) < 1e-5
    assert timed == [["torch", "openvino"]]
    (found,) = choices_of(ours)
    assert (found["engine"], found["milliseconds"]) == (
        chosen,
        {"torch": 1000, "openvino": 1000 * openvino},
    )
    assert 0 < found["drift"]["largest_drift"] < 1e-5
    # With another precision it is another choice.
    ours.predict(engine="auto", precision="bfloat16")
    assert len(choices_of(ours)) == 2


def test_auto_times_the_model_itself(cell: Cells) -> None:
    ours = cell("roberta", "fill-mask")
    ours.predict(engine="auto")
    (found,) = choices_of(ours)
    assert found["milliseconds"].keys() == {"torch", "openvino"}
    assert min(found["milliseconds"].values()) > 0


def test_auto_takes_torch_where_answers_differ(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    monkeypatch.setattr("biasgrid.inference.engine.libraries.choice.LARGEST_DRIFT", 0)
    ours.predict(engine="auto")
    (found,) = choices_of(ours)
    assert (found["engine"], engine_of(ours)) == ("torch", None)
    assert found["reason"].startswith("float32 answers of OpenVINO differ by ")
    monkeypatch.setattr("biasgrid.inference.engine.local.LARGEST_FLOAT32_DRIFT", 0)
    with pytest.raises(ModelError, match="float32 answers by OpenVINO are up to"):
        ours.predict(engine="openvino")


def test_a_model_with_a_decoder_stays_with_torch(cell: Cells) -> None:
    ours = cell("bart", TASK)
    with pytest.raises(
        ModelError, match="OpenVINO computes encoders alone, and this model has a decoder; expected"
    ):
        ours.predict(engine="openvino")
    ours.predict(engine="auto")
    assert [found["engine"] for found in choices_of(ours)] == ["torch"]


def test_other_instances_of_the_same_model_are_audited_by_torch(cell: Cells) -> None:
    ours = cell("bert", TASK)
    settings = InferenceSettings(
        "tiny", TASK, "float32", 512, "cpu", 600, "span", engine="openvino"
    )
    first = QuestionAnswering.open(ours.record, settings, ours.instances)
    again = first.reopen(ours.record, settings, ours.instances)
    plain = QuestionAnswering.open(ours.record, replace(settings, engine="torch"), ours.instances)
    assert again is first
    check_alike(again.audited, plain.audited)
    with Progress("tiny", 48, 600) as progress:
        by_openvino, by_torch = (each.answer(ours.instances, progress) for each in (again, plain))
    named = ours.instances.select("instance")
    assert 0 < largest_difference(named.hstack(by_openvino), named.hstack(by_torch)) < 1e-5


def test_openvino_reports_nothing_over_the_network() -> None:
    import_openvino()
    assert [name for name in sys.modules if name.startswith("openvino_telemetry.")] == []


def test_without_the_package_its_extra_is_named(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(ModelError, match=r"install it with `pip install 'biasgrid\[openvino\]'`"):
        ours.predict(engine="openvino")
    ours.predict(engine="auto")
    assert (engine_of(ours), choices_of(ours)[0]["engine"]) == (None, "torch")


@pytest.mark.usefixtures("general")
def test_a_config_is_told_what_openvino_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert faults_of(changed("inference/engine", "openvin", GENERAL)) == [
        (
            "c.yaml, inference.engine: 'openvin' (did you mean 'openvino'?); expected one of "
            "auto, openvino, torch"
        )
    ]
    content = {"engine": "openvino", "device": "cuda", "precision": "float16"}
    monkeypatch.setitem(sys.modules, "openvino", None)
    assert faults_of(changed("inference", content, GENERAL)) == [
        "c.yaml, inference.engine: needs the package openvino, which is not installed; expected "
        "`pip install 'biasgrid[openvino]'`, or `torch`",
        "c.yaml, inference.device: 'cuda', but OpenVINO computes on the processor; expected cpu",
        (
            "c.yaml, inference.precision: 'float16'; expected bfloat16, float32 or auto, as "
            "OpenVINO takes another precision in its place"
        ),
    ]
