"""Small logs of GenderBench, of sentences of ours, and what is measured of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
from small_probes import measured

from biasgrid.families.probe.read import WRITTEN, ProbeFiles

Items = Sequence[tuple[dict[str, Any] | None, Sequence[dict[str, Any] | None]]]
"""For each item its metadata, and those of its prompts."""
HE, SHE, NOBODY = "He sang. His boat sank.", "She sang.", "They sang."
"""Answers about a man, a woman, and neither."""


def one(**keys: Any) -> tuple[dict[str, Any], list[None]]:
    """An item with one prompt of which nothing is known."""
    return keys, [None]


def log_of(folder: Path, probe: str, items: Items, status: str = "POPULATED") -> ProbeFiles:
    """Writes the log of a probe, as it is before any model has been asked."""
    told = [
        {
            "uuid": f"i{place}",
            "num_repetitions": 1,
            "metadata": own,
            "prompts": [
                {
                    "uuid": f"p{place}-{number}",
                    "text": f"Item {place}, prompt {number}?",
                    "metadata": metadata,
                }
                for number, metadata in enumerate(prompts)
            ],
            "attempts": [{"answer": None}],
        }
        for place, (own, prompts) in enumerate(items)
    ]
    state = {"class": probe, "status": f"status.{status}", "uuid": "u", "probe_items": told}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log.jsonl").write_text(json.dumps({"probe_state": state}) + "\n")
    return ProbeFiles(folder / "log.jsonl", WRITTEN, 1, None)


def with_data(folder: Path, probe: str, items: Items, **data: str) -> ProbeFiles:
    """Writes the log of a probe, files of data, and the file that names them."""
    log = log_of(folder, probe, items)
    for name, text in data.items():
        (folder / f"{name}.csv").write_text(text)
    (folder / "probe.yaml").write_text(
        "\n".join(["log: log.jsonl", *(f"{name}: {name}.csv" for name in data)])
    )
    return replace(log, probe=folder / "probe.yaml")


def of_cell(files: ProbeFiles, answers: Sequence[str]) -> dict[str, float | None]:
    """The metrics of a cell whose prompts are answered so."""
    rows = measured(files, answers, "genderbench").filter(pl.col("group").is_null(), options="")
    return dict(rows.select("measure", "value").iter_rows())
