from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import torch

from tiny_checkpoints import save_checkpoint


@pytest.fixture(scope="session")
def tiny_checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], Path]:
    """Gives the folder of a tiny checkpoint of an architecture for a task, made at its first use."""
    folder = tmp_path_factory.mktemp("tiny")

    @cache
    def make(architecture: str, task: str) -> Path:
        return save_checkpoint(architecture, task, folder / f"{architecture}-{task}")

    return make


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Models this small are slower on several threads."""
    torch.set_num_threads(1)
