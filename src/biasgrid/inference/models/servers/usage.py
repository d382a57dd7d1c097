"""What the answers of a server have cost, and how many of them are used, counted in the store of a cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from biasgrid.inference.models.servers.identity import answered_by
from biasgrid.inference.models.servers.store import NAME
from biasgrid.inference.models.servers.store_lines import Bill, Line, OwnerLine, lines_in


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
        if isinstance(line, Line):
            bill = bill.plus(line)
    return bill


def holdings_of(folder: Path, predictions: Sequence[Path]) -> Holdings | None:
    """Counts what the store of a cell holds, and what of it is used; None where there is no store.

    Args:
        folder: the folder of the cell's answers.
        predictions: the predictions of its shards, those that are there.
    """
    if not (folder / NAME).exists():
        return None
    lines = list(lines_in(folder / NAME))
    owner = next((line.answered_by for line in lines if isinstance(line, OwnerLine)), None)
    asked = {each for path in predictions for each in asked_in(path)}
    used = sum(
        (line.answered_by or owner, line.asked_with, line.key) in asked
        for line in lines
        if isinstance(line, Line) and line.answer is not None
    )
    bill = bill_of(folder)
    return Holdings(bill.requests, used, bill.tokens_in, bill.tokens_out)


def asked_in(predictions: Path) -> list[tuple[str | None, str, int]]:
    """Returns of each instance of a table of predictions who answered, how it was asked, and its key.

    There are none where the table cannot be read. Tables of version 0.1.0 do not say who answered.
    """
    # A plan that finds no predictions imports none of these.
    import polars as pl

    from biasgrid.tables.files import TableError, read_provenance

    try:
        facts = read_provenance(predictions)
        server = facts.get("server")
        asked = server and answered_by(server, facts["model"]), facts.get("asked_with", "")
        return [(*asked, key) for key in pl.read_parquet(predictions, columns=["key"])["key"].to_list()]
    except (TableError, pl.exceptions.PolarsError, OSError):
        return []
