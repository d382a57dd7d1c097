"""What the answers of a server have cost, and how many of them are used, counted in the store of a
cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from biasgrid.inference.models.servers.identity import answering_server
from biasgrid.inference.models.servers.requests import ChargedTokens, Request
from biasgrid.inference.models.servers.section import Price
from biasgrid.inference.models.servers.store import STORE_NAME, Bill, Line, read_lines


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
    for line in read_lines(folder / STORE_NAME):
        if isinstance(line, Line):
            bill = bill.plus(line)
    return bill


def holdings_of(folder: Path, predictions: Sequence[Path]) -> Holdings | None:
    """Counts what the store of a cell holds, and what of it is used; None where there is no store.

    Args:
        folder: the folder of the cell's answers.
        predictions: the predictions of its shards, those that are there.
    """
    if not (folder / STORE_NAME).exists():
        return None
    requests = {request for path in predictions for request in requests_in_store(path, folder)}
    used = 0
    for line in read_lines(folder / STORE_NAME):
        if isinstance(line, Line) and line.answer is not None:
            used += (line.answered_by, line.asked_with, line.key) in requests
    bill = bill_of(folder)
    return Holdings(bill.requests, used, bill.tokens_in, bill.tokens_out)


def requests_in_store(predictions: Path, folder: Path) -> list[tuple[str | None, str, int]]:
    """Returns of each instance of a table of predictions who answered, how it was asked, and its
    key.

    There are none where the table or its keys in the store cannot be read.

    Args:
        predictions: the table.
        folder: the folder of the cell's answers.
    """
    # A plan that finds no predictions imports none of these.
    import polars as pl

    from biasgrid.inference.models.kept_keys import keys_beside
    from biasgrid.tables.files import TableError, read_provenance
    from biasgrid.tables.provenance import KEPT_AS

    try:
        facts = read_provenance(predictions)
        server = facts.get("server")
        asked = server and answering_server(server, facts["model"]), facts.get("asked_with", "")
        keys = (
            keys_beside(folder / facts["store"] / facts[KEPT_AS])
            if KEPT_AS in facts
            else predictions
        )
        return [
            (*asked, key)
            for key in pl.read_parquet(keys, columns=["key"], glob=False)["key"].to_list()
        ]
    except (TableError, pl.exceptions.PolarsError, OSError):
        return []


MILLION = 1e6


def cost(price: Price, tokens_in: float, tokens_out: float) -> float:
    """Returns what tokens cost."""
    return (tokens_in * price.input + tokens_out * price.output) / MILLION


@dataclass
class Budget:
    """What may be spent.

    Attributes:
        price: what is charged; None where nothing is.
        limit: what all answers of the model may cost together; None without a limit.
        used: what they have cost so far.
        reserved: what the requests under way may cost at most.
        under_way: how many these are.
    """

    price: Price | None
    limit: float | None
    used: float = 0
    reserved: float = 0
    under_way: int = 0

    def add(self, bill: Bill) -> None:
        """Adds what answers of earlier runs have cost."""
        self.spend(ChargedTokens(bill.tokens_in, bill.tokens_out))

    def spend(self, charged: ChargedTokens) -> None:
        """Adds what was charged."""
        if self.price is not None:
            self.used += cost(self.price, *charged)

    @property
    def is_kept(self) -> bool:
        """Whether what is spent and set aside is within the limit."""
        return self.limit is None or self.used + self.reserved <= self.limit

    def most(self, request: Request) -> float:
        """Returns what a request may cost at most."""
        return cost(self.price, *request.most) if self.price else 0

    def about(self, request: Request) -> float:
        """Returns what a request costs, about: at most what may be written."""
        return cost(self.price, request.tokens_in, request.most.tokens_out) if self.price else 0

    def reserve(self, request: Request) -> bool:
        """Sets aside what a request may cost; False where there is not so much left."""
        if self.limit is not None and self.used + self.reserved + self.most(request) > self.limit:
            return False
        self.reserved += self.most(request)
        self.under_way += 1
        return True

    def commit(self, request: Request) -> None:
        """Gives back what was set aside for a request; what it was charged is spent by then, see
        `spend`.
        """
        self.reserved -= self.most(request)
        self.under_way -= 1
