"""What the answers of a server have cost, counted in the store of a cell."""

from __future__ import annotations

from pathlib import Path

from biasgrid.models.servers.store import NAME, Bill, lines_in


def bill_of(folder: Path) -> Bill:
    """Returns what all answers in the store of a cell have cost."""
    bill = Bill()
    for line in lines_in(folder / NAME):
        bill = bill.with_answer(line.answer)
    return bill
