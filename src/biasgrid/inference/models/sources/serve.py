"""Servers that a job starts for a checkpoint."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from biasgrid.base.addresses import address_digest
from biasgrid.base.sections import KeysError
from biasgrid.inference.models.servers.section import Serve
from biasgrid.inference.models.sources.server import ServerSource
from biasgrid.inference.models.sources.weights import Weights


class ServeSource(ServerSource, Weights):
    """A server that each job starts, which answers for a checkpoint."""

    name = "serve"
    keys = ()
    fields: ClassVar = {
        "serve": (
            Serve | None,
            Field(
                None, description="a server that each job starts, which answers for a checkpoint"
            ),
        )
    }
    runs_here = False
    is_served = True

    def check(self) -> None:
        """Refuses a server without a checkpoint; see `ServerSource`."""
        if not Weights.has_source_keys(self.model):
            raise KeysError("expected a `checkpoint`, `folder` or `train` together with `serve`")
        super().check()

    @property
    def gpus(self) -> int:
        """How many GPUs the server is given."""
        gpus: int = self.section.gpus
        return gpus

    def mutex(self, name: str, dataset: str) -> str | None:
        """Returns the cell: one job of a cell has a server at a time."""
        return f"cell_{address_digest(f'{name} {dataset}')}"
