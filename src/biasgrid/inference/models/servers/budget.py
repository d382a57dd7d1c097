"""What answers may cost: no request is sent whose answer might pass the limit."""

from __future__ import annotations

from dataclasses import dataclass

from biasgrid.inference.models.servers.requests import Request, Tokens
from biasgrid.inference.models.servers.section import Price
from biasgrid.inference.models.servers.store_lines import Bill

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
        spent: what they have cost so far.
        promised: what the requests under way may cost at most.
        under_way: how many these are.
    """

    price: Price | None
    limit: float | None
    spent: float = 0
    promised: float = 0
    under_way: int = 0

    def add(self, bill: Bill) -> None:
        """Adds what answers of earlier runs have cost."""
        self.spend(Tokens(bill.tokens_in, bill.tokens_out))

    def spend(self, charged: Tokens) -> None:
        """Adds what was charged."""
        if self.price is not None:
            self.spent += cost(self.price, *charged)

    @property
    def is_kept(self) -> bool:
        """Whether what is spent and set aside is within the limit."""
        return self.limit is None or self.spent + self.promised <= self.limit

    def most(self, request: Request) -> float:
        """Returns what a request may cost at most."""
        return cost(self.price, *request.most) if self.price else 0

    def about(self, request: Request) -> float:
        """Returns what a request costs, about: at most what may be written."""
        return cost(self.price, request.tokens_in, request.most.tokens_out) if self.price else 0

    def promise(self, request: Request) -> bool:
        """Sets aside what a request may cost; False where there is not so much left."""
        if self.limit is not None and self.spent + self.promised + self.most(request) > self.limit:
            return False
        self.promised += self.most(request)
        self.under_way += 1
        return True

    def settle(self, request: Request) -> None:
        """Gives back what was set aside for a request; what it was charged is spent by then, see `spend`."""
        self.promised -= self.most(request)
        self.under_way -= 1
