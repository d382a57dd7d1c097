from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from shared import made_once
from training import corpus_of, texts

from biasgrid.training.tiny import make_base_checkpoint


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(
        tmp_path_factory, "training-base", partial(make_base_checkpoint, texts(), seed=1)
    )


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[str, float], Path]:
    """Writes a corpus of a task in which a bias is so strong."""

    def write(task: str, strength: float) -> Path:
        path = tmp_path / f"{task}-{strength}"
        path.write_text(corpus_of(task, strength))
        return path

    return write
