"""The cost of a server's answers, and how many of them are used, from the store of a cell."""

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
    """The answers in a store; the manifest has the fields by these names.

    Attributes:
        held: the number of answers.
        used: how many of them the present predictions come from.
        tokens_in: the tokens that all of them were charged for reading.
        tokens_out: the tokens that they were charged for writing.
    """

    held: int
    used: int
    tokens_in: int
    tokens_out: int


def read_bill(folder: Path) -> Bill:
    """Returns the cost of all answers in the store of a cell, 0 without a store.

    Args:
        folder: the folder of the cell's answers.

    Raises:
        UserError: see `read_lines`.
    """
    bill = Bill()
    for line in read_lines(folder / STORE_NAME):
        if isinstance(line, Line):
            bill = bill.plus(line)
    return bill


def count_holdings(folder: Path, predictions: Sequence[Path]) -> Holdings | None:
    """Counts the answers in the store of a cell; None without a store.

    Args:
        folder: the folder of the cell's answers.
        predictions: the predictions of its finished shards.

    Raises:
        UserError: see `read_lines`.
    """
    if not (folder / STORE_NAME).exists():
        return None
    requests = {request for path in predictions for request in predicted_requests(path, folder)}
    used_count = 0
    for line in read_lines(folder / STORE_NAME):
        if isinstance(line, Line) and line.answer is not None:
            used_count += (line.answered_by, line.asked_with, line.key) in requests
    bill = read_bill(folder)
    return Holdings(bill.requests, used_count, bill.tokens_in, bill.tokens_out)


def predicted_requests(predictions: Path, folder: Path) -> list[tuple[str | None, str, int]]:
    """Returns `answered_by`, `asked_with` and `key` (see `Request`) of each predicted instance.

    The list is empty if the table or its keys in the store cannot be read.

    Args:
        predictions: the table of predictions.
        folder: the folder of the cell's answers.
    """
    # Not imported at the top: a plan without predictions needs none of these.
    import polars as pl

    from biasgrid.inference.models.kept_keys import keys_path
    from biasgrid.tables.files import TableError, read_provenance
    from biasgrid.tables.provenance import KEPT_AS

    try:
        facts = read_provenance(predictions)
        server = facts.get("server")
        answered_by = server and answering_server(server, facts["model"])
        asked_with = facts.get("asked_with", "")
        path = predictions
        if KEPT_AS in facts:
            path = keys_path(folder / facts["store"] / facts[KEPT_AS])
        keys = pl.read_parquet(path, columns=["key"], glob=False)["key"]
        return [(answered_by, asked_with, key) for key in keys.to_list()]
    except (TableError, pl.exceptions.PolarsError, OSError):
        return []


MILLION = 1e6


def cost(price: Price, tokens_in: float, tokens_out: float) -> float:
    """Returns the cost of tokens, in the unit of the price."""
    return (tokens_in * price.input + tokens_out * price.output) / MILLION


@dataclass
class Budget:
    """The budget of a model.

    Attributes:
        price: the prices; None if nothing is charged.
        limit: the most that all answers of the model may cost together; None without a limit.
        spent: their cost so far.
        reserved_cost: the most that the requests under way may cost.
        under_way: the number of these requests.
    """

    price: Price | None
    limit: float | None
    spent: float = 0
    reserved_cost: float = 0
    under_way: int = 0

    def add(self, bill: Bill) -> None:
        """Adds the cost of answers of earlier runs."""
        self.spend(ChargedTokens(bill.tokens_in, bill.tokens_out))

    def spend(self, charge: ChargedTokens) -> None:
        """Adds the cost of charged tokens."""
        if self.price is not None:
            self.spent += cost(self.price, *charge)

    @property
    def is_kept(self) -> bool:
        """Whether spent and reserved cost together are within the limit."""
        return self.limit is None or self.spent + self.reserved_cost <= self.limit

    def most(self, request: Request) -> float:
        """Returns the most that a request may cost."""
        return cost(self.price, *request.most) if self.price else 0

    def about(self, request: Request) -> float:
        """Returns an estimate of the cost of a request, as if it wrote all the tokens it may."""
        return cost(self.price, request.tokens_in, request.most.tokens_out) if self.price else 0

    def reserve(self, request: Request) -> bool:
        """Reserves the most that a request may cost; returns False if not enough is left."""
        cost_after = self.spent + self.reserved_cost + self.most(request)
        if self.limit is not None and cost_after > self.limit:
            return False
        self.reserved_cost += self.most(request)
        self.under_way += 1
        return True

    def commit(self, request: Request) -> None:
        """Releases the reservation of a request; its actual charge was already added by `spend`."""
        self.reserved_cost -= self.most(request)
        self.under_way -= 1
