"""What is found out about a model on a processor, and kept."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from shards import Cell, interrupt
from small_tables import check_alike

from biasgrid.inference.engine.autotune import (
    device_token_budget,
    largest_cache,
    largest_layer,
    power_of_two,
    time_kernels,
)
from biasgrid.inference.engine.hardware import multiplies_bfloat16
from biasgrid.inference.engine.one_dnn import has_one_dnn
from biasgrid.inference.engine.processor_findings import (
    find_once,
    precision_note,
    read_findings,
)
from biasgrid.tables.files import read_provenance

Cells = Callable[[str, str], Cell]
TASK = "fill-mask"
MILLISECONDS = {
    "AMD": ({"torch": 2.0, "oneDNN": 1.0, "bfloat16": 0.2}, "oneDNN", 5.0),
    "AMX": ({"torch": 0.9, "oneDNN": 1.0, "bfloat16": 0.1}, "torch", 9.0),
    "by chance": ({"torch": 1.1, "oneDNN": 1.0, "bfloat16": 1.1}, "torch", 1.0),
}


class Layers(torch.nn.Module):
    """A model of two layers and a head over a vocabulary."""

    device = torch.device("cpu")

    def __init__(self) -> None:
        super().__init__()
        self.small, self.large, self.head = (torch.nn.Linear(8, size) for size in (8, 32, 500))

    def get_output_embeddings(self) -> torch.nn.Module:
        return self.head


def timed(monkeypatch: pytest.MonkeyPatch, milliseconds: dict[str, float]) -> None:
    """Lets products take these times, as far as they are timed."""
    monkeypatch.setattr(
        "biasgrid.inference.engine.autotune.shortest_seconds",
        lambda ways, _: {way: milliseconds[way] / 1e3 for way in ways},
    )


@pytest.mark.parametrize("processor", MILLISECONDS)
def test_the_faster_products_are_taken(processor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    milliseconds, products, times = MILLISECONDS[processor]
    # Of times that are given no product is computed: each torch may do.
    monkeypatch.setattr("biasgrid.inference.engine.one_dnn.has_one_dnn", lambda: True)
    monkeypatch.setattr("biasgrid.inference.engine.one_dnn.multiplies_bfloat16", lambda _: False)
    monkeypatch.setattr("biasgrid.inference.engine.autotune.multiplies_bfloat16", lambda _: True)
    timed(monkeypatch, milliseconds)
    found = time_kernels(Layers())  # type: ignore[arg-type]
    assert (found["products"], found["bfloat16_is_faster"]) == (products, times)
    assert found["layer"] == [32, 8]


def test_a_layer_of_the_model_is_timed_and_not_that_over_the_vocabulary() -> None:
    model = Layers()
    assert largest_layer(model) is model.large
    found = time_kernels(model)  # type: ignore[arg-type]
    kernels = {"torch"} | ({"oneDNN"} if has_one_dnn() else set())
    if multiplies_bfloat16(model.device):
        kernels.add("bfloat16")
    assert set(found["milliseconds"]) == kernels
    assert min(found["milliseconds"].values()) >= 0


def test_a_model_without_linear_layers_takes_torchs_products() -> None:
    model: Any = torch.nn.Embedding(2, 2)
    model.device = torch.device("cpu")
    assert time_kernels(model)["products"] == "torch"


def test_what_was_found_is_kept_and_found_anew_where_the_file_is_damaged(tmp_path: Path) -> None:
    file, found = tmp_path / "folder" / "found.json", iter(range(5))

    def find() -> dict[str, int]:
        return {"number": next(found)}

    assert [find_once(file, find)["number"] for _ in range(3)] == [0, 0, 0]
    file.write_text("{")
    assert [find_once(file, find)["number"] for _ in range(2)] == [1, 1]
    assert [find_once(None, find)["number"] for _ in range(2)] == [2, 3]


def test_budgets_are_decided_by_the_cache(tmp_path: Path) -> None:
    for index, size in enumerate(("32K", "512K", "32768K")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(size + "\n")
    assert largest_cache(tmp_path) == 32 * 2**20
    assert largest_cache(tmp_path / "nowhere") == 32 * 2**20
    assert [power_of_two(number) for number in (1, 2048, 3000, 10**7)] == [512, 2048, 2048, 65536]
    assert device_token_budget(torch.device("cpu")) == power_of_two(largest_cache() // 2**14)


def audits(cell: Cell) -> list[dict[str, Any]]:
    return list(read_provenance(cell.out)["audits"].values())


def test_all_shards_take_what_the_first_one_has_found(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", TASK)
    timed(monkeypatch, {"torch": 2.0, "oneDNN": 1.0, "bfloat16": 0.1})
    ours.predict(1, 2)
    first = audits(ours)[0]["products"]
    timed(monkeypatch, {"torch": 1.0, "oneDNN": 2.0, "bfloat16": 0.1})
    ours.predict(2, 2)
    assert audits(ours)[0]["products"] == first == ("oneDNN" if has_one_dnn() else "torch")


def test_a_resumed_shard_keeps_the_size_of_its_batches(
    cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 16)
    ours = cell("bert", TASK)
    monkeypatch.setattr("biasgrid.inference.engine.autotune.device_token_budget", lambda _: 64)
    interrupt(ours, 2, monkeypatch, token_budget="auto")
    monkeypatch.setattr("biasgrid.inference.engine.autotune.device_token_budget", lambda _: 128)
    ours.predict(token_budget="auto")
    assert audits(ours)[0]["token_budget"] == 64
    ours.predict_anew(token_budget="auto")
    assert audits(ours)[0]["token_budget"] == 128


def test_the_effect_of_half_precision_is_reported_and_numbers_stay(
    cell: Cells, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours = cell("bert", TASK)
    monkeypatch.setattr("biasgrid.inference.engine.autotune.multiplies_bfloat16", lambda _: True)
    timed(monkeypatch, {"torch": 1.0, "oneDNN": 1.0, "bfloat16": 0.8})
    plain = ours.predict()
    assert not any("bfloat16_drift" in found for found in read_findings(ours.answers))
    for file in ours.answers.glob("*/processor-*.json"):
        file.unlink()
    timed(monkeypatch, {"torch": 1.0, "oneDNN": 1.0, "bfloat16": 0.2})
    with caplog.at_level("INFO"):
        told = ours.predict_anew()
    check_alike(told, plain)
    (found,) = read_findings(ours.answers)
    assert (
        0 < found["bfloat16_drift"]["mean_drift"] <= found["bfloat16_drift"]["largest_drift"] < 0.1
    )
    assert f"precision: bfloat16 would be {precision_note(found)}" in caplog.text
    assert precision_note(found).startswith("5.0 times as fast at matrix products on ")
