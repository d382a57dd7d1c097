"""Cells of models behind servers, asked the way rule predict does."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from shards import Cell, asked

from biasgrid.inference.engine.settings import ModelSettings
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.prerequisites import write_capabilities
from biasgrid.inference.models.servers.capabilities import find_capabilities
from biasgrid.inference.models.servers.section import Endpoint

STANDARD = {"timeout": 5, "attempts": 4, "concurrency": 8}


def questions(count: int) -> list[dict[str, Any]]:
    """Rows that all ask something else."""
    return [
        {
            "system": "Be short.",
            "text": f"Is {number} a number? Yes or No?",
            "candidates": ["Yes", "No"],
        }
        for number in range(count)
    ]


@dataclass
class ServerCell(Cell):
    """A model behind a server, and the instances that it is asked; `able` is what was found out of
    it.
    """

    section: dict[str, Any] = field(default_factory=dict)
    capabilities: dict[str, Any] = field(default_factory=lambda: {"scored_by": "parsed"})

    @classmethod
    def of(cls, folder: Path, at: str, rows: list[dict[str, Any]] | int, **keys: Any) -> ServerCell:
        """Makes a cell; keys are those of `endpoint`, `able` and `generation`."""
        capabilities, generation = (
            keys.pop("capabilities", {"scored_by": "parsed"}),
            Generation(**keys.pop("generation", {})),
        )
        section = {
            "endpoint": {"url": at, "model": "small", **STANDARD, **keys},
            "generation": generation.model_dump(),
        }
        record = {
            "generation": generation.model_dump(),
            "endpoint": Endpoint.model_validate(section["endpoint"]).deciding_keys(),
        }
        instances = asked(questions(rows) if isinstance(rows, int) else rows)
        return cls(
            folder, "text-generation", instances, folder, "endpoint", record, section, capabilities
        )

    @property
    def answers(self) -> Path:
        return self.folder

    @property
    def store(self) -> Path:
        return self.folder / "requests.jsonl"

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The answers that are stored."""
        return [json.loads(line) for line in self.store.read_text().splitlines()[1:]]

    def forget_predictions(self) -> None:
        """Removes all but the store of what was paid."""
        for path in [*self.finished, *self.parts]:
            path.unlink()

    def ask(
        self, shard: int = 1, shards: int = 1, answer: str = "text", **choices: Any
    ) -> pl.DataFrame:
        """Predicts a shard, whatever predictions there are; answers that are paid for are found."""
        self.forget_predictions()
        write_capabilities(
            self.folder / "capabilities.json", self.folder / "model.json", self.capabilities
        )
        return self.predict(
            shard,
            shards,
            answer=answer,
            section=self.section,
            capabilities=self.folder / "capabilities.json",
            model="hosted",
            **choices,
        )


def probed(endpoint: dict[str, Any]) -> dict[str, Any]:
    """The capabilities of the model behind an endpoint."""
    settings = ModelSettings(
        model="hosted",
        task="text-generation",
        precision="float32",
        device="cpu",
        section={"endpoint": endpoint},
    )
    return find_capabilities({"keys": {}}, settings)
