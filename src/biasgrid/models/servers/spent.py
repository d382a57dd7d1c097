"""What the answers of a server have cost, and how many of them are used, counted in the store of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from biasgrid.models.servers.store import NAME, Bill, lines_in


class Holdings(NamedTuple):
    """What a store holds.

    Attributes:
        held: how many answers there are.
        used: how many of them the predictions of now come from.
        tokens_in: how many tokens all of them have read.
        tokens_out: how many they have written.
    """

    held: int
    used: int
    tokens_in: int
    tokens_out: int


def bill_of(folder: Path) -> Bill:
    """Returns what all answers in the store of a cell have cost."""
    bill = Bill()
    for line in lines_in(folder / NAME):
        bill = bill.with_answer(line.answer)
    return bill


def holdings_of(folder: Path, predictions: Sequence[Path]) -> Holdings | None:
    """Counts what the store of a cell holds, and what of it is used; None where there is no store.

    Args:
        folder: the folder of the cell's answers.
        predictions: the predictions of its shards, those that are there.
    """
    if not (folder / NAME).exists():
        return None
    asked = {each for path in predictions for each in asked_in(path)}
    used = sum((line.asked_with, line.key) in asked for line in lines_in(folder / NAME))
    bill = bill_of(folder)
    return Holdings(bill.requests, used, bill.tokens_in, bill.tokens_out)


def asked_in(predictions: Path) -> list[tuple[str, int]]:
    """Returns how each instance of a table of predictions was asked, and its key; none where it cannot be read."""
    # A plan that finds no predictions imports none of these.
    import polars as pl

    from biasgrid.tables.files import TableError, read_provenance

    try:
        asked_with = read_provenance(predictions).get("asked_with", "")
        return [(asked_with, key) for key in pl.read_parquet(predictions, columns=["key"])["key"].to_list()]
    except (TableError, pl.exceptions.PolarsError, OSError):
        return []
