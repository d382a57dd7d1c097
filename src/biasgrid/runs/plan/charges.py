"""What servers are asked for a cell, and what they charge."""

from __future__ import annotations

from pathlib import Path

from biasgrid.base.model_section import Charge
from biasgrid.inference.models.servers.usage import holdings_of
from biasgrid.runs.estimates import Figure, loosest

NOTHING = dict.fromkeys(("requests", "tokens_out", "cost", "spent"), Figure(0))


def charges(charge: Charge | None, answers: Path, instances: Figure, tokens: Figure) -> dict[str, Figure]:
    """Says what a cell's server is asked and charges.

    Args:
        charge: what an instance costs; None where no server is asked.
        answers: the folder of the cell's answers.
        instances: how many instances the cell has.
        tokens: how many tokens all requests have it read.

    Returns:
        `requests`, `tokens_out`, `cost` and `spent`, as in `Costs`; zeros where no server is asked.
    """
    if charge is None:
        return NOTHING
    written = instances.times(charge.tokens_out, "at most")
    cost = Figure(charge.cost(tokens.value, written.value), loosest([tokens.kind, written.kind]))
    held = holdings_of(answers, [])
    spent = Figure(charge.cost(held.tokens_in, held.tokens_out)) if held else Figure(0)
    return {"requests": asked_of_servers(charge, instances), "tokens_out": written, "cost": cost, "spent": spent}


def asked_of_servers(charge: Charge, figure: Figure) -> Figure:
    """Multiplies what is asked once of each instance with the requests that each takes."""
    return figure.times(charge.requests, "exact" if charge.is_known else "at most")
