from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, serving
from servers import ServerCell


@pytest.fixture
def serve() -> Iterator[Callable[..., ModelServer]]:
    """Gives servers, for as long as a test runs."""
    with ExitStack() as held:
        yield lambda **does: held.enter_context(serving(**does))


@pytest.fixture
def cell(tmp_path: Path) -> Callable[..., ServerCell]:
    """Gives a cell of a model behind a server."""

    def make(server: ModelServer, rows: list[dict[str, Any]] | int = 20, **keys: Any) -> ServerCell:
        return ServerCell.of(tmp_path / "cells/statements/hosted", server.url, rows, **keys)

    return make
