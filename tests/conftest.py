import gc
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
import typer.testing
from browser import browser
from hypothesis import settings
from playwright.sync_api import Browser
from shards import Cell, asked
from shared import made_once
from tiny_checkpoints import instances_for, save_checkpoint
from transformers import AutoTokenizer

# Tests time nothing: how long an example takes is the machine's affair.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Lines of commands are as wide as they need, however wide the terminal is.
os.environ.pop("COLUMNS", None)
# The command line is put together once, and not each time that a test runs a command: that takes longer than most do.
typer.testing._get_command = cache(typer.testing._get_command)


def pytest_collection_finish() -> None:
    """What all tests have imported is not looked at by each garbage collection, of which a training asks for one."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Gives the folder of a tiny checkpoint of an architecture for a task, made at its first use."""

    @cache
    def make(architecture: str, task: str) -> Path:
        return made_once(tmp_path_factory, f"{architecture}-{task}", partial(save_checkpoint, architecture, task))

    return make


@pytest.fixture
def cell(tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]) -> Callable[[str, str], Cell]:
    """Gives a cell of a tiny checkpoint and 48 instances."""

    def make(architecture: str, task: str) -> Cell:
        checkpoint = tiny_checkpoint(architecture, task)
        mask = AutoTokenizer.from_pretrained(checkpoint).mask_token
        instances = instances_for(task, mask if task == "fill-mask" else None)
        return Cell(tmp_path / "cell", task, instances, checkpoint)

    return make


@pytest.fixture
def case_cell(tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]) -> Callable[..., Cell]:
    """Gives a cell of a tiny checkpoint that is asked the given texts."""

    def make(architecture: str, task: str, rows: Sequence[dict[str, Any]]) -> Cell:
        return Cell(tmp_path / "cell", task, asked(rows), tiny_checkpoint(architecture, task))

    return make


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One browser for all tests of pages: a process cannot have a second one."""
    with browser() as started:
        yield started


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Models this small are slower on several threads."""
    torch.set_num_threads(1)
