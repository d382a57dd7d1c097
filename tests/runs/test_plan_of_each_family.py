"""What `biasgrid plan` says that models will read, against what they then read: each family with
tiny checkpoints, on the lists of the frozen grid.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from frozen_answers import FROZEN, instances_of, make_checkpoints
from shards import Cell
from tiny_writers import CHAT_TEMPLATE, save_writer

from biasgrid.config import load_word_lists, parse_config
from biasgrid.config.registry import BUILT_IN
from biasgrid.config.sections import Config
from biasgrid.runs.plan import CellPlan, MachineRate, make_plan

pytestmark = [
    pytest.mark.slow,
    pytest.mark.family("all of them are asked what the frozen grid asks"),
]

CLOSE = 0.1
"""The largest difference from what was read, as a share of it."""
SOURCES = ("answers", "predictions")
MODELS = {
    "masked-a": {},
    "span-a": {},
    "option-a": {},
    "class-a": {},
    "chat-a": {"generation": {"max_tokens": 4}},
    "chat-b": {"generation": {"max_tokens": 4, "options": "parsed"}},
}
"""Models of the frozen grid whose answers a checkpoint gives here, with further keys."""


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """The frozen grid with tiny checkpoints in the place of stored answers."""
    folder = tmp_path_factory.mktemp("checkpoints")
    checkpoints = make_checkpoints(folder)
    save_writer(folder / "chat", template=CHAT_TEMPLATE, positions=512, ends=10)
    content = yaml.safe_load((FROZEN / "config.yaml").read_text().replace("frozen/", f"{FROZEN}/"))
    models: dict[str, dict[str, Any]] = {}
    for name, keys in MODELS.items():
        section = content["models"][name]
        checkpoint = folder / "chat" if name == "chat-b" else checkpoints[section["task"]]
        without_source = {key: value for key, value in section.items() if key not in SOURCES}
        models[name] = without_source | {"folder": str(checkpoint)} | keys
    for name in ("harm", "places"):
        models[name] = content["models"][name]
    content |= {"models": models, "results": str(folder / "results")}
    content["tokenizers"] = {"tiny": {"mask": "[MASK]", "folder": str(checkpoints["fill-mask"])}}
    content["run"]["models"] = list(MODELS)
    return parse_config(content, "config.yaml")


@pytest.fixture(scope="module")
def plans(grid: Config) -> dict[tuple[str, str], CellPlan]:
    plan = make_plan(grid, load_word_lists(grid), MachineRate())
    return {(cell.model, cell.dataset): cell for cell in plan.cells}


@pytest.fixture(scope="module")
def predict(
    grid: Config, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., dict[str, Any]]:
    """Gives what a shard of all instances of a cell says about itself."""

    def timing(model: str, dataset: str) -> dict[str, Any]:
        question = grid.question(model, dataset)
        task, checkpoint = grid.models[model].task, Path(grid.models[model].folder or "")
        folder = tmp_path_factory.mktemp("cell")
        cell = Cell(folder, task, instances_of(grid, model, dataset), checkpoint)
        cell.predict(answer=question.answer, **grid.deciding_settings(model, dataset))
        return cell.timing

    return timing


def test_each_family_is_planned_with_all_kinds_of_models(
    grid: Config, plans: dict[tuple[str, str], CellPlan]
) -> None:
    families = {grid.family(dataset).name for _, dataset in plans}
    assert families == {*BUILT_IN.families}
    assert {model for model, _ in plans} == {*MODELS}


@pytest.mark.parametrize(
    "dataset", yaml.safe_load((FROZEN / "config.yaml").read_text())["datasets"]
)
def test_a_plan_is_close_to_what_is_read(
    grid: Config,
    plans: dict[tuple[str, str], CellPlan],
    predict: Callable[..., dict[str, Any]],
    dataset: str,
) -> None:
    for model, dataset_of_cell in plans:
        if dataset_of_cell != dataset:
            continue
        plan, timing = plans[model, dataset], predict(model, dataset)
        assert plan.instances.value == timing["rows"]
        assert plan.sequences.value == pytest.approx(timing["sequences"], rel=CLOSE), model
        assert plan.tokens.value == pytest.approx(timing["tokens"], rel=CLOSE), model
