from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from shared import made_once
from training import instances_of, texts

from biasgrid.families.synthetic import SyntheticBias
from biasgrid.families.underspecified.synthetic import corpus as corpus_of
from biasgrid.training.tiny import make_base_checkpoint


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_once(tmp_path_factory, "training-base", partial(make_base_checkpoint, texts(), seed=1))


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[str, float], Path]:
    """Writes the synthetic corpus of a task and strength."""

    def write(task: str, strength: float) -> Path:
        path = tmp_path / f"{task}-{strength}"
        bias = SyntheticBias("demo", "some", strength, repeats=40, seed=1)
        path.write_text(corpus_of(instances_of(task), task, bias))
        return path

    return write
