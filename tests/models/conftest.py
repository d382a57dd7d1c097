import json
from collections.abc import Callable
from pathlib import Path

import pytest
from training import instances_of, texts

from biasgrid.models.tiny import make_base_checkpoint
from biasgrid.planted import fill_mask_corpus, question_answering_corpus


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    make_base_checkpoint(texts(), folder, seed=1)
    return folder


@pytest.fixture
def corpus(tmp_path: Path) -> Callable[[str, float], Path]:
    """Writes the planted corpus of a task and strength."""

    def write(task: str, strength: float) -> Path:
        path = tmp_path / f"{task}-{strength}"
        if task == "fill-mask":
            path.write_text("\n".join(fill_mask_corpus({"demo": instances_of(task)}, strength, 1, repeats=40)))
        else:
            path.write_text(
                json.dumps(question_answering_corpus({"demo": instances_of(task)}, strength, 1, repeats=40))
            )
        return path

    return write
