from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from shards import Cell, asked
from tiny_writers import save_writer

Writers = Callable[..., Path]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test finds out anew what its models can do."""
    monkeypatch.setenv("BIASGRID_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Writers:
    """Gives the folder of a tiny causal language model, made at its first use."""

    @cache
    def make(architecture: str = "llama", template: str | None = None) -> Path:
        return save_writer(tmp_path_factory.mktemp("writer"), architecture, template)

    return make


@pytest.fixture
def written_cell(tmp_path: Path, writer: Writers) -> Callable[..., Cell]:
    """Gives a cell of a tiny causal language model that is asked the given texts."""

    def make(
        rows: Sequence[dict[str, Any]], architecture: str = "llama", template: str | None = None
    ) -> Cell:
        return Cell(
            tmp_path / "cell", "text-generation", asked(rows), writer(architecture, template)
        )

    return make
