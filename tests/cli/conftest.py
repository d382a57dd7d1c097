from pathlib import Path

import pytest
from project import ROOT
from shared import made_once
from tiny_checkpoints import save_classifier, save_models_of_lists
from tiny_writers import save_writer


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of tiny checkpoints: `lm`, `qa`, `writer` and `classifier`."""

    def make(folder: Path) -> None:
        save_models_of_lists(sorted((ROOT / "word_lists").glob("*/*.txt")), folder)
        save_writer(folder / "writer", ends=10)
        save_classifier(folder / "classifier", folder / "lm", ["negative", "positive"])

    return made_once(tmp_path_factory, "tried", make)
