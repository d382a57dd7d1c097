"""What answers cost, and that no more is spent than may be."""

from collections.abc import Callable

import pytest
from model_server import ModelServer
from servers import ServerCell

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.servers.usage import Holdings, count_holdings, read_bill

Servers = Callable[..., ModelServer]
Cells = Callable[..., ServerCell]
PRICE = {"input": 1000.0, "output": 2000.0}


def test_a_cell_stops_before_its_limit_is_passed_and_goes_on_from_there(
    serve: Servers, cell: Cells
) -> None:
    server = serve()
    limited = cell(server, 100, price=PRICE, max_cost=1.0, generation={"max_tokens": 5})
    message = (
        r"max_cost 1: 0\.\d+ is spent, and the remaining \d+ requests would cost about \d+\.?\d*"
    )
    with pytest.raises(ModelError, match=message):
        limited.ask()
    bill = read_bill(limited.folder)
    assert 0 < bill.requests < 100
    assert 0.5 < (bill.tokens_in * 1000 + bill.tokens_out * 2000) / 1e6 <= 1
    # Those that may be asked are asked by the next run, and none twice.
    assert (
        len(cell(server, 100, price=PRICE, max_cost=9, generation={"max_tokens": 5}).ask()) == 100
    )
    assert server.answered.total() == 100


def test_the_limit_holds_over_all_cells_of_a_model(serve: Servers, cell: Cells) -> None:
    server = serve()
    first = cell(server, 10, price=PRICE, max_cost=0.5, generation={"max_tokens": 5})
    first.ask()
    limited = {"price": PRICE, "max_cost": 0.5, "generation": {"max_tokens": 5}}
    other = ServerCell.of(first.folder.parents[1] / "others/hosted", server.url, 60, **limited)
    with pytest.raises(ModelError, match=r"max_cost 0\.5"):
        other.ask()
    bills = [read_bill(first.folder), read_bill(other.folder)]
    assert sum(bill.tokens_in * 1000 + bill.tokens_out * 2000 for bill in bills) / 1e6 <= 0.5


def test_what_is_held_and_what_is_used_is_counted(serve: Servers, cell: Cells) -> None:
    server = serve()
    ours = cell(server, 8)
    ours.ask()
    assert count_holdings(ours.folder, [ours.out]) == Holdings(8, 8, *read_bill(ours.folder)[1:])
    cell(server, 6, generation={"seed": 2}).ask()
    held = count_holdings(ours.folder, [ours.out])
    assert held is not None
    assert held[:2] == (14, 6)
    assert count_holdings(ours.folder.parent, []) is None
